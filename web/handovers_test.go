package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

// A fakeDesk has the hand-overs of two visitors, of two assistants.
type fakeDesk struct {
	all     []schemas.Handover
	written []string
	keys    map[string]string
}

func newDesk() *fakeDesk {
	return &fakeDesk{keys: map[string]string{}, all: []schemas.Handover{
		{ID: "handover_b", Owner: "visitor:b", ConversationID: "visit_b", Assistant: "payroll", State: schemas.HandoverAnswered, CreatedAt: created, ChangedAt: created},
		{ID: "handover_a", Owner: "visitor:a", ConversationID: "visit_a", Assistant: "dental", Language: "vi", Reason: schemas.HandoverWords, State: schemas.HandoverDelivered, Contact: map[string]string{"phone": "0900 secret"}, CreatedAt: created, ChangedAt: created},
	}}
}

func (d *fakeDesk) List(_ context.Context, states []schemas.HandoverState, limit int, after string) (page []schemas.Handover, _ error) {
	begun := after == ""
	for _, h := range d.all {
		if begun && len(page) < limit && slices.Contains(states, h.State) {
			page = append(page, h)
		}
		begun = begun || h.ID == after
	}
	return page, nil
}

func (d *fakeDesk) Newest(_ context.Context, conversation string) (schemas.Handover, bool, error) {
	for _, h := range d.all {
		if h.ConversationID == conversation {
			return h, true, nil
		}
	}
	return schemas.Handover{}, false, nil
}

func (d *fakeDesk) Messages(_ context.Context, of schemas.Handover, after int64) (all []schemas.DeskMessage, _ error) {
	for seq, text := range []string{"", "the secret of " + of.ID, "An answer"} {
		if seq > int(after) {
			all = append(all, schemas.DeskMessage{Seq: int64(seq), By: schemas.ByVisitor, Text: text, At: created})
		}
	}
	return all, nil
}

func (d *fakeDesk) Write(_ context.Context, to schemas.Handover, text, key string) (schemas.DeskMessage, error) {
	before, again := d.keys[key]
	switch {
	case key != "" && again && before != text:
		return schemas.DeskMessage{}, schemas.ErrOtherMessage
	case key != "" && again:
	case to.State == schemas.HandoverClosed:
		return schemas.DeskMessage{}, schemas.ErrHandoverClosed
	default:
		d.written, d.keys[key] = append(d.written, to.ID+": "+text), text
	}
	return schemas.DeskMessage{Seq: 4, By: schemas.ByDesk, Text: text, At: created}, nil
}

func (d *fakeDesk) Close(_ context.Context, of schemas.Handover, by string) error {
	for i := range d.all {
		if d.all[i].ID == of.ID {
			d.all[i].State = schemas.HandoverClosed
		}
	}
	d.written = append(d.written, of.ID+" closed by "+by)
	return nil
}

// deskWith serves a desk: "lan" may use one assistant, "all" both, and "ann" has no scope review.
func deskWith(t *testing.T) (h http.Handler, desk *fakeDesk, audit *auditOf) {
	t.Helper()
	desk, audit = newDesk(), &auditOf{}
	ring := httpguard.NewKeyring(nil)
	var keys []httpguard.Key
	for name, scopes := range map[string][]string{"lan": {"review"}, "all": {"review"}, "ann": {"chat"}, "boss": {"admin"}} {
		k := httpguard.Key{ID: name, Owner: name, Name: name, Hash: httpguard.HashOf(name), Scopes: scopes}
		if name == "lan" {
			k.Rights = &schemas.Rights{Groups: []schemas.Group{{Name: name, Assistants: []string{"dental"}}}}
		}
		keys = append(keys, k)
	}
	ring.Set(keys)
	cfg := operated(t, play(nil))
	cfg.Handovers, cfg.Audit, cfg.Access = desk, audit, web.Access{Keys: ring}
	cfg.Models = func() []schemas.AssistantInfo { return []schemas.AssistantInfo{{Name: "dental"}, {Name: "payroll"}} }
	return build(t, cfg), desk, audit
}

// Only who has the scope review and may use the assistant reads and answers; others learn nothing.
func TestHandovers_WhoMay(t *testing.T) {
	t.Parallel()
	h, desk, audit := deskWith(t)
	for _, tt := range []struct {
		who, method, path, body string
		want                    int
	}{
		{"ann", "GET", "/v1/handovers", "", 403},
		{"boss", "GET", "/v1/handovers", "", 403},
		{"ann", "GET", "/v1/conversations/visit_a/messages", "", 403},
		{"ann", "POST", "/v1/conversations/visit_a/messages", `{"text":"x"}`, 403},
		{"lan", "GET", "/v1/conversations/visit_b/messages", "", 404},
		{"lan", "POST", "/v1/conversations/visit_b/messages", `{"text":"x"}`, 404},
		{"lan", "GET", "/v1/conversations/c1/messages", "", 404}, // it was never handed over
		{"lan", "POST", "/v1/conversations/c1/messages", `{"text":"x"}`, 404},
		{"lan", "POST", "/v1/conversations/visit_a/messages", `{"text":" "}`, 400},
		{"lan", "POST", "/v1/conversations/visit_a/messages", `{"text":"x","author":"a\nb"}`, 400},
		{"lan", "POST", "/v1/conversations/visit_a/messages", `{"text":"` + strings.Repeat("x", 10_001) + `"}`, 400},
		{"lan", "GET", "/v1/conversations/visit_a/messages?after=x", "", 400},
		{"lan", "GET", "/v1/handovers?after=a%20b", "", 400},
		{"lan", "GET", "/v1/handovers?limit=0", "", 400},
	} {
		if status, body := (reviewRequest{tt.method, tt.path, tt.body}).as(h, tt.who); status != tt.want || strings.Contains(body, "secret") {
			t.Errorf("%s: %s %s %s: %d %s, want %d", tt.who, tt.method, tt.path, tt.body, status, body, tt.want)
		}
	}
	if len(desk.written) > 0 || len(audit.lines) > 0 {
		t.Errorf("written %q, recorded %+v", desk.written, audit.lines)
	}
}

