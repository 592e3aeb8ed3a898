package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/schemas"
)

// searchedFor returns the query that the search tool got after the earlier questions.
func searchedFor(t *testing.T, question string, earlier ...string) string {
	t.Helper()
	b := newBench(says("ok"))
	b.tools.add("tool-server", "web", `"Title: a\nContent: b\nLink: https://a.example/"`)
	for _, e := range earlier {
		b.memory.opening.Messages = append(b.memory.opening.Messages,
			schemas.StoredMessage{Role: schemas.RoleUser, Content: e},
			schemas.StoredMessage{Role: schemas.RoleAssistant, Content: "An answer."})
	}
	if p := b.with(t, schemas.Assistant{Search: []string{"web"}}).play(t, ask(question)); p.err != nil || len(b.tools.called) != 1 {
		t.Fatalf("%v, called %v", p.err, b.tools.called)
	}
	_, query, _ := strings.Cut(b.tools.called[0], `"query":"`)
	return strings.TrimSuffix(query, `"}`)
}

func TestQuery_FollowUps(t *testing.T) {
	const (
		implant = "Trồng răng implant mất bao lâu?"
		canal   = "What is a root canal treatment?"
	)
	for _, tt := range []struct{ before, question string }{
		{implant, "còn trẻ em thì sao?"},
		{implant, "con tre em thi sao"},
		{implant, "Thế còn người bị tiểu đường có làm được không?"},
		{implant, "có đau không bác sĩ?"},
		{implant, "chi phí khoảng bao nhiêu tiền?"},
		{implant, "Nó có dùng được cả đời không?"},
		{implant, "sau đó có phải kiêng gì không ạ"},
		{implant, "Vậy bao lâu thì lành?"},
		{implant, "làm như vậy có nguy hiểm không"},
		{implant, "đối với người già thì thế nào"},
		{implant, "tại sao?"},
		{canal, "what about kids?"},
		{canal, "And how much does it cost?"},
		{canal, "Is it painful?"},
		{canal, "how long does that usually take to heal"},
		{canal, "for pregnant women"},
		{canal, "Why?"},
		{canal, "Are there any side effects or risks?"},
		{canal, "can I eat before it or should I come fasting"},
		{canal, "do they put you to sleep during the procedure"},
	} {
		if got, want := searchedFor(t, tt.question, tt.before), tt.before+" "+tt.question; got != want {
			t.Errorf("%q: searched for %q, want %q", tt.question, got, want)
		}
	}
}

func TestQuery_StandAloneQuestionsStay(t *testing.T) {
	for _, question := range []string{
		"Răng khôn mọc lệch có phải nhổ không?",
		"Nên thay bàn chải đánh răng khi nào?",
		"Trẻ mấy tuổi thì thay răng sữa",
		"rang khon la gi",
		"How do I brush my teeth with braces?",
		"When should a wisdom tooth be removed?",
		"Does whitening damage the enamel?",
		"Con trai tôi bị ngã gãy mất một cái răng cửa lúc chơi bóng, bây giờ nó đau lắm thì phải làm sao",
		"And my dentist said last week that the gum around my lower front teeth is receding, should I worry about it?",
	} {
		if got := searchedFor(t, question, "Chi phí niềng răng là bao nhiêu?"); got != question {
			t.Errorf("searched for %q, want %q", got, question)
		}
	}
}

