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

// deskHours are open or not, as a test says.
type deskHours struct{ open bool }

func (h *deskHours) Open(time.Time) bool { return h.open }

func (h *deskHours) Next(time.Time) time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) }

// A desk has hand-overs over the real store and memory, with a clock, hours and an inbox of the test.
type desk struct {
	*host.Handovers
	t     *testing.T
	db    *store.DB
	mem   *memory.Client
	out   *outbox
	hours *deskHours
	now   time.Time
}

const (
	visitor = "visitor:a"
	visit   = "visit_a"
)

func newDesk(t *testing.T, ask ...string) *desk {
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
	d := &desk{t: t, db: db, out: &outbox{db: db}, hours: &deskHours{open: true}, now: time.Now()}
	if d.mem, err = memory.New(manager); err != nil {
		t.Fatal(err)
	}
	if d.Handovers, err = host.NewHandovers(host.HandoversConfig{
		Store: db, Memory: d.mem, Outbox: d.out, Hours: d.hours, Ask: ask, URL: "https://molar.example/desk",
		NotFound:  func(context.Context, string) (bool, error) { return true, nil },
		Emergency: func(_, text string) bool { return strings.Contains(text, "bleeds") },
		Fallback:  func(language string) string { return "Call us (" + language + ")" },
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

func (d *desk) request(contact map[string]string) schemas.Handover {
	d.t.Helper()
	d.now = d.now.Add(time.Second)
	h, err := d.Request(d.t.Context(), schemas.Handover{Owner: visitor, ConversationID: visit, Assistant: "dental", Language: "en", Reason: schemas.HandoverButton, Contact: contact})
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

func (d *desk) status(language string) schemas.HandoverStatus {
	d.t.Helper()
	s, err := d.Status(d.t.Context(), visitor, visit, language)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// sees fails the test unless the person is told this state and these words.
func (d *desk) sees(state schemas.HandoverState, words ...string) {
	d.t.Helper()
	s := d.status("en")
	if s.State != state {
		d.t.Errorf("state %q, want %q", s.State, state)
	}
	for _, w := range words {
		if !strings.Contains(s.Text, w) {
			d.t.Errorf("%s: %q does not say %q", state, s.Text, w)
		}
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

// A request, its way to the inbox, messages of both sides and the end: what the person is told, and the model's
// silence, follow what is known.
func TestHandovers(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "name", "phone")
	d.asks("What does an implant cost?", "I found nothing about that.")
	if s := d.status("vi"); !s.On || !s.Open || s.State != "" || s.Text != "" || s.Fallback != "Call us (vi)" || len(s.Ask) != 2 {
		t.Errorf("before a request: %+v", s)
	}
	h := d.request(map[string]string{"name": "  Mai \n Lê ", "phone": ""})
	e, _ := d.out.last()
	if e.Type != "handover.requested" || e.Data.ID != h.ID || e.Data.ConversationID != visit || e.Data.Assistant != "dental" || e.Data.Callback || e.Data.URL != "https://molar.example/desk#handovers/"+h.ID {
		t.Errorf("the inbox is told %+v", e)
	}
	if diff := cmp.Diff(map[string]string{"name": "Mai Lê"}, e.Data.Contact); diff != "" {
		t.Errorf("contact (-want +got)\n%s", diff)
	}
	if m := e.Data.Messages; len(m) != 2 || m[0].By != "visitor" || m[1].By != "assistant" || m[1].Text != "I found nothing about that." {
		t.Errorf("messages %+v", m)
	}
	d.sees(schemas.HandoverSending, "is being sent")
	if again := d.request(nil); again.ID != h.ID {
		t.Error("a second request waits beside the first")
	}
	d.ended(true)
	d.sees(schemas.HandoverDelivered, "in the inbox of the staff", "nobody has answered yet")
	if !d.silences() {
		t.Error("a model answers although somebody may")
	}
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
	d.sees(schemas.HandoverAnswered, "The staff answer you here")
	d.hours.open = false
	d.sees(schemas.HandoverAnswered, "The staff answer you here", "back on Monday, 2 March, at 08:00")
	d.hours.open = true
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
	d.sees("")
	if _, err := d.Write(t.Context(), h, "Too late", "k2"); !errors.Is(err, schemas.ErrHandoverClosed) || d.silences() {
		t.Errorf("after the end: %v, silent %v", err, d.silences())
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

// A person is never told that somebody was reached when nobody was, and the model answers again: neither after a
// request that the inbox did not take, nor after a message.
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
			h := d.request(nil)
			tt.then(d, h)
			d.ended(false)
			d.sees(schemas.HandoverFailed, "could not be delivered", "nobody has seen it", "The assistant answers you again")
			if d.silences() {
				t.Error("nobody answers, and no model either")
			}
			if again := d.request(nil); again.ID == h.ID || again.State != schemas.HandoverSending {
				t.Errorf("the next request is %+v", again)
			}
			d.ended(true)
			d.sees(schemas.HandoverDelivered)
		})
	}
}

// Outside its hours the desk calls back: the person is told when it opens and leaves a number, and the assistant
// goes on answering. Within them they may ask anew.
func TestHandovers_Callback(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "name", "phone")
	d.hours.open = false
	if s := d.status("en"); s.Open || s.Next.IsZero() {
		t.Errorf("%+v", s)
	}
	_, err := d.Request(t.Context(), schemas.Handover{Owner: visitor, ConversationID: visit, Assistant: "dental", Contact: map[string]string{"name": "Mai"}})
	if bad := schemas.ContactError(""); !errors.As(err, &bad) || bad != "phone" {
		t.Errorf("without a number: %v", err)
	}
	h := d.request(map[string]string{"phone": "0900 000 001"})
	d.sees(schemas.HandoverSending, "back on Monday, 2 March, at 08:00")
	if s := d.status("en"); strings.Contains(s.Text, "how to reach you") {
		t.Errorf("nobody has the number yet: %q", s.Text)
	}
	d.ended(true)
	d.sees(schemas.HandoverDelivered, "how to reach you", "back on Monday, 2 March, at 08:00")
	if s := d.status("vi"); !strings.Contains(s.Text, "08:00 thứ Hai, ngày 2/3") || !s.Callback {
		t.Errorf("%+v", s)
	}
	if e, _ := d.out.last(); !e.Data.Callback || e.Data.Contact["phone"] != "0900 000 001" {
		t.Errorf("the inbox is told %+v", e)
	}
	if again := d.request(map[string]string{"phone": "0900 000 001"}); d.silences() || again.ID != h.ID {
		t.Errorf("silent %v, asked again %+v", d.silences(), again)
	}
	if corrected := d.request(map[string]string{"phone": "0900 000 002"}); corrected.ID == h.ID || corrected.Contact["phone"] != "0900 000 002" {
		t.Errorf("with another number: %+v", corrected)
	}
	d.hours.open = true
	if now := d.request(nil); now.ID == h.ID || now.Callback || !d.silences() {
		t.Errorf("within the hours: %+v", now)
	}
}

// A form with what it does not ask for, or with more than a line, is refused by the name of the field.
func TestHandovers_Contact(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "phone")
	for name, value := range map[string]string{"name": "Mai", "phone": strings.Repeat("1", 201)} {
		_, err := d.Request(t.Context(), schemas.Handover{Owner: visitor, ConversationID: visit, Contact: map[string]string{name: value}})
		if bad := schemas.ContactError(""); !errors.As(err, &bad) || string(bad) != name || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(d.out.events) > 0 {
		t.Errorf("the inbox is told %+v", d.out.events)
	}
}

// A message that is sent again after its hand-over ended says nothing of the next one, which nobody has answered.
func TestHandovers_AgainAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.request(nil)
	first := d.write(h, "Hello", "k")
	if err := d.Close(t.Context(), h, schemas.ClosedByPerson); err != nil {
		t.Fatal(err)
	}
	d.now = first.At.Add(time.Minute)
	next := d.request(nil)
	if again := d.write(next, "Hello", "k"); again.Seq != first.Seq {
		t.Errorf("written twice: %+v, %+v", first, again)
	}
	d.sees(schemas.HandoverSending, "Nobody has it yet")
}

// What a person writes to a hand-over that has ended meanwhile, or reaches nobody, is not told to the inbox: nobody
// waits for it there.
func TestHandovers_SayAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*desk, schemas.Handover){
		"closed": func(d *desk, h schemas.Handover) {
			if err := d.Close(d.t.Context(), h, schemas.ClosedByDesk); err != nil {
				d.t.Fatal(err)
			}
		},
		"failed": func(d *desk, _ schemas.Handover) { d.ended(false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			h := d.request(nil)
			end(d, h)
			told := len(d.out.events)
			if err := d.Say(t.Context(), h, "turn_1", "Still there?"); !errors.Is(err, schemas.ErrHandoverClosed) || len(d.out.events) != told {
				t.Errorf("%v, and the inbox is told %+v", err, d.out.events[told:])
			}
		})
	}
}