// The list shows who waits without what they wrote, page by page, and only those of one's assistants.
func TestHandovers_List(t *testing.T) {
	t.Parallel()
	h, _, audit := deskWith(t)
	for _, tt := range []struct{ who, query, want, next string }{
		{"all", "", "handover_b handover_a", ""},
		{"lan", "", "handover_a", ""},
		{"all", "?state=delivered", "handover_a", ""},
		{"all", "?state=closed", "", ""},
		{"all", "?state=all&limit=1", "handover_b", "handover_b"},
		{"all", "?limit=1&after=handover_b", "handover_a", "handover_a"},
		{"lan", "?limit=1", "", "handover_b"}, // a page of another assistant's does not end the list
	} {
		status, body := reviewRequest{"GET", "/v1/handovers" + tt.query, ""}.as(h, tt.who)
		var got struct {
			Data []schemas.Handover
			Next string
		}
		err := json.Unmarshal([]byte(body), &got)
		var ids []string
		for _, one := range got.Data {
			ids = append(ids, one.ID)
		}
		if status != http.StatusOK || err != nil || strings.Join(ids, " ") != tt.want || got.Next != tt.next || strings.Contains(body, "secret") || strings.Contains(body, "visitor:") {
			t.Errorf("%s%s: %d %s", tt.who, tt.query, status, body)
		}
	}
	if len(audit.lines) > 0 {
		t.Errorf("recorded %+v", audit.lines)
	}
}

// What the desk reads, writes and closes is recorded first, and not done otherwise. A poll without news is not.
func TestHandovers_Recorded(t *testing.T) {
	t.Parallel()
	h, desk, audit := deskWith(t)
	const path = "/v1/conversations/visit_a/messages"
	requests := []reviewRequest{
		{"GET", path, ""},
		{"GET", path + "?after=1", ""},
		{"POST", path, `{"text":" Hello ","author":" Lan "}`},
		{"POST", path, `{"close":true}`},
	}
	audit.fault = errors.New("the disk is full")
	for _, r := range requests {
		if status, body := r.as(h, "lan"); status != http.StatusServiceUnavailable || !strings.Contains(body, "audit_unavailable") || strings.Contains(body, "secret") {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, body)
		}
	}
	if len(desk.written) > 0 {
		t.Errorf("unrecorded: %q", desk.written)
	}
	audit.fault, audit.lines = nil, nil
	for i, r := range requests {
		status, body := r.as(h, "lan")
		if status != http.StatusOK || strings.Contains(body, "0900 secret") != (i == 0) {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, body)
		}
	}
	if status, _ := (reviewRequest{"GET", path + "?after=2", ""}).as(h, "lan"); status != http.StatusOK {
		t.Error(status)
	}
	var lines []string
	for _, l := range audit.lines {
		lines = append(lines, l.Person+" "+l.Event+" "+l.Detail)
	}
	if diff := cmp.Diff([]string{
		"lan review handover_a read", "lan review handover_a read", "lan review handover_a write by Lan", "lan review handover_a close",
	}, lines); diff != "" {
		t.Errorf("audit (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"handover_a: Hello", "handover_a closed by desk"}, desk.written); diff != "" {
		t.Errorf("written (-want +got)\n%s", diff)
	}
}

// A message that is sent again is written once, even after the end; another one is refused then.
func TestHandovers_Again(t *testing.T) {
	t.Parallel()
	h, desk, _ := deskWith(t)
	send := func(key, body string) (int, string) {
		req := request(http.MethodPost, "/v1/conversations/visit_a/messages", body)
		req.Header.Set("Authorization", "Bearer lan")
		req.Header.Set("Idempotency-Key", key)
		w := serve(h, req)
		var fault struct{ Error struct{ Code string } }
		_ = json.Unmarshal(w.Body.Bytes(), &fault)
		return w.Code, fault.Error.Code
	}
	for _, tt := range []struct {
		key, body string
		status    int
		code      string
	}{
		{"k", `{"text":"Goodbye","close":true}`, 200, ""},
		{"k", `{"text":"Goodbye","close":true}`, 200, ""},
		{"k", `{"text":"Hello"}`, 422, "idempotency_key_reused"},
		{"k2", `{"text":"Hello"}`, 409, "handover_closed"},
		{"a b", `{"text":"Hello"}`, 400, "invalid_value"},
	} {
		if status, code := send(tt.key, tt.body); status != tt.status || code != tt.code {
			t.Errorf("%s %s: %d %s, want %d %s", tt.key, tt.body, status, code, tt.status, tt.code)
		}
	}
	if n := strings.Count(strings.Join(desk.written, "\n"), "Goodbye"); n != 1 {
		t.Errorf("written %d times: %q", n, desk.written)
	}
}
