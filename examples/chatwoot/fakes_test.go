package chatwoot_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	molarSecret = "a secret of handover.secret"
	botSecret   = "a secret of the agent bot"
	conversationID,
	handoverID = "visit_0123456789abcdef", "handover_7c0e6f0c-55b5-4a5e-9f5e-0b5b6f2b8c11"
	source = conversationID + "--" + handoverID
)

// A fakeChatwoot answers as Chatwoot 4.13 to 4.16 does, with the inbox "inbox-1" of account 3.
type fakeChatwoot struct {
	*httptest.Server
	mu sync.Mutex
	// hook is where the agent bot's events go; "" for none.
	hook string
	// spoil may fail a request, before it is done or after.
	spoil func(r *http.Request) (before, after bool)

	contacts map[string]string // names by source_id
	talks    []*fakeTalk
	events   sync.WaitGroup
	last     int
}

type fakeTalk struct {
	id       int
	source   string
	status   string
	priority string
	messages []map[string]any
}

func newFakeChatwoot(t *testing.T) *fakeChatwoot {
	f := &fakeChatwoot{contacts: map[string]string{}, spoil: func(*http.Request) (bool, bool) { return false, false }}
	const contacts = "/public/api/v1/inboxes/inbox-1/contacts"
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+contacts, func(w http.ResponseWriter, r *http.Request) {
		in := bodyOf(r)
		id, _ := in["source_id"].(string)
		if f.contacts[id] == "" { // else the contact stays as it is
			f.contacts[id], _ = in["name"].(string)
		}
		answer(w, map[string]any{"id": 11, "source_id": id, "name": f.contacts[id], "email": nil, "phone_number": nil, "pubsub_token": "secret"})
	})
	mux.HandleFunc(contacts+"/{source}/conversations", func(w http.ResponseWriter, r *http.Request) {
		if f.contacts[r.PathValue("source")] == "" {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodPost {
			t := &fakeTalk{id: len(f.talks) + 41, source: r.PathValue("source"), status: "pending"}
			f.talks = append(f.talks, t)
			answer(w, f.publicly(t))
			return
		}
		all := []any{}
		for _, t := range f.talks {
			if t.source == r.PathValue("source") {
				all = append(all, f.publicly(t))
			}
		}
		answer(w, all)
	})
	mux.HandleFunc("POST "+contacts+"/{source}/conversations/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		t := f.talk(r.PathValue("id"))
		if t == nil || t.source != r.PathValue("source") {
			http.NotFound(w, r)
			return
		}
		if t.status == "resolved" {
			t.status = "pending"
		}
		answer(w, f.add(t, 0, bodyOf(r)["content"], false, map[string]any{"id": 11, "name": f.contacts[t.source], "type": "contact"}))
	})
	mux.HandleFunc("POST /api/v1/accounts/3/conversations/{id}/{action}", func(w http.ResponseWriter, r *http.Request) {
		in := bodyOf(r)
		t := f.talk(r.PathValue("id"))
		if t == nil || r.Header.Get("api_access_token") != "bot-token" {
			http.Error(w, `{"error":"Invalid Access Token"}`, http.StatusUnauthorized)
			return
		}
		switch r.PathValue("action") {
		case "messages":
			private, _ := in["private"].(bool)
			answer(w, f.add(t, 1, in["content"], private, map[string]any{"id": 5, "name": "Molar", "type": "agent_bot"}))
		case "toggle_status":
			f.move(t, in["status"].(string))
			answer(w, map[string]any{"meta": map[string]any{}, "payload": map[string]any{"success": true, "current_status": t.status, "conversation_id": t.id}})
		case "toggle_priority":
			t.priority = in["priority"].(string)
			w.WriteHeader(http.StatusOK)
		default: // a bot may do nothing else
			http.Error(w, `{"error":"Access to this endpoint is not authorized for bots"}`, http.StatusUnauthorized)
		}
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		before, after := f.spoil(r)
		if before {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		if after {
			w = spoilt{w}
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { f.Close(); f.events.Wait() })
	return f
}

// spoilt does all, and says that it failed.
type spoilt struct{ http.ResponseWriter }

func (s spoilt) Write([]byte) (int, error) { s.WriteHeader(http.StatusGatewayTimeout); return 0, nil }

func bodyOf(r *http.Request) map[string]any {
	in := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&in)
	return in
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	body, _ := json.Marshal(v)
	_, _ = w.Write(body)
}

func (f *fakeChatwoot) talk(id string) *fakeTalk {
	for _, t := range f.talks {
		if strconv.Itoa(t.id) == id {
			return t
		}
	}
	return nil
}

// publicly returns a conversation as the Client API shows it: without private notes and without what happened.
func (f *fakeChatwoot) publicly(t *fakeTalk) map[string]any {
	shown := []any{}
	for _, m := range t.messages {
		if m["private"] != true && m["message_type"] != 2 {
			m := maps.Clone(m)
			delete(m, "private")
			shown = append(shown, m)
		}
	}
	return map[string]any{"id": t.id, "uuid": "u", "inbox_id": 1, "status": t.status, "messages": shown, "contact": map[string]any{"id": 11}}
}

// add stores a message and tells the agent bot, also of its own.
func (f *fakeChatwoot) add(t *fakeTalk, kind int, content any, private bool, sender map[string]any) map[string]any {
	f.last++
	m := map[string]any{
		"id": f.last + 900, "content": content, "message_type": kind, "content_type": "text", "content_attributes": map[string]any{},
		"created_at": 1767225600 + f.last, "conversation_id": t.id, "private": private,
	}
	if sender != nil {
		m["sender"] = sender
	}
	t.messages = append(t.messages, m)
	hooked := maps.Clone(m)
	hooked["event"] = "message_created"
	hooked["message_type"] = []string{"incoming", "outgoing", "activity", "template"}[kind]
	hooked["conversation"] = map[string]any{"id": t.id, "status": t.status, "contact_inbox": map[string]any{"id": 7, "source_id": t.source}}
	hooked["account"] = map[string]any{"id": 3, "name": "Clinic"}
	f.post(hooked)
	return m
}

func (f *fakeChatwoot) move(t *fakeTalk, status string) {
	if t.status == status {
		return
	}
	t.status = status
	if status == "open" || status == "resolved" {
		f.post(map[string]any{"event": map[string]string{"open": "conversation_opened", "resolved": "conversation_resolved"}[status], "id": t.id, "status": status, "contact_inbox": map[string]any{"id": 7, "source_id": t.source}})
	}
}

func (f *fakeChatwoot) post(event map[string]any) {
	if f.hook == "" {
		return
	}
	body, _ := json.Marshal(event)
	r := fromChatwoot(f.hook, botSecret, time.Now(), body)
	f.events.Go(func() {
		if a, err := http.DefaultClient.Do(r); err == nil {
			a.Body.Close()
		}
	})
}

func fromChatwoot(hook, secret string, at time.Time, body []byte) *http.Request {
	r, _ := http.NewRequest(http.MethodPost, hook, bytes.NewReader(body))
	seconds := strconv.FormatInt(at.Unix(), 10)
	m := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(m, "%s.%s", seconds, body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Chatwoot-Delivery", "3f1c0c51-5a0e-4b5e-8f5e-2b1b6f2b8c11")
	r.Header.Set("X-Chatwoot-Timestamp", seconds)
	r.Header.Set("X-Chatwoot-Signature", "sha256="+hex.EncodeToString(m.Sum(nil)))
	return r
}

// agent writes as an agent, or as what else sends messages.
func (f *fakeChatwoot) agent(text string, how ...func(m map[string]any)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.talks[0]
	hook := f.hook
	f.hook = ""
	m := f.add(t, 1, text, false, map[string]any{"id": 2, "name": "Lan Nguyen", "available_name": "Lan", "type": "user"})
	for _, change := range how {
		change(m)
	}
	f.hook = hook
	f.post(map[string]any{"event": "message_created", "conversation": map[string]any{"contact_inbox": map[string]any{"source_id": t.source}}})
}

// resolve resolves the conversation as an agent does.
func (f *fakeChatwoot) resolve() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.move(f.talks[0], "resolved")
}

// seen returns what agents see in the only conversation.
func (f *fakeChatwoot) seen() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.talks) != 1 {
		return []string{fmt.Sprintf("%d conversations", len(f.talks))}
	}
	for _, m := range f.talks[0].messages {
		who := "note"
		if sender, ok := m["sender"].(map[string]any); ok && m["private"] != true {
			who = sender["type"].(string)
		}
		text, _, _ := strings.Cut(fmt.Sprint(m["content"]), "\n")
		all = append(all, who+": "+text)
	}
	return append(all, f.talks[0].status+f.talks[0].priority)
}

