package agent_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// mailBench is an agent that reads a mail and then wants to send one.
func mailBench(t *testing.T, topic string) *bench {
	t.Helper()
	b := newBench(
		calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", `{"to":"a@b.example","url":"https://b.example/?q=1"}`), says("Brush twice a day."),
		says("It is sent."),
	)
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.pauses = fakePauses{}
	return b.with(t, schemas.Assistant{Topic: topic, Tools: []string{"*"}})
}

func sent(b *bench) int {
	n := 0
	for _, c := range b.tools.called {
		if strings.HasPrefix(c, "send_mail") {
			n++
		}
	}
	return n
}

// history is a turn of a client that sends the earlier messages.
func history(texts ...string) agent.Turn {
	turn := agent.Turn{Place: agent.Place{ConversationID: "c1", Stateless: true}}
	for i, text := range texts {
		role := schemas.RoleUser
		if i%2 == 1 {
			role = schemas.RoleAssistant
		}
		turn.Messages = append(turn.Messages, schemas.Text(role, text))
	}
	return turn
}

// If nobody can be asked, the answer lists the calls that were not run, and a plain yes in the
// next message runs exactly these, once.
func TestConsent(t *testing.T) {
	for _, yes := range []string{"yes", "Yes, please!", "OK", "👍"} {
		b := mailBench(t, "")
		first := b.play(t, ask("read my mail"))
		if first.err != nil || sent(b) != 0 || !strings.HasSuffix(first.text, `any other message drops it.`) || !strings.Contains(first.text, `mail__send_mail`) {
			t.Fatalf("%q, sent %d, %v", first.text, sent(b), first.err)
		}
		if strings.Contains(first.text, "https://b.example") {
			t.Errorf("the notice has an address to open: %q", first.text)
		}
		second := b.play(t, history("read my mail", first.text, yes))
		if second.err != nil || sent(b) != 1 || second.text != "It is sent." {
			t.Errorf("%s: %q, sent %d, %v", yes, second.text, sent(b), second.err)
		}
		if !slices.Contains(b.tools.called, `send_mail {"to":"a@b.example","url":"https://b.example/?q=1"}`) {
			t.Errorf("called %q", b.tools.called)
		}
		b.play(t, history("read my mail", first.text, yes))
		if sent(b) != 1 {
			t.Errorf("%s, said again, sent it again", yes)
		}
	}
}

// A message that is not a plain yes, or comes in another conversation, runs nothing.
func TestConsent_not(t *testing.T) {
	for name, tt := range map[string]func(first string) []string{
		"another answer": func(first string) []string {
			return []string{"read my mail", first, "yes, and send it to c@d.example too"}
		},
		"no":                    func(first string) []string { return []string{"read my mail", first, "no"} },
		"a message in between":  func(first string) []string { return []string{"read my mail", first, "what is it?", "A letter.", "yes"} },
		"an answer that is cut": func(first string) []string { return []string{"read my mail", first[:len(first)-20], "yes"} },
		"another call in its place": func(first string) []string {
			return []string{"read my mail", strings.Replace(first, "a@b.example", "evil@b.example", 1), "yes"}
		},
		"text behind it": func(first string) []string { return []string{"read my mail", first + "\n\nIs that a letter?", "yes"} },
	} {
		t.Run(name, func(t *testing.T) {
			b := mailBench(t, "")
			first := b.play(t, ask("read my mail"))
			b.play(t, history(tt(first.text)...))
			if sent(b) != 0 {
				t.Errorf("sent %d", sent(b))
			}
		})
	}
	b := mailBench(t, "")
	first := b.play(t, ask("read my mail"))
	turn := history("read my mail", first.text, "yes")
	turn.Owner = "somebody else"
	if b.play(t, turn); sent(b) != 0 {
		t.Error("another owner's yes counted")
	}
}

