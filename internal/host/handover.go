package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"molar/agent"
	"molar/agent/memory"
	"molar/internal/store"
	"molar/schemas"
)

// Bounds of hand-overs.
const (
	// toldMessages is how many of a conversation's last messages go along with a request.
	toldMessages = 10
	// maxContact bounds a field of the form, in characters.
	maxContact = 200
	// silentFor is how long a hand-over stays open after the last message of its conversation.
	silentFor = 7 * 24 * time.Hour
	// sweepEvery is how often hand-overs are looked for that nobody ends.
	sweepEvery = time.Minute
	// deskWait is how long a message of the desk waits for a turn of its conversation.
	deskWait = 20 * time.Second
)

// The types of the events that the desk's inbox gets.
const (
	eventRequested = "handover.requested"
	eventMessage   = "handover.message"
	eventClosed    = "handover.closed"
)

// A HandoverStore keeps hand-overs. A conversation has at most one that is not closed.
type HandoverStore interface {
	// PutHandover stores a hand-over with an event about it. The error is [store.ErrConflict] if its conversation
	// has one that is not closed.
	PutHandover(ctx context.Context, h schemas.Handover, events ...schemas.WebhookEvent) error
	OpenHandover(ctx context.Context, owner, conversation string) (h schemas.Handover, ok bool, err error)
	// LastHandover returns the newest hand-over of a conversation, closed or not.
	LastHandover(ctx context.Context, conversation string) (h schemas.Handover, ok bool, err error)
	HandoverByID(ctx context.Context, id string) (h schemas.Handover, ok bool, err error)
	// MoveHandover reports whether the hand-over was in one of the states; then it is in another now, and has
	// changed at a time.
	MoveHandover(ctx context.Context, id string, from []schemas.HandoverState, to schemas.HandoverState, at time.Time) (bool, error)
	// Handovers returns a page of the hand-overs in some states, the newest first; after is the id of the last
	// one of the page before.
	Handovers(ctx context.Context, states []schemas.HandoverState, limit int, after string) ([]schemas.Handover, error)
	// StaleHandovers returns those that are not closed and did not change since.
	StaleHandovers(ctx context.Context, before time.Time) ([]schemas.Handover, error)
}

// An Outbox sends events to the desk's inbox. What is stored is sent for an hour.
type Outbox interface {
	Event(owner, kind string, data any) (schemas.WebhookEvent, error)
	Put(ctx context.Context, e schemas.WebhookEvent) error
}

// DeskHours say when somebody is at the desk.
type DeskHours interface {
	Open(t time.Time) bool
	// Next returns when the desk opens after t, in its own time zone.
	Next(t time.Time) time.Time
}

// HandoversConfig configures [Handovers]. Store, Memory, Outbox, NotFound, Hours and Logger are required.
type HandoversConfig struct {
	Store  HandoverStore
	Memory *memory.Client
	Outbox Outbox
	// NotFound reports whether the newest turn of an owner found nothing.
	NotFound func(ctx context.Context, owner string) (bool, error)
	// Emergency reports whether a message to an assistant describes an emergency.
	Emergency func(assistant, text string) bool
	Hours     DeskHours
	// Ask names the fields of the form; none asks for nothing.
	Ask []string
	// Fallback returns what to do when nobody could be reached, in a language.
	Fallback func(language string) string
	// URL is the address of the desk.
	URL    string
	Logger *slog.Logger
	Now    func() time.Time
}

// Handovers hand people over to the desk. They are safe for concurrent use, and other replicas may have
// the same store.
type Handovers struct{ HandoversConfig }

