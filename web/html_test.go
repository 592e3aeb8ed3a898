package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/turns"
)

// htmlOf returns the HTML of a stream, joined from its blocks, and its text.
func htmlOf(t *testing.T, stream string) (html, text string) {
	t.Helper()
	blocks := map[int]string{}
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {")
		if !ok {
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct{ Content string } `json:"delta"`
			} `json:"choices"`
			Molar struct {
				Type   string `json:"type"`
				Blocks []struct {
					Block int    `json:"block"`
					HTML  string `json:"html"`
				} `json:"blocks"`
			} `json:"molar"`
		}
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatal(err)
		}
		if len(c.Choices) > 0 {
			text += c.Choices[0].Delta.Content
		}
		for _, b := range c.Molar.Blocks {
			blocks[b.Block] = b.HTML
		}
	}
	for i := range len(blocks) {
		html += blocks[i]
	}
	return html, text
}

func TestHTML_InAStream(t *testing.T) {
	began := answer.Event{Kind: answer.KindStart, Start: &answer.Start{ConversationID: "c1"}}
	run := play(nil, began, text("**a"), text("b**\n\n<script>x"), text("</script>\n\n[c](javascript:d)"), done())
	const want = "<p><strong>ab</strong></p>\n\n<p>c</p>\n"
	for body, wanted := range map[string]string{
		`{"stream":true,"molar":{"events":true,"html":true},`:               want,
		`{"stream":true,"molar":{"events":true,"html":true,"detach":true},`: want,
		`{"stream":true,"molar":{"events":true},`:                           "",
		`{"stream":true,"molar":{"html":true},`:                             "",
	} {
		cfg := config(t, run)
		cfg.Turns = turns.NewSet(nil, nil)
		h := build(t, cfg)
		w := post(h, body+question+`}`)
		html, plain := htmlOf(t, w.Body.String())
		if diff := cmp.Diff(wanted, html); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
		if plain != "**ab**\n\n<script>x</script>\n\n[c](javascript:d)" {
			t.Errorf("%s: the text is %q", body, plain)
		}
		if strings.Contains(body, "detach") {
			cfg.Turns.Drain(t.Context())
			id := w.Header().Get("X-Turn-Id")
			again := serve(h, request(http.MethodGet, "/v1/turns/"+id+"/events?html=true", ""))
			if html, _ := htmlOf(t, again.Body.String()); html != want {
				t.Errorf("followed: %q", html)
			}
			rest := request(http.MethodGet, "/v1/turns/"+id+"/events?html=true", "")
			rest.Header.Set("Last-Event-ID", "2")
			w := serve(h, rest)
			if html, plain := htmlOf(t, w.Body.String()); html != want || plain != "b**\n\n<script>x</script>\n\n[c](javascript:d)" {
				t.Errorf("followed after the second event: %q, the text %q", html, plain)
			}
		}
	}
}

// The HTML of an answer that ends with an error contains all of its text.
func TestHTML_BeforeAnError(t *testing.T) {
	w := post(handler(t, play(agent.ErrUnavailable, start(), text("**so far**"))), `{"stream":true,"molar":{"events":true,"html":true},`+question+`}`)
	html, _ := htmlOf(t, w.Body.String())
	if html != "<p><strong>so far</strong></p>\n" || !strings.Contains(w.Body.String(), `"error"`) {
		t.Errorf("%q in %s", html, w.Body)
	}
}

// A long listing is not rendered again for every few letters of it.
func TestHTML_LongBlock(t *testing.T) {
	const lines = 2000
	events := []answer.Event{start(), text("```\n")}
	for range lines {
		events = append(events, text("a line of some length\n"))
	}
	w := post(handler(t, play(nil, append(events, text("```"), done())...)), `{"stream":true,"molar":{"events":true,"html":true},`+question+`}`)
	html, plain := htmlOf(t, w.Body.String())
	if got := strings.Count(html, "a line"); got != lines {
		t.Errorf("%d lines are shown", got)
	}
	if sent := w.Body.Len(); sent > 60*len(plain) {
		t.Errorf("%d bytes were sent for %d", sent, len(plain))
	}
}

func TestHTML_OfStoredAnswers(t *testing.T) {
	host := newChatHost()
	host.all["c1"] = []schemas.StoredMessage{
		{Role: schemas.RoleUser, Content: "**mine**"},
		{Role: schemas.RoleAssistant, Content: "**yours** <img src=x onerror=alert(1)>"},
	}
	cfg := config(t, play(nil))
	cfg.Conversations = host
	h := build(t, cfg)
	for query, want := range map[string][]string{"": {"", ""}, "?html=true": {"", "<p><strong>yours</strong> </p>\n"}} {
		var got struct {
			Messages []struct{ HTML string } `json:"messages"`
		}
		if err := json.Unmarshal(serve(h, request(http.MethodGet, "/v1/conversations/c1"+query, "")).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, []string{got.Messages[0].HTML, got.Messages[1].HTML}); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

// With lines, the conversation is in the first line, and the messages follow, newest first.
func TestConversation_Lines(t *testing.T) {
	host := newChatHost()
	host.fill("c1", "Teeth", 4)
	host.all["c1"][3].Assistant = "dental"
	cfg := config(t, play(nil))
	cfg.Conversations = host
	h := build(t, cfg)
	w := serve(h, request(http.MethodGet, "/v1/conversations/c1?lines=true&html=true", ""))
	if got := w.Header().Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("content type %q", got)
	}
	var seqs []int64
	for i, line := range strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n") {
		var one struct {
			ID, Assistant, HTML string
			Seq                 int64
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if i == 0 && (one.ID != "c1" || one.Assistant != "dental") || i == 1 && !strings.Contains(one.HTML, "<strong>molar</strong>") {
			t.Errorf("line %d is %.200s", i, line)
		}
		seqs = append(seqs, one.Seq)
	}
	if diff := cmp.Diff([]int64{0, 4, 3, 2, 1}, seqs); diff != "" {
		t.Error(diff)
	}
	if w := serve(h, request(http.MethodGet, "/v1/conversations/none?lines=true", "")); w.Code != http.StatusNotFound {
		t.Errorf("an unknown conversation: %d", w.Code)
	}
}