// Under a topic a yes needs neither a judge nor a search.
func TestConsent_underATopic(t *testing.T) {
	b := mailBench(t, "dental")
	b.model.judge = says("NO")
	first := b.play(t, ask(brushing))
	if !strings.Contains(first.text, "mail__send_mail") {
		t.Fatalf("%q %v", first.text, first.err)
	}
	second := b.play(t, history(brushing, first.text, "yes"))
	if second.err != nil || sent(b) != 1 || second.done.Refused {
		t.Errorf("%q, sent %d, %v", second.text, sent(b), second.err)
	}
}

// If a person could be asked, no call is stored for later.
func TestConsent_whereSomebodyWasAsked(t *testing.T) {
	b := mailBench(t, "")
	turn := ask("read my mail")
	turn.Approver = fixedDecision(false)
	if first := b.play(t, turn); strings.Contains(first.text, "mail__send_mail") || len(b.pauses.(fakePauses)) > 0 {
		t.Errorf("%q", first.text)
	}
}

// fixedDecision is a person who gives the same decision on every call.
type fixedDecision bool

func (d fixedDecision) Approve(context.Context, agent.Ask) (agent.Decision, error) {
	return agent.Decision{Allowed: bool(d)}, nil
}

// If the model's text contains markup that may hide the notice, a plain yes may answer something
// else: it must repeat the code of the notice.
func TestConsent_hidden(t *testing.T) {
	for name, texts := range map[string][2]string{
		"what can be folded": {"", "Shall I read on? <details>"}, "the same before the call": {"Shall I read on? <details>", "I read it."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(calls("", "mail__get_mail", `{}`), calls(texts[0], "mail__send_mail", `{}`), says(texts[1]), says("I read on."), says("It is sent."))
			b.tools.add("mail", "get_mail", `"a letter"`)
			b.tools.add("mail", "send_mail", `"sent"`)
			b.tools.mark("mail", schemas.ServerMarks{Public: true}) // the answer's markup stays
			b.pauses = fakePauses{}
			b.with(t, schemas.Assistant{Tools: []string{"*"}})
			first := b.play(t, ask("read my mail"))
			found := regexp.MustCompile(`write (\S+) behind your yes`).FindStringSubmatch(first.text)
			if found == nil {
				t.Fatalf("the notice names nothing: %q", first.text)
			}
			if b.play(t, history("read my mail", first.text, "yes")); sent(b) != 0 {
				t.Fatal("a plain yes counted")
			}
			if b.play(t, history("read my mail", first.text, "yes "+found[1])); sent(b) != 0 {
				t.Error("a yes counted after another message")
			}
		})
	}
	b := newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", `{}`), says("<b>I read it.</b>"), says("It is sent."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.tools.mark("mail", schemas.ServerMarks{Public: true})
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first := b.play(t, ask("read my mail"))
	found := regexp.MustCompile(`write (\S+) behind your yes`).FindStringSubmatch(first.text)
	if found == nil {
		t.Fatalf("the notice names nothing: %q", first.text)
	}
	if b.play(t, history("read my mail", first.text, "Yes, "+strings.ToLower(found[1])+".")); sent(b) != 1 {
		t.Error("a yes that names it did not count")
	}
}

// Another message drops the call, and repeating the notice in a later answer does not make it
// approvable again.
func TestConsent_dropped(t *testing.T) {
	b := mailBench(t, "")
	first := b.play(t, ask("read my mail"))
	b.play(t, history("read my mail", first.text, "no"))
	if b.play(t, history("read my mail", first.text, "yes")); sent(b) != 0 {
		t.Errorf("sent %d", sent(b))
	}
}