// A fakeMolar is what Molar's desk has of one conversation.
type fakeMolar struct {
	*httptest.Server
	mu sync.Mutex
	// down fails every request.
	down   bool
	gone   bool
	state  string
	thread []map[string]any
	keys   map[string]string
	// since is the time of the message before the next one, began that of the request.
	since, began time.Time
	writes       int
}

func newFakeMolar(t *testing.T) *fakeMolar {
	began := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	m := &fakeMolar{state: "sending", keys: map[string]string{}, since: began.Add(-time.Hour), began: began}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/handovers", func(w http.ResponseWriter, r *http.Request) {
		list := []any{}
		if m.state != "closed" && r.FormValue("state") == "open" {
			list = append(list, m.handover())
		}
		answer(w, map[string]any{"object": "list", "data": list})
	})
	mux.HandleFunc("GET /v1/conversations/"+conversationID+"/messages", func(w http.ResponseWriter, r *http.Request) {
		if m.gone {
			http.Error(w, `{"error":{"message":"nothing","code":"not_found"}}`, http.StatusNotFound)
			return
		}
		answer(w, map[string]any{"object": "list", "data": m.thread, "handover": m.handover()})
	})
	mux.HandleFunc("POST /v1/conversations/"+conversationID+"/messages", func(w http.ResponseWriter, r *http.Request) {
		m.writes++
		in := bodyOf(r)
		text, _ := in["text"].(string)
		if len(text) > 100 {
			http.Error(w, `{"error":{"message":"too long","code":"invalid"}}`, http.StatusBadRequest)
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if was, ok := m.keys[key]; key != "" && ok && was == text {
			answer(w, map[string]any{"object": "desk.message"})
			return
		}
		if m.state == "closed" {
			http.Error(w, `{"error":{"message":"closed","code":"handover_closed"}}`, http.StatusConflict)
			return
		}
		if text != "" {
			m.keys[key] = text
			m.say("desk", text)
			m.state = "answered"
		}
		if in["close"] == true {
			m.state = "closed"
		}
		answer(w, map[string]any{"object": "desk.message"})
	})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case m.down:
			http.Error(w, "down", http.StatusBadGateway)
		case r.Header.Get("Authorization") != "Bearer review-key":
			http.Error(w, `{"error":{"code":"unauthorized"}}`, http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *fakeMolar) handover() map[string]any {
	return map[string]any{
		"id": handoverID, "conversation_id": conversationID, "assistant": "clinic", "language": "vi", "reason": "words",
		"contact": map[string]string{"name": "Mai", "phone": "0901 234 567"}, "state": m.state, "created_at": m.began, "changed_at": m.began,
	}
}

// say stores a message, a minute after the one before.
func (m *fakeMolar) say(by, text string) (turn string) {
	n := len(m.thread) + 1
	turn, m.since = "turn-"+strconv.Itoa(n), m.since.Add(time.Minute)
	m.thread = append(m.thread, map[string]any{"seq": n, "by": by, "text": text, "turn_id": turn, "at": m.since})
	return turn
}

func (m *fakeMolar) locked(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

// desk returns what the desk wrote to the person.
func (m *fakeMolar) desk() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.thread {
		if s["by"] == "desk" {
			all = append(all, s["text"].(string))
		}
	}
	return all
}

// event returns the body of an event.
func event(kind string, more map[string]any) []byte {
	data := map[string]any{"handover_id": handoverID, "conversation_id": conversationID}
	maps.Copy(data, more)
	body, _ := json.Marshal(map[string]any{"type": kind, "timestamp": "2026-01-05T09:00:00Z", "data": data})
	return body
}

// fromMolar returns a request as Molar makes it.
func fromMolar(hook, secret string, at time.Time, body []byte) *http.Request {
	r, _ := http.NewRequest(http.MethodPost, hook, bytes.NewReader(body))
	seconds := strconv.FormatInt(at.Unix(), 10)
	m := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(m, "msg_1.%s.%s", seconds, body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", "msg_1")
	r.Header.Set("Webhook-Timestamp", seconds)
	r.Header.Set("Webhook-Signature", "v1,bm90IHRoaXMgb25l v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	return r
}

func send(t *testing.T, r *http.Request) int {
	t.Helper()
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	_, _ = io.Copy(io.Discard, a.Body)
	return a.StatusCode
}