// NewHandovers returns the hand-overs of a host, whose owner calls Run.
func NewHandovers(cfg HandoversConfig) (*Handovers, error) {
	if cfg.Store == nil || cfg.Memory == nil || cfg.Outbox == nil || cfg.NotFound == nil || cfg.Hours == nil || cfg.Logger == nil {
		return nil, errors.New("handovers: Store, Memory, Outbox, NotFound, Hours and Logger are required")
	}
	if cfg.Emergency == nil {
		cfg.Emergency = func(string, string) bool { return false }
	}
	if cfg.Fallback == nil {
		cfg.Fallback = func(string) string { return "" }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Handovers{cfg}, nil
}

// Open returns the hand-over of a conversation that is not closed.
func (h *Handovers) Open(ctx context.Context, owner, conversation string) (schemas.Handover, bool, error) {
	return h.Store.OpenHandover(ctx, owner, conversation)
}

// FoundNothing reports whether the newest saved turn of a visitor, who has one conversation, found nothing.
func (h *Handovers) FoundNothing(ctx context.Context, owner, _ string) (bool, error) {
	return h.NotFound(ctx, owner)
}

// A handoverEvent is the data of an event; each type has its fields.
type handoverEvent struct {
	ID             string                 `json:"handover_id"`
	ConversationID string                 `json:"conversation_id"`
	Assistant      string                 `json:"assistant,omitempty"`
	Language       string                 `json:"language,omitempty"`
	Reason         schemas.HandoverReason `json:"reason,omitempty"`
	Callback       *bool                  `json:"callback,omitempty"`
	Contact        map[string]string      `json:"contact,omitempty"`
	Messages       []schemas.DeskMessage  `json:"messages,omitempty"`
	URL            string                 `json:"url,omitempty"`
	TurnID         string                 `json:"turn_id,omitempty"`
	Text           string                 `json:"text,omitempty"`
	Emergency      *bool                  `json:"emergency,omitempty"`
	By             string                 `json:"by,omitempty"`
}

// Request stores a request and what tells the desk of it. Owner, ConversationID, Assistant, Language, Reason
// and Contact of r are set. The one for which the person waits already is returned as it is; one that failed, or
// waits for the desk to open, gives way to one that says more. It fails with a [schemas.ContactError] if the form
// cannot be used.
func (h *Handovers) Request(ctx context.Context, r schemas.Handover) (schemas.Handover, error) {
	now := h.Now().UTC().Truncate(time.Millisecond)
	r.ID, r.State, r.Callback = "handover_"+uuid.NewString(), schemas.HandoverSending, !h.Hours.Open(now)
	r.CreatedAt, r.ChangedAt = now, now
	var err error
	if r.Contact, err = h.contact(r); err != nil {
		return r, err
	}
	was, ok, err := h.Store.OpenHandover(ctx, r.Owner, r.ConversationID)
	if err != nil {
		return r, err
	}
	if ok {
		if was.Silences() || was.State != schemas.HandoverFailed && r.Callback && maps.Equal(was.Contact, r.Contact) {
			return was, nil
		}
		if err := h.Close(ctx, was, schemas.ClosedByPerson); err != nil {
			return was, err
		}
	}
	told, err := h.Messages(ctx, r, 0)
	if err != nil {
		return r, err
	}
	e, err := h.Outbox.Event(r.Owner, eventRequested, handoverEvent{
		ID: r.ID, ConversationID: r.ConversationID, Assistant: r.Assistant, Language: r.Language, Reason: r.Reason, Callback: &r.Callback,
		Contact: r.Contact, Messages: told[max(0, len(told)-toldMessages):], URL: h.URL + "#handovers/" + r.ID,
	})
	if err != nil {
		return r, fmt.Errorf("tell the desk: %w", err)
	}
	r.Event = e.ID
	err = h.Store.PutHandover(ctx, r, e)
	if errors.Is(err, store.ErrConflict) { // another request was faster
		if other, ok, readErr := h.Store.OpenHandover(ctx, r.Owner, r.ConversationID); ok && readErr == nil {
			return other, nil
		}
	}
	return r, err
}

// contact returns what a person wrote into the form. Who is to be called back leaves a number or an address,
// if the form asks for one.
func (h *Handovers) contact(r schemas.Handover) (map[string]string, error) {
	all := map[string]string{}
	for name, value := range r.Contact {
		value = strings.Join(strings.FieldsFunc(value, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
		if !slices.Contains(h.Ask, name) || !utf8.ValidString(value) || utf8.RuneCountInString(value) > maxContact {
			return nil, schemas.ContactError(name)
		}
		if value != "" {
			all[name] = value
		}
	}
	ways := slices.DeleteFunc([]string{"phone", "email"}, func(name string) bool { return !slices.Contains(h.Ask, name) })
	if r.Callback && len(ways) > 0 && !slices.ContainsFunc(ways, func(name string) bool { return all[name] != "" }) {
		return nil, schemas.ContactError(ways[0])
	}
	return all, nil
}

// Say passes on to the desk what a person wrote.
func (h *Handovers) Say(ctx context.Context, to schemas.Handover, turnID, text string) error {
	err := h.tell(ctx, to.Owner, eventMessage, handoverEvent{
		ID: to.ID, ConversationID: to.ConversationID, TurnID: turnID, Text: text, Emergency: new(h.Emergency(to.Assistant, text)),
	})
	if err != nil {
		return fmt.Errorf("pass a message on to the desk: %w", err)
	}
	if _, err := h.Store.MoveHandover(ctx, to.ID, []schemas.HandoverState{to.State}, to.State, h.Now()); err != nil {
		h.Logger.Warn("when a hand-over was last used is not noted", "handover", to.ID, "error", err)
	}
	return nil
}

func (h *Handovers) tell(ctx context.Context, owner, kind string, data handoverEvent) error {
	e, err := h.Outbox.Event(owner, kind, data)
	if err != nil {
		return err
	}
	return h.Outbox.Put(ctx, e)
}

// Newest returns the newest hand-over of a conversation, closed or not.
func (h *Handovers) Newest(ctx context.Context, conversation string) (schemas.Handover, bool, error) {
	return h.Store.LastHandover(ctx, conversation)
}

// List returns a page of the hand-overs in some states, the newest first.
func (h *Handovers) List(ctx context.Context, states []schemas.HandoverState, limit int, after string) ([]schemas.Handover, error) {
	return h.Store.Handovers(ctx, states, limit, after)
}

// Messages returns the messages of a hand-over's conversation after one of a number.
func (h *Handovers) Messages(ctx context.Context, of schemas.Handover, after int64) ([]schemas.DeskMessage, error) {
	stored, _, _, err := h.Memory.Messages(ctx, of.Owner, of.ConversationID)
	if err != nil {
		return nil, fmt.Errorf("read the conversation of a hand-over: %w", err)
	}
	all := []schemas.DeskMessage{}
	for _, m := range stored {
		if m.Content != "" && m.Seq > after { // a message of the desk is a turn without a question
			all = append(all, schemas.DeskMessage{Seq: m.Seq, TurnID: m.TurnID, By: byOf(m), Text: m.Content, At: m.Timestamp})
		}
	}
	return all, nil
}

func byOf(m schemas.StoredMessage) string {
	switch {
	case m.Role == schemas.RoleUser:
		return schemas.ByVisitor
	case m.Assistant == schemas.Desk:
		return schemas.ByDesk
	}
	return schemas.ByAssistant
}

// Write stores a message of the desk, which the person reads from then on; no model answers them then. The same
// key and text store it once. It fails with [schemas.ErrHandoverClosed], [schemas.ErrOtherMessage] or [agent.ErrBusy].
func (h *Handovers) Write(ctx context.Context, to schemas.Handover, text, key string) (schemas.DeskMessage, error) {
	if key = "desk:" + key; key == "desk:" {
		key += uuid.NewString()
	}
	begun, err := h.Memory.Begin(ctx, memory.BeginRequest{ConversationID: to.ConversationID, Owner: to.Owner, Key: key, Wait: deskWait})
	if errors.Is(err, memory.ErrBusy) {
		return schemas.DeskMessage{}, agent.ErrBusy
	}
	if err != nil {
		return schemas.DeskMessage{}, fmt.Errorf("write to a conversation: %w", err)
	}
	turn := uuid.NewString()
	switch done := begun.Finished; {
	case done != nil && done.Answer != text:
		return schemas.DeskMessage{}, schemas.ErrOtherMessage
	case done != nil:
		turn = done.TurnID
	default:
		if err = h.save(ctx, to, memory.Record{Lease: begun.Lease, Owner: to.Owner, Key: key, TurnID: turn, Answer: text, Assistant: schemas.Desk, Language: to.Language}); err != nil {
			return schemas.DeskMessage{}, err
		}
	}
	if _, err := h.Store.MoveHandover(ctx, to.ID, schemas.HandoverStates(), schemas.HandoverAnswered, h.Now()); err != nil {
		return schemas.DeskMessage{}, err
	}
	return h.written(ctx, to, turn)
}

// save stores a message of the desk, unless its hand-over has ended while it waited for a turn.
func (h *Handovers) save(ctx context.Context, to schemas.Handover, r memory.Record) error {
	now, ok, err := h.Store.HandoverByID(ctx, to.ID)
	switch {
	case err != nil:
	case !ok:
		err = agent.ErrNotFound
	case now.State == schemas.HandoverClosed:
		err = schemas.ErrHandoverClosed
	default:
		err = h.Memory.Save(ctx, r)
	}
	if err != nil {
		return errors.Join(err, h.Memory.Release(context.WithoutCancel(ctx), r.Lease))
	}
	return nil
}

// written returns a message of the desk as it is stored.
func (h *Handovers) written(ctx context.Context, to schemas.Handover, turnID string) (schemas.DeskMessage, error) {
	all, err := h.Memory.Branch(ctx, to.Owner, to.ConversationID, turnID)
	if err != nil || len(all) == 0 {
		return schemas.DeskMessage{}, cmp.Or(err, agent.ErrNotFound)
	}
	m := all[len(all)-1]
	return schemas.DeskMessage{Seq: m.Seq, TurnID: m.TurnID, By: schemas.ByDesk, Text: m.Content, At: m.Timestamp}, nil
}

// Close ends a hand-over, and tells the desk who did. One that has ended stays as it is.
func (h *Handovers) Close(ctx context.Context, of schemas.Handover, by string) error {
	moved, err := h.Store.MoveHandover(ctx, of.ID, schemas.HandoverStates(), schemas.HandoverClosed, h.Now())
	if err != nil || !moved {
		return err
	}
	h.tellClosed(ctx, of, of.Owner, by)
	return nil
}

func (h *Handovers) tellClosed(ctx context.Context, of schemas.Handover, owner, by string) {
	if err := h.tell(ctx, owner, eventClosed, handoverEvent{ID: of.ID, ConversationID: of.ConversationID, By: by}); err != nil {
		h.Logger.Error("the desk is not told that a hand-over is closed", "handover", of.ID, "error", err)
	}
}

// Forget runs an erasure of all that is an owner's, and tells the desk if that ended a hand-over. What it is
// told has the ids that it knows already, and belongs to nobody.
func (h *Handovers) Forget(ctx context.Context, owner, conversation string, erase func(context.Context) error) error {
	of, ok, err := h.Store.OpenHandover(ctx, owner, conversation)
	if err = errors.Join(err, erase(ctx)); err == nil && ok {
		h.tellClosed(ctx, of, "", schemas.ClosedByPerson)
	}
	return err
}

// Ended notes what became of an event: the inbox has confirmed it, or did not take it for an hour. Then
// nobody has read it, and the person is told so.
func (h *Handovers) Ended(ctx context.Context, e schemas.WebhookEvent, delivered bool) error {
	var body struct {
		Type string        `json:"type"`
		Data handoverEvent `json:"data"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("read an event of a hand-over: %w", err)
	}
	var from []schemas.HandoverState
	to := schemas.HandoverFailed
	switch {
	case body.Type == eventRequested && delivered:
		from, to = []schemas.HandoverState{schemas.HandoverSending, schemas.HandoverFailed}, schemas.HandoverDelivered
	case body.Type == eventRequested:
		from = []schemas.HandoverState{schemas.HandoverSending}
	case body.Type == eventMessage && !delivered:
		from = []schemas.HandoverState{schemas.HandoverDelivered, schemas.HandoverAnswered}
	default:
		return nil
	}
	_, err := h.Store.MoveHandover(ctx, body.Data.ID, from, to, h.Now())
	return err
}

// Run closes hand-overs that nobody uses any more, until ctx ends.
func (h *Handovers) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := h.CloseStale(ctx); err != nil && ctx.Err() == nil {
			h.Logger.Warn("old hand-overs cannot be closed; retrying", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// CloseStale closes the hand-overs that nobody has used for a week.
func (h *Handovers) CloseStale(ctx context.Context) error {
	stale, err := h.Store.StaleHandovers(ctx, h.Now().Add(-silentFor))
	for _, of := range stale {
		err = errors.Join(err, h.Close(ctx, of, schemas.ClosedByTime))
	}
	return err
}