// Characters of a call's arguments that are invisible, change the direction of text or look like
// others are written out, in the sentence and in the arguments; what a service has escaped is readable.
func TestConsent_unseen(t *testing.T) {
	b := newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", "{\"to\":\"\u202eelpmaxe.b@a\u202c\u200b\U000e0041\",\"cc\":\"ann@clin\u0456c.example\",\"note\":\"H\\u1ed3ng\"}"), says("I read it."), says("It is sent."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.tools.mark("mail", schemas.ServerMarks{Public: true})
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first := b.play(t, ask("read my mail"))
	for _, shown := range []string{"Send mail to `‹U+202E›elpmaxe.b@a", "cc: `ann@clin‹U+0456›c.example`", `{"to":"‹U+202E›elpmaxe.b@a‹U+202C›‹U+200B›‹U+E0041›","cc":"ann@clin‹U+0456›c.example","note":"Hồng"}`} {
		if !strings.Contains(first.text, shown) {
			t.Errorf("%q lacks %q", first.text, shown)
		}
	}
}

// A yes must be plain, in words that mean yes in the language of the notice. A word that may be a
// hesitation, or another word once its marks are read, approves nothing, and the person is told
// that the call was dropped.
func TestConsent_whatIsAYes(t *testing.T) {
	for question, answers := range map[string]map[bool][]string{
		"read my mail": {
			true:  {"yes", "okay then", "ok, ok", "Yes, yes!"},
			false: {"Um...", "uh", "Uh...", "u", "vâng ạ", "Đồng ý nhé", "dong y", "da", "co", "cô", "đá", "cỏ", "đa", "Ú", "Được chứ", "Đong ý", "no", "then", "yes, but not yet", "yes?"},
		},
		"đọc thư của tôi": {
			true:  {"vâng ạ", "có chứ", "ừ", "dạ", "da", "co a", "duoc nhe", "ok, ok", "Dạ, đồng ý ạ"},
			false: {"Um...", "uh", "u", "ừm", "yes", "sure", "cô", "đá", "cỏ", "đa", "Ú", "Được chứ", "có gì", "không", "đồng ý thì sao"},
		},
	} {
		for want, all := range answers {
			for _, said := range all {
				b := mailBench(t, "")
				first := b.play(t, ask(question))
				second := b.play(t, history(question, first.text, said))
				if first.err != nil || second.err != nil || (sent(b) == 1) != want {
					t.Errorf("%q, then %q: sent %d, want %v", question, said, sent(b), want)
				}
				told := strings.Contains(second.text, "Dropped, not run: `mail__send_mail`.") || strings.Contains(second.text, "Đã bỏ qua, không chạy: `mail__send_mail`.")
				if told == want {
					t.Errorf("%q, then %q: %q", question, said, second.text)
				}
			}
		}
	}
}

// A refused message drops the call too, and the answer reports it.
func TestConsent_droppedByWhatIsRefused(t *testing.T) {
	b := mailBench(t, "dental")
	b.model.judge = says("NO")
	first := b.play(t, ask(brushing))
	second := b.play(t, history(brushing, first.text, "Um... and my bicycle?"))
	if second.err != nil || !second.done.Refused || !strings.HasPrefix(second.text, "Dropped, not run: `mail__send_mail`.") {
		t.Errorf("%+v %q", second.done, second.text)
	}
}

// So does a message that code refuses before the conversation is read: a yes after the refusal
// runs nothing.
func TestConsent_droppedByWhatIsRefusedAtSight(t *testing.T) {
	b := mailBench(t, "dental")
	first := b.play(t, ask(brushing))
	second := b.play(t, history(brushing, first.text, "Write a Python script that sorts a list of numbers."))
	if second.err != nil || !second.done.Refused || !strings.HasPrefix(second.text, "Dropped, not run: `mail__send_mail`.") {
		t.Errorf("%+v %q", second.done, second.text)
	}
	if b.play(t, history(brushing, first.text, "yes")); sent(b) != 0 {
		t.Error("the call that was dropped ran")
	}
}

// A dropped call is also reported with an emergency, whose notice replaces a refusal.
func TestConsent_droppedBehindAnEmergency(t *testing.T) {
	const knockedOut = "My front tooth was knocked out ten minutes ago, what do I do?"
	b := mailBench(t, "dental")
	first := b.play(t, ask(knockedOut))
	second := b.play(t, history(knockedOut, first.text, "Write a Python script that sorts a list of numbers."))
	if second.err != nil || !second.done.Refused || !strings.HasSuffix(second.text, "ask for it again if you still want it.") {
		t.Errorf("%+v %q", second.done, second.text)
	}
	if notice, _, _ := strings.Cut(second.text, "Dropped, not run: `mail__send_mail`."); !strings.HasPrefix(first.text, strings.TrimSpace(notice)) || notice == "" {
		t.Errorf("%q begins otherwise than %q", second.text, first.text)
	}
}

// A call that becomes pending again is not reported as dropped next to its new notice.
func TestConsent_droppedAndAskedAgain(t *testing.T) {
	b := newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", `{}`), says("I read it."),
		calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", `{}`), says("Once more."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first := b.play(t, ask("read my mail"))
	second := b.play(t, history("read my mail", first.text, "Um..."))
	if strings.Contains(second.text, "Dropped") || !strings.HasSuffix(second.text, "any other message drops it.") {
		t.Errorf("%q", second.text)
	}
}

// The notice shows the beginning of arguments that are too long, with their length and hash; a
// yes with the word of the notice runs the call with all of them.
func TestConsent_long(t *testing.T) {
	letter := strings.Repeat("Dear Ms Tran, ", 700)
	arguments := `{"text":"` + letter + `","to":"a@b.example"}`
	b := newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", arguments), says("I read it."), says("It is sent."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.tools.mark("mail", schemas.ServerMarks{Public: true})
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first := b.play(t, ask("read my mail"))
	word := regexp.MustCompile(`write (\S+) behind your yes`).FindStringSubmatch(first.text)
	if word == nil {
		t.Fatalf("the notice names nothing: %q", first.text)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(arguments)))
	for _, shown := range []string{"mail__send_mail", "Dear Ms Tran", `"to":"a@b.example"`, fmt.Sprint(len(arguments)), sum[:12]} {
		if !strings.Contains(first.text, shown) {
			t.Errorf("the notice lacks %q: %q", shown, first.text)
		}
	}
	if len(first.text) > 3000 {
		t.Errorf("the notice has %d bytes", len(first.text))
	}
	b.play(t, history("read my mail", first.text, "Yes "+word[1]))
	if !slices.Contains(b.tools.called, "send_mail "+arguments) {
		t.Errorf("called %.200q", b.tools.called)
	}
	b = newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", arguments), says("I read it."), says("It is sent."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.tools.mark("mail", schemas.ServerMarks{Public: true})
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first = b.play(t, ask("read my mail"))
	if b.play(t, history("read my mail", first.text, "yes")); sent(b) != 0 {
		t.Error("a yes that does not name the word counted")
	}
}

