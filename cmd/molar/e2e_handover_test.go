package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"molar/internal/httpguard"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// An inbox is what a desk reads: it receives events that are signed as Standard Webhooks says.
type inbox struct {
	url string

	mu     sync.Mutex
	events []deskEvent
	away   bool // events are refused
}

type deskEvent struct {
	Type string
	Data struct {
		ID             string `json:"handover_id"`
		ConversationID string `json:"conversation_id"`
		Text, By, URL  string
		Contact        map[string]string
		Messages       []schemas.DeskMessage
	}
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(hookKey))
		fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), data)
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("Webhook-Signature") != want {
			t.Errorf("signed %q, want %q", r.Header.Get("Webhook-Signature"), want)
		}
		var e deskEvent
		if err := json.Unmarshal(data, &e); err != nil {
			t.Errorf("%v: %s", err, data)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		in.events = append(in.events, e)
	}))
	t.Cleanup(ts.Close)
	in.url = ts.URL
	return in
}

func (in *inbox) set(away bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.away = away
}

// wait returns the event of a type with this text, as soon as it has come.
func (in *inbox) wait(t *testing.T, kind, text string) (e deskEvent) {
	t.Helper()
	eventually(t, kind+" "+text, func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, e = range in.events {
			if e.Type == kind && e.Data.Text == text {
				return true
			}
		}
		return false
	})
	return e
}

// A visitor reaches the desk over its inbox, which is down at first: what the visitor is told is what is true, no
// model answers meanwhile, both read what the other writes, and afterwards the assistant answers again.
func TestHandover(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	in.set(true)
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	file := publicConfig(t, filepath.Join(t.TempDir(), "molar.db"), "{visitor: 20/h, address: 60/h, all: 200/d}")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	more := fmt.Sprintf("handover: {webhook: %q, secret: whsec_%s}\napi_keys:\n  - {name: inbox, hash: %q, scopes: [review]}\n",
		in.url, base64.StdEncoding.EncodeToString([]byte(hookKey)), httpguard.HashOf(deskKey("inbox")).String())
	if err := os.WriteFile(file, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, file, model)
	p := pass(t, s, "192.0.2.7")
	says := func(state schemas.HandoverState, words string) {
		t.Helper()
		eventually(t, string(state), func() bool {
			var seen struct{ Handover schemas.HandoverStatus }
			_, text := p.send(s, http.MethodGet, "/embed/conversation?lang=en", "")
			return json.Unmarshal([]byte(text), &seen) == nil && seen.Handover.State == state && strings.Contains(seen.Handover.Text, words)
		})
	}
	desk := func(method, path, text string) (int, string) {
		t.Helper()
		res := s.send(t, method, path, text, "Authorization", "Bearer "+deskKey("inbox"))
		return res.StatusCode, body(t, res)
	}
	p.ask(s, "What does an implant cost?")
	if status, text := p.send(s, http.MethodPost, "/embed/handover", `{"consent":true,"reason":"button","contact":{"name":"Mai"},"lang":"en"}`); status != http.StatusOK || !strings.Contains(text, "Nobody has it yet") {
		t.Fatalf("a request: %d %s", status, text)
	}
	says(schemas.HandoverSending, "Nobody has it yet")
	in.set(false)
	e := in.wait(t, "handover.requested", "")
	if e.Data.Contact["name"] != "Mai" || len(e.Data.Messages) != 2 || e.Data.Messages[0].Text != "What does an implant cost?" || !strings.HasSuffix(e.Data.URL, "/desk#handovers/"+e.Data.ID) {
		t.Errorf("the inbox is told %+v", e)
	}
	says(schemas.HandoverDelivered, "nobody has answered yet")

	before := len(asked(model))
	if _, status, text := p.ask(s, "Is anybody there?"); status != http.StatusOK || !strings.Contains(text, `"with_desk":true`) {
		t.Errorf("to the desk: %d %s", status, text)
	}
	in.wait(t, "handover.message", "Is anybody there?")
	if n := len(asked(model)); n != before {
		t.Errorf("a model was asked %d times while the person waits for the desk", n-before)
	}
	path := "/v1/conversations/" + e.Data.ConversationID + "/messages"
	if status, text := desk(http.MethodPost, path, `{"text":"This is Lan. It costs 20 million.","author":"Lan"}`); status != http.StatusOK {
		t.Fatalf("the desk writes: %d %s", status, text)
	}
	says(schemas.HandoverAnswered, "The staff answer you here")
	if _, text := p.send(s, http.MethodGet, "/embed/news?after=0&lang=en", ""); !strings.Contains(text, "This is Lan.") || !strings.Contains(text, `"by":"desk"`) {
		t.Errorf("the person reads %s", text)
	}
	if status, text := desk(http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(text, "Is anybody there?") {
		t.Errorf("the desk reads: %d %s", status, text)
	}
	if status, text := desk(http.MethodPost, path, `{"close":true}`); status != http.StatusOK {
		t.Fatalf("the desk closes: %d %s", status, text)
	}
	if status, _ := desk(http.MethodPost, path, `{"text":"Too late"}`); status != http.StatusConflict {
		t.Errorf("after the end: %d", status)
	}
	if _, _, text := p.ask(s, "When are you open?"); strings.Contains(text, `"with_desk":true`) || len(asked(model)) == before {
		t.Errorf("afterwards: %s", text)
	}
	for _, request := range []struct{ method, path string }{{http.MethodGet, path}, {http.MethodPost, path}, {http.MethodGet, "/v1/handovers"}} {
		if status, _ := p.send(s, request.method, request.path, ""); status < 400 {
			t.Errorf("a visitor may %s %s", request.method, request.path)
		}
	}
}
