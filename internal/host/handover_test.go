package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"molar/agent/memory"
	"molar/internal/host"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	memoryserver "molar/mcpservers/memory"
	"molar/schemas"
)

// An outbox keeps what the inbox of a desk is sent.
type outbox struct {
	db *store.DB

	mu     sync.Mutex
	events []inboxEvent
	whole  []schemas.WebhookEvent
}

type inboxEvent struct {
	Type string
	Data struct {
		ID             string `json:"handover_id"`
		ConversationID string `json:"conversation_id"`
		Assistant      string
		Callback       bool
		Contact        map[string]string
		Messages       []schemas.DeskMessage
		URL, Text, By  string
		TurnID         string `json:"turn_id"`
		Emergency      bool
	}
}

func (o *outbox) Event(owner, kind string, data any) (schemas.WebhookEvent, error) {
	body, err := json.Marshal(map[string]any{"type": kind, "data": data})
	now := time.Now().Truncate(time.Millisecond)
	e := schemas.WebhookEvent{ID: "msg_" + uuid.NewString(), Hook: "handover", Owner: owner, Body: body, Created: now, Next: now}
	var read inboxEvent
	err = errors.Join(err, json.Unmarshal(body, &read))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events, o.whole = append(o.events, read), append(o.whole, e)
	return e, err
}

func (o *outbox) Put(ctx context.Context, e schemas.WebhookEvent) error { return o.db.PutEvent(ctx, e) }

// last returns the newest event, as it was made and as it is stored.
func (o *outbox) last() (inboxEvent, schemas.WebhookEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.events[len(o.events)-1], o.whole[len(o.whole)-1]
}

// A desk has hand-overs over the real store and memory, with a clock and an inbox of the test.
type desk struct {
	*host.Handovers
	t   *testing.T
	db  *store.DB
	mem *memory.Client
	out *outbox
	now time.Time
}

const (
	visitor = "visitor:a"
	visit   = "visit_a"
)