// If many calls are pending, none is left out.
func TestConsent_many(t *testing.T) {
	var pairs []string
	for i := range 9 {
		pairs = append(pairs, "mail__send_mail", fmt.Sprintf(`{"to":"%d@b.example"}`, i))
	}
	b := newBench(calls("", "mail__get_mail", `{}`), calls("", pairs...), says("I read it."), says("All are sent."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first := b.play(t, ask("read my mail"))
	if n := strings.Count(first.text, `@b.example"}`); n != 9 {
		t.Errorf("%d calls are told: %q", n, first.text)
	}
	if b.play(t, history("read my mail", first.text, "yes")); sent(b) != 9 {
		t.Errorf("sent %d", sent(b))
	}
}

// A dropped call is also reported at the end of a turn that waited for its client's tools.
func TestConsent_droppedBeforeAPause(t *testing.T) {
	b := newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", `{}`), says("I read it."), calls("", "look", `{}`), says("I looked."))
	b.tools.add("mail", "get_mail", `"a letter"`)
	b.tools.add("mail", "send_mail", `"sent"`)
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	first := b.play(t, ask("read my mail"))
	turn := history("read my mail", first.text, "Um...")
	turn.ClientTools = []schemas.ToolInfo{clientTool("look")}
	if paused := b.play(t, turn); paused.done == nil || len(paused.done.Calls) != 1 {
		t.Fatalf("%+v %v", paused.done, paused.err)
	}
	turn.Results = []schemas.ToolResult{clientResult("look", `"nothing"`)}
	if end := b.play(t, turn); end.err != nil || !strings.HasPrefix(end.text, "I looked.\n\nDropped, not run: `mail__send_mail`.") {
		t.Errorf("%q %v", end.text, end.err)
	}
}
