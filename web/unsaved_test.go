package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
)

// unsaved returns the last events of a turn whose store failed; known is the warning.
func unsaved() (known, end answer.Event) {
	end = done()
	end.Done.Saved, end.Done.Unsaved, end.Done.Warnings = false, true, []string{"not saved: disk full"}
	return answer.Event{Kind: answer.KindWarning, Code: answer.CodeStoreDown, Text: "not saved: disk full", Lasting: true, Unsaved: true}, end
}

// lastMolar returns the molar object of the last chunk of a stream.
func lastMolar(t *testing.T, body string) map[string]any {
	t.Helper()
	chunks := strings.Split(strings.TrimSuffix(body, "data: [DONE]\n\n"), "\n\n")
	var last struct{ Molar map[string]any }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(chunks[len(chunks)-2], "data: ")), &last); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return last.Molar
}

// Every client can see that the turn is not stored: in a header, if the failure is known in time,
// and at the end of the answer.
func TestChat_StoreFailed(t *testing.T) {
	known, end := unsaved()
	early, late := []answer.Event{start(), known, text("a"), end}, []answer.Event{start(), text("a"), known, end}
	for name, tt := range map[string]struct {
		events []answer.Event
		body   string
		header string
	}{
		"whole":                        {early, `{`, "false"},
		"whole, known late":            {late, `{`, "false"},
		"stream":                       {early, `{"stream":true,`, "false"},
		"stream, with usage":           {early, `{"stream":true,"stream_options":{"include_usage":true},`, "false"},
		"stream, known after its head": {late, `{"stream":true,`, ""},
		"detached stream":              {early, `{"stream":true,"molar":{"detach":true},`, "false"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(handler(t, play(nil, tt.events...)), tt.body+question+`}`)
			if got := w.Header().Get("X-Molar-Saved"); w.Code != 200 || got != tt.header {
				t.Errorf("%d, header %q, want %q", w.Code, got, tt.header)
			}
			if strings.Contains(tt.body, "stream") {
				if got := lastMolar(t, w.Body.String()); got["saved"] != false {
					t.Errorf("last chunk says %v: %s", got, w.Body)
				}
				return
			}
			var whole struct {
				Molar struct {
					answer.Done
					ConversationID string `json:"conversation_id"`
					TurnID         string `json:"turn_id"`
				}
			}
			err := json.Unmarshal(w.Body.Bytes(), &whole)
			if m := whole.Molar; err != nil || m.Saved || len(m.Warnings) != 1 || m.ConversationID != "c1" || m.TurnID != "t1" {
				t.Errorf("%v: %s", err, w.Body)
			}
		})
	}
}

// The header is set only if the store failed, not for a turn that should not be stored.
func TestChat_SavedHeaderOnlyWhereTheStoreFailed(t *testing.T) {
	stateless := done()
	stateless.Done.Saved = false
	for _, end := range []answer.Event{done(), stateless} {
		for _, stream := range []string{"true", "false"} {
			w := post(handler(t, play(nil, start(), text("a"), end)), `{"stream":`+stream+`,`+question+`}`)
			if got, there := w.Header()["X-Molar-Saved"]; there {
				t.Errorf("saved %v, stream %s: header %q", end.Done.Saved, stream, got)
			}
			if stream == "true" && lastMolar(t, w.Body.String())["saved"] != end.Done.Saved {
				t.Errorf("saved %v: %s", end.Done.Saved, w.Body)
			}
		}
	}
}

// If the headers were sent before, to keep a stream alive, only the end of the stream reports the
// failure.
func TestChat_StoreFailedAfterTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known, end := unsaved()
		w := post(handler(t, script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			time.Sleep(1500 * time.Millisecond)
			yield(known)
			yield(text("a"))
			yield(end)
			return nil
		})), `{"stream":true,`+question+`}`)
		if got := lastMolar(t, w.Body.String()); w.Header().Get("X-Molar-Saved") != "" || got["saved"] != false {
			t.Errorf("headers %v, last chunk %v", w.Header(), got)
		}
	})
}

// With store false, a single question is a turn without memory; in a conversation, the turn reads
// its messages and stores nothing.
func TestChat_StoreFalse(t *testing.T) {
	for body, want := range map[string]struct{ stateless, readOnly bool }{
		`{` + question + `}`:                              {},
		`{"store":true,` + question + `}`:                 {},
		`{"store":true,"chat_id":"c1",` + question + `}`:  {},
		`{"store":false,` + question + `}`:                {stateless: true},
		`{"store":false,"chat_id":"c1",` + question + `}`: {readOnly: true},
		`{"store":null,"molar":{},` + question + `}`:      {},
	} {
		k := &keep{}
		if w := post(handler(t, k), body); w.Code != http.StatusOK || k.turn.Stateless != want.stateless || k.turn.ReadOnly != want.readOnly {
			t.Errorf("%s: %d, stateless %v, read only %v", body, w.Code, k.turn.Stateless, k.turn.ReadOnly)
		}
	}
}