// A tool with a language parameter gets the turn's language; others get the query alone.
func TestSearch_PassesTheLanguage(t *testing.T) {
	for _, takes := range []bool{true, false} {
		b := newBench(says("ok"))
		b.tools.add("tool-server", "guide", `"Title: a\nContent: b\nLink: https://a.example/"`)
		if takes {
			b.tools.tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"language":{"type":"string","enum":["vi","en"]}}}`)
		}
		b.with(t, schemas.Assistant{Search: []string{"guide"}}).play(t, ask("Nên đánh răng mấy lần một ngày?"))
		if got := strings.Contains(b.tools.called[0], `"language":"vi"`); got != takes {
			t.Errorf("called %v, language wanted: %v", b.tools.called, takes)
		}
	}
}

// If the host lacks the tool, the turn reports it before any model or tool is called; another
// entry of the list rescues the turn.
func TestSearch_WhatTheHostLacks(t *testing.T) {
	for list, saved := range map[string]bool{"google": false, "google web": true} {
		b := newBench(says("ok"))
		b.lacking = map[string]string{"google": "set the key"}
		b.tools.add("tool-server", "web", `"Title: a\nContent: b\nLink: https://a.example/"`)
		p := b.with(t, schemas.Assistant{Topic: "dental", Search: strings.Fields(list)}).play(t, ask("Is it better to have a bridge or an implant put in?"))
		if saved && p.err != nil {
			t.Errorf("%s: %v", list, p.err)
		}
		if !saved && (!errors.Is(p.err, agent.ErrUnavailable) || !strings.Contains(p.err.Error(), "set the key") || len(b.model.requests) != 0) {
			t.Errorf("%s: error %v, %d model calls", list, p.err, len(b.model.requests))
		}
	}
}

// The subject is that of the last question that has one, not the follow-up in between.
func TestQuery_SubjectOfAChainOfFollowUps(t *testing.T) {
	const first = "How long does a dental implant last?"
	if got, want := searchedFor(t, "what about smokers?", first, "is it painful?", "why?"), first+" what about smokers?"; got != want {
		t.Errorf("searched for %q, want %q", got, want)
	}
	if got := searchedFor(t, "why?", strings.Repeat("very long question ", 100)); len(got) > 260 || !strings.HasSuffix(got, " why?") {
		t.Errorf("searched for %d characters: %q", len(got), got)
	}
	if got := searchedFor(t, "why?"); got != "why?" {
		t.Errorf("searched for %q", got)
	}
}

// A topic's assistant searches for follow-ups together with the subject, and not at all for
// questions about the conversation itself.
func TestQuery_ChainUnderATopic(t *testing.T) {
	b := newBench(says("ok"))
	b.tools.add("tool-server", "web", `"Title: a\nContent: b\nLink: https://a.example/"`)
	for _, e := range []string{"How often should I brush my teeth?", "And for children?"} {
		b.memory.opening.Messages = append(b.memory.opening.Messages,
			schemas.StoredMessage{Role: schemas.RoleUser, Content: e}, schemas.StoredMessage{Role: schemas.RoleAssistant, Content: "Twice a day."})
	}
	a := b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}})
	for _, q := range []string{"And at night?", "Explain the second method in more detail", "answer in English please"} {
		if p := a.play(t, ask(q)); p.err != nil {
			t.Fatal(p.err)
		}
	}
	if len(b.tools.called) != 2 {
		t.Fatalf("called %v", b.tools.called)
	}
	for _, call := range b.tools.called {
		if !strings.Contains(call, "How often should I brush my teeth? ") {
			t.Errorf("searched for %s", call)
		}
	}
}

// If a follow-up finds nothing together with its subject, which may be in another language, it is
// searched alone.
func TestQuery_AloneWhereTheSubjectHides(t *testing.T) {
	b := newBench(says("ok"))
	b.tools.add("tool-server", "web", `"Title: Clear aligners\nContent: b\nLink: https://a.example/"`)
	const both = `{"query":"How long do braces take? thế còn niềng trong suốt thì sao"}`
	b.tools.results["web "+both] = schemas.ToolResult{Output: json.RawMessage(`{"results":[]}`)}
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Role: schemas.RoleUser, Content: "How long do braces take?"}, {Role: schemas.RoleAssistant, Content: "An answer."},
	}
	p := b.with(t, schemas.Assistant{Search: []string{"web"}}).play(t, ask("thế còn niềng trong suốt thì sao"))
	want := []string{"web " + both, `web {"query":"thế còn niềng trong suốt thì sao"}`}
	if diff := cmp.Diff(want, b.tools.called); p.err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", p.err, diff)
	}
	if shown := fmt.Sprint(b.model.requests[0].Messages); !strings.Contains(shown, "Clear aligners") {
		t.Errorf("the model was not shown what was found: %s", shown)
	}
}

// A tool with a parameter for the subject of the conversation gets the subject separately from
// the question; if the question names a subject itself, that one is used.
func TestQuery_About(t *testing.T) {
	const subject = "What is a root canal treatment?"
	for question, want := range map[string]string{
		"Is it painful?":          `web {"about":"` + subject + `","query":"Is it painful?"}`,
		"what about implants?":    `web {"about":"what about implants?","query":"` + subject + ` what about implants?"}`,
		"How do I brush my teeth": `web {"query":"How do I brush my teeth"}`,
	} {
		b := newBench(says("ok"))
		b.tools.add("tool-server", "web", `"Title: a\nContent: b\nLink: https://a.example/"`)
		b.tools.tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"about":{"type":"string"}}}`)
		b.memory.opening.Messages = []schemas.StoredMessage{
			{Role: schemas.RoleUser, Content: subject}, {Role: schemas.RoleAssistant, Content: "An answer."},
		}
		p := b.with(t, schemas.Assistant{Search: []string{"web"}}).play(t, ask(question))
		if diff := cmp.Diff([]string{want}, b.tools.called); p.err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got)\n%s", question, p.err, diff)
		}
	}
}
