package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
	"molar/schemas"
	"molar/web/turns"
)

func commentary(s string) answer.Event { return answer.Event{Kind: answer.KindCommentary, Text: s} }

// commentaryTurn returns the events of a turn with commentary before a call, which begin with more.
func commentaryTurn(more ...answer.Event) []answer.Event {
	events := append([]answer.Event{start()}, more...)
	return append(events, text("Let me "), text("look."), commentary("Let me look."), toolCall(), toolResult(), text("\n\nIt is **there**."), done())
}

// A whole answer contains only the answer; commentary is in the molar object.
func TestCommentary_OfWholeAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		events []answer.Event
		want   string
	}{
		"alone":           {commentaryTurn(), "It is **there**."},
		"behind a notice": {commentaryTurn(text("Call 112."), text("\n\n")), "Call 112.\n\nIt is **there**."},
	} {
		t.Run(name, func(t *testing.T) {
			var got struct {
				Choices []struct{ Message struct{ Content string } }
				Molar   struct{ Commentary []string }
			}
			w := post(handler(t, play(nil, tt.events...)), `{`+question+`}`)
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.Choices[0].Message.Content != tt.want || !cmp.Equal(got.Molar.Commentary, []string{"Let me look."}) {
				t.Errorf("%s", w.Body)
			}
		})
	}
}

// In a stream, the note of commentary has its HTML, and the numbers of blocks start again.
func TestCommentary_InAStream(t *testing.T) {
	began := answer.Event{Kind: answer.KindStart, Start: &answer.Start{ConversationID: "c1"}}
	cfg := config(t, play(nil, append([]answer.Event{began}, commentaryTurn(text("**Call 112.**\n\n"))[1:]...)...))
	cfg.Turns = turns.NewSet(nil, nil)
	h := build(t, cfg)
	w := post(h, `{"stream":true,"molar":{"events":true,"html":true,"detach":true},`+question+`}`)
	cfg.Turns.Drain(t.Context())
	const note = `"molar":{"type":"commentary","text":"Let me look.","html":"\u003cp\u003eLet me look.\u003c/p\u003e\n"}`
	const answer = "<p><strong>Call 112.</strong></p>\n<p>It is <strong>there</strong>.</p>\n"
	html, said := htmlOf(t, after(w.Body.String(), note))
	if html != answer || said != "\n\nIt is **there**." {
		t.Errorf("after the note: %q, the text %q, in %s", html, said, w.Body)
	}
	// A client that reconnects in the middle gets the same answer.
	for last := range 6 {
		r := request(http.MethodGet, "/v1/turns/"+w.Header().Get("X-Turn-Id")+"/events?html=true", "")
		r.Header.Set("Last-Event-ID", string(rune('0'+last)))
		stream := serve(h, r).Body.String()
		if last < 5 { // the note has not been sent before
			stream = after(stream, note)
		}
		if html, _ := htmlOf(t, stream); html != answer {
			t.Errorf("followed after event %d: %q in %s", last, html, stream)
		}
	}
}

// after returns the stream from the chunk after a mark on; empty if the mark is missing.
func after(stream, mark string) string {
	_, rest, _ := strings.Cut(stream, mark)
	_, rest, _ = strings.Cut(rest, "\n\n")
	return rest
}

// A replayed answer has its commentary apart, also after a restart.
func TestCommentary_OfARepeatedAnswer(t *testing.T) {
	keys := &memoryKeys{}
	var ran atomic.Int64
	var answers []string
	for range 2 { // each time on a new host
		h, turns := keyed(t, keys, counting(&ran, nil, commentaryTurn()...))
		_, body := postKey(h, "", "k", `{`+question+`}`)
		answers = append(answers, body)
		turns.Drain(t.Context())
	}
	if ran.Load() != 1 || answers[0] != answers[1] || !strings.Contains(answers[1], `"commentary":["Let me look."]`) {
		t.Errorf("%d turns: %s", ran.Load(), strings.Join(answers, "\n"))
	}
	h, turns := keyed(t, keys, counting(&ran, nil, commentaryTurn()...))
	body := `{"stream":true,"molar":{"events":true},` + question + `}`
	postKey(h, "", "s", body)
	turns.Drain(t.Context())
	h, turns = keyed(t, keys, counting(&ran, nil))
	_, again := postKey(h, "", "s", body)
	turns.Drain(t.Context())
	said, _, _ := readStream(t, again)
	if said != "Let me look.\n\nIt is **there**." || !strings.Contains(again, `"type":"commentary"`) {
		t.Errorf("%q in %s", said, again)
	}
}

// A stored turn has its commentary together with the call after it.
func TestCommentary_OfStoredTurns(t *testing.T) {
	host := newChatHost()
	host.all["c1"] = []schemas.StoredMessage{
		{Role: schemas.RoleUser, Content: "hi"},
		{Role: schemas.RoleAssistant, Content: "It is there.", Assistant: "home", Calls: rounds("Let me **look**.", call)},
		{Role: schemas.RoleUser, Content: "on"},
		{Role: schemas.RoleAssistant, Content: "Yes.", Calls: rounds("", call)},
	}
	cfg := config(t, play(nil))
	cfg.Conversations = host
	var got struct {
		Assistant string
		Messages  []struct {
			Commentary []struct{ Call, Text, HTML string }
		}
	}
	w := serve(build(t, cfg), request(http.MethodGet, "/v1/conversations/c1?html=true", ""))
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []struct{ Call, Text, HTML string }{{"k1", "Let me **look**.", "<p>Let me <strong>look</strong>.</p>\n"}}
	if diff := cmp.Diff(want, got.Messages[1].Commentary); diff != "" || len(got.Messages[3].Commentary) != 0 || got.Assistant != "home" {
		t.Errorf("%s%s", diff, w.Body)
	}
}