// A leaver is a client of the desk that leaves while its message is noted.
type leaver struct {
	*store.DB
	leave func()
}

func (l leaver) MoveHandover(ctx context.Context, id string, from []schemas.HandoverState, to schemas.HandoverState, at time.Time) (bool, error) {
	l.leave()
	return l.DB.MoveHandover(ctx, id, from, to, at)
}

// A message of the desk that is stored counts as its answer, even if its client does not wait for that.
func TestHandovers_WriterLeaves(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.request(nil)
	ctx, leave := context.WithCancel(t.Context())
	d.Store = leaver{d.db, leave}
	if _, err := d.Write(ctx, h, "Hello", ""); err != nil {
		t.Error(err)
	}
	d.sees(schemas.HandoverAnswered)
}

// A hand-over that nobody uses for a week is closed, and any message begins the week anew.
func TestHandovers_Stale(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.request(nil)
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
	d.sees(schemas.HandoverSending)
	d.now = d.now.Add(2 * 24 * time.Hour)
	sweep()
	d.sees("")
	if e, _ := d.out.last(); e.Type != "handover.closed" || e.Data.By != schemas.ClosedByTime {
		t.Errorf("the inbox is told %+v", e)
	}
}

// Who forgets the conversation ends its hand-over, and the desk is told so by what belongs to nobody.
func TestHandovers_Forget(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	h := d.request(nil)
	if err := d.Forget(t.Context(), visitor, visit, func(context.Context) error { return errors.New("the store is down") }); err == nil {
		t.Error("no error")
	}
	d.sees(schemas.HandoverSending)
	erased := false
	if err := d.Forget(t.Context(), visitor, visit, func(context.Context) error { erased = true; return nil }); err != nil || !erased {
		t.Error(err, erased)
	}
	if e, whole := d.out.last(); e.Type != "handover.closed" || e.Data.ID != h.ID || whole.Owner != "" {
		t.Errorf("the inbox is told %+v of %q", e, whole.Owner)
	}
}