func newDesk(t *testing.T) *desk {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "molar.db")})
	if err != nil {
		t.Fatal(err)
	}
	server, err := memoryserver.New(memoryserver.Config{Store: db})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{{Name: memory.ServerName, InProcess: server}}})
	if err != nil {
		t.Fatal(err)
	}
	manager.Start(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		if err := errors.Join(manager.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := manager.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, db: db, out: &outbox{db: db}, now: time.Now()}
	if d.mem, err = memory.New(manager); err != nil {
		t.Fatal(err)
	}
	if d.Handovers, err = host.NewHandovers(host.HandoversConfig{
		Store: db, Memory: d.mem, Outbox: d.out, URL: "https://molar.example/desk",
		NotFound:  func(context.Context, string) (bool, error) { return true, nil },
		Emergency: func(_, text string) bool { return strings.Contains(text, "bleeds") },
		Logger:    slog.New(slog.DiscardHandler), Now: func() time.Time { return d.now },
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

// asks stores an exchange with the assistant.
func (d *desk) asks(question, answer string) {
	d.t.Helper()
	begun, err := d.mem.Begin(d.t.Context(), memory.BeginRequest{ConversationID: visit, Owner: visitor})
	if err == nil {
		err = d.mem.Save(d.t.Context(), memory.Record{Lease: begun.Lease, Owner: visitor, Key: uuid.NewString(), TurnID: uuid.NewString(), User: question, Answer: answer, Assistant: "dental", Language: "en"})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) request(callback bool, contact map[string]string) schemas.Handover {
	d.t.Helper()
	d.now = d.now.Add(time.Second)
	h, err := d.Request(d.t.Context(), schemas.Handover{Owner: visitor, ConversationID: visit, Assistant: "dental", Language: "en", Reason: schemas.HandoverButton, Callback: callback, Contact: contact})
	if err != nil {
		d.t.Fatal(err)
	}
	return h
}

// ended says what became of the newest event.
func (d *desk) ended(delivered bool) {
	d.t.Helper()
	_, e := d.out.last()
	if err := d.Ended(d.t.Context(), e, delivered); err != nil {
		d.t.Fatal(err)
	}
}

// is fails the test unless the newest hand-over is in a state, in which the model is silent or not.
func (d *desk) is(state schemas.HandoverState, silent bool) {
	d.t.Helper()
	h, ok, err := d.Newest(d.t.Context(), visit)
	if err != nil || !ok || h.State != state || d.silences() != silent {
		d.t.Errorf("%+v, silent %v, %v; want %s, silent %v", h, d.silences(), err, state, silent)
	}
}

func (d *desk) silences() bool {
	d.t.Helper()
	h, ok, err := d.Open(d.t.Context(), visitor, visit)
	if err != nil {
		d.t.Fatal(err)
	}
	return ok && h.Silences()
}

func (d *desk) write(h schemas.Handover, text, key string) schemas.DeskMessage {
	d.t.Helper()
	m, err := d.Write(d.t.Context(), h, text, key)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// A request, its way to the inbox, messages of both sides and the end: its state, and the model's silence, follow
// what is known.
func TestHandovers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.asks("What does an implant cost?", "I found nothing about that.")
	h := d.request(false, map[string]string{"name": "Mai Lê"})
	e, stored := d.out.last()
	if e.Type != "handover.requested" || e.Data.ID != h.ID || h.Event != stored.ID || e.Data.ConversationID != visit || e.Data.Assistant != "dental" || e.Data.Callback || e.Data.URL != "https://molar.example/desk#handovers/"+h.ID {
		t.Errorf("the inbox is told %+v", e)
	}
	if diff := cmp.Diff(map[string]string{"name": "Mai Lê"}, e.Data.Contact); diff != "" {
		t.Errorf("contact (-want +got)\n%s", diff)
	}
	if m := e.Data.Messages; len(m) != 2 || m[0].By != "visitor" || m[1].By != "assistant" || m[1].Text != "I found nothing about that." {
		t.Errorf("messages %+v", m)
	}
	d.is(schemas.HandoverSending, true)
	if again := d.request(false, nil); again.ID != h.ID {
		t.Error("a second request waits beside the first")
	}
	d.ended(true)
	d.is(schemas.HandoverDelivered, true)
	if err := d.Say(t.Context(), h, "turn_1", "My gum bleeds"); err != nil {
		t.Fatal(err)
	}
	if e, _ := d.out.last(); e.Type != "handover.message" || e.Data.Text != "My gum bleeds" || !e.Data.Emergency || e.Data.TurnID != "turn_1" {
		t.Errorf("the inbox is told %+v", e)
	}
	first := d.write(h, "Hello, this is Lan.", "k")
	if again := d.write(h, "Hello, this is Lan.", "k"); again.Seq != first.Seq {
		t.Errorf("a message with the same key was written twice: %+v, %+v", first, again)
	}
	if _, err := d.Write(t.Context(), h, "Another text", "k"); !errors.Is(err, schemas.ErrOtherMessage) {
		t.Errorf("another text with the key: %v", err)
	}
	d.is(schemas.HandoverAnswered, true)
	d.write(h, "How can I help?", "")
	all, err := d.Messages(t.Context(), h, 0)
	var said []string
	for _, m := range all {
		said = append(said, m.By+": "+m.Text)
	}
	if diff := cmp.Diff([]string{
		"visitor: What does an implant cost?", "assistant: I found nothing about that.", "desk: Hello, this is Lan.", "desk: How can I help?",
	}, said); diff != "" || err != nil {
		t.Errorf("thread (-want +got)\n%s%v", diff, err)
	}
	if news, err := d.Messages(t.Context(), h, first.Seq); len(news) != 1 || news[0].Text != "How can I help?" || err != nil {
		t.Errorf("news %+v, %v", news, err)
	}
	for range 2 { // the second time it is closed already
		if err := d.Close(t.Context(), h, schemas.ClosedByDesk); err != nil {
			t.Fatal(err)
		}
	}
	d.is(schemas.HandoverClosed, false)
	if _, err := d.Write(t.Context(), h, "Too late", "k2"); !errors.Is(err, schemas.ErrHandoverClosed) {
		t.Errorf("after the end: %v", err)
	}
	d.asks("And now?", "Now I answer.") // the refused message holds the conversation no longer
	var types []string
	for _, e := range d.out.events {
		types = append(types, e.Type+e.Data.By)
	}
	if diff := cmp.Diff([]string{"handover.requested", "handover.message", "handover.closeddesk"}, types); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// What the inbox did not take has reached nobody, be it a request or a message: the model answers again.
func TestHandovers_NobodyReached(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		then func(*desk, schemas.Handover)
	}{
		{"request", func(*desk, schemas.Handover) {}},
		{"message", func(d *desk, h schemas.Handover) {
			d.ended(true)
			d.write(h, "Hello", "")
			if err := d.Say(d.t.Context(), h, "turn_1", "Are you there?"); err != nil {
				d.t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			h := d.request(false, nil)
			tt.then(d, h)
			d.ended(false)
			d.is(schemas.HandoverFailed, false)
			if again := d.request(false, nil); again.ID == h.ID || again.State != schemas.HandoverSending {
				t.Errorf("the next request is %+v", again)
			}
			d.ended(true)
			d.is(schemas.HandoverDelivered, true)
		})
	}
}

// Who is to be called back goes on with the assistant, may correct how to be reached, and may ask anew within
// the hours of the desk.
func TestHandovers_Callback(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	number := func(n string) map[string]string { return map[string]string{"phone": n} }
	h := d.request(true, number("0900 000 001"))
	d.ended(true)
	d.is(schemas.HandoverDelivered, false)
	if e, _ := d.out.last(); !e.Data.Callback || e.Data.Contact["phone"] != "0900 000 001" {
		t.Errorf("the inbox is told %+v", e)
	}
	if again := d.request(true, number("0900 000 001")); again.ID != h.ID {
		t.Errorf("asked again: %+v", again)
	}
	corrected := d.request(true, number("0900 000 002"))
	if corrected.ID == h.ID || corrected.Contact["phone"] != "0900 000 002" {
		t.Errorf("corrected: %+v", corrected)
	}
	if now := d.request(false, nil); now.ID == corrected.ID || now.Callback {
		t.Errorf("within the hours: %+v", now)
	}
	d.is(schemas.HandoverSending, true)
	d.write(d.request(false, nil), "Hello", "")
	d.is(schemas.HandoverAnswered, true)
}

// A hand-over that nobody uses for a week is closed, and any message begins the week anew.
func TestHandovers_Stale(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.request(false, nil)
	sweep := func() {
		t.Helper()
		if err := d.CloseStale(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	d.now = d.now.Add(6 * 24 * time.Hour)
	if err := d.Say(t.Context(), h, "turn_1", "Still here"); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(6 * 24 * time.Hour)
	sweep()
	d.is(schemas.HandoverSending, true)
	d.now = d.now.Add(2 * 24 * time.Hour)
	sweep()
	d.is(schemas.HandoverClosed, false)
	if e, _ := d.out.last(); e.Type != "handover.closed" || e.Data.By != schemas.ClosedByTime {
		t.Errorf("the inbox is told %+v", e)
	}
}

// Who forgets the conversation takes away what the inbox was not told yet, except that it is over.
func TestHandovers_Forget(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.request(false, map[string]string{"phone": "0900 000 001"})
	if err := d.Withdraw(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if _, err := d.db.ErasePerson(t.Context(), visitor); err != nil {
		t.Fatal(err)
	}
	due, err := d.db.DueEvents(t.Context(), "handover", time.Now().Add(time.Hour), 9)
	if e, closed := d.out.last(); err != nil || len(due) != 1 || due[0].ID != closed.ID || e.Type != "handover.closed" || e.Data.ID != h.ID {
		t.Errorf("%v, %v", due, err)
	}
}
