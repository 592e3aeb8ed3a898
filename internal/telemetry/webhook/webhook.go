// Package webhook sends events to one address by the rules of Standard Webhooks. An event is stored before
// it is sent, and stays until it is delivered.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/schemas"
)

// Times and bounds of a [Sender].
const (
	// tryFor is how long an event is tried again: after pauses as long as it has been tried already, but
	// from firstPause to lastPause.
	tryFor                = time.Hour
	firstPause, lastPause = time.Second, 5 * time.Minute
	// oneTry is the time limit of one request. A process has an event to itself for twice that time.
	oneTry = 15 * time.Second
	// maxOpen is how many events a process sends at once.
	maxOpen = 16
	// lookEvery is how often due events are looked for.
	lookEvery = time.Second
	// lastWords is how long Run waits for requests that are on their way when it ends.
	lastWords = 5 * time.Second
	// storeFor is the time limit of one access to the store.
	storeFor = 5 * time.Second
)

// A Store keeps events until they are delivered, so that they survive the process. Times are in whole
// milliseconds.
type Store interface {
	PutEvent(ctx context.Context, e schemas.WebhookEvent) error
	// DueEvents returns up to limit events of a hook that are to be tried by now.
	DueEvents(ctx context.Context, hook string, now time.Time, limit int) ([]schemas.WebhookEvent, error)
	// MoveEvent sets when an event is tried next; ok is false if its time is not the one before any more.
	MoveEvent(ctx context.Context, id string, from, to time.Time) (ok bool, err error)
	DropEvent(ctx context.Context, id string) error
}

// Config configures a [Sender]. Hook, URL, Key and Store are required.
type Config struct {
	// Hook names the events of this sender among those in the store.
	Hook string
	URL  string
	// Key signs the events.
	Key []byte
	// Store may be shared with other processes: each event is sent by one of them at a time.
	Store Store
	// Client nil is one that follows no redirect: the events are for this address alone.
	Client *http.Client
	Logger *slog.Logger
	// Count is called with "delivered" or "failed" at the end of each event; it may be nil.
	Count func(outcome string)
	// Ended is called at the end of each event, before it leaves the store: it was delivered, or it is given up.
	// After an error, or the death of the process, the event is sent and Ended is called once more. It may be nil.
	Ended func(ctx context.Context, e schemas.WebhookEvent, delivered bool) error
}

// A Sender sends events, each at least once. It is safe for concurrent use. A nil Sender sends nothing.
type Sender struct {
	cfg  Config
	news chan struct{}
	// open holds an item for each event that is on its way.
	open chan struct{}
}

// An event is the body of a request.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// New returns a sender, whose owner calls Run.
func New(cfg Config) (*Sender, error) {
	if cfg.Hook == "" || cfg.URL == "" || len(cfg.Key) == 0 || cfg.Store == nil {
		return nil, errors.New("webhook: Hook, URL, Key and Store are required")
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Count == nil {
		cfg.Count = func(string) {}
	}
	if cfg.Ended == nil {
		cfg.Ended = func(context.Context, schemas.WebhookEvent, bool) error { return nil }
	}
	return &Sender{cfg: cfg, news: make(chan struct{}, 1), open: make(chan struct{}, maxOpen)}, nil
}

// Event returns a new event about an owner. Who stores it elsewhere than with [Sender.Put], such as in one
// transaction with what it is about, leaves it to Run to find it there within a second.
func (s *Sender) Event(owner, kind string, data any) (schemas.WebhookEvent, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	body, err := json.Marshal(event{Type: kind, Timestamp: now, Data: data})
	return schemas.WebhookEvent{ID: "msg_" + uuid.NewString(), Hook: s.cfg.Hook, Owner: owner, Body: body, Created: now, Next: now}, err
}

// Put stores an event, which Run sends, here or in another process.
func (s *Sender) Put(ctx context.Context, e schemas.WebhookEvent) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	if err := s.cfg.Store.PutEvent(ctx, e); err != nil {
		return err
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
	return nil
}

// Send puts a new event about an owner. That it cannot be stored is logged.
func (s *Sender) Send(ctx context.Context, owner, kind string, data any) {
	if s == nil {
		return
	}
	e, err := s.Event(owner, kind, data)
	if err == nil {
		err = s.Put(ctx, e)
	}
	if err != nil {
		s.fail(err)
	}
}

// Run sends events until ctx ends, and then waits a moment for those that are on their way. What is not
// delivered stays in the store.
func (s *Sender) Run(ctx context.Context) {
	if s == nil {
		return
	}
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var sending sync.WaitGroup
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		ended := ctx.Err() != nil // then what came last is tried once
		s.sendDue(requests, func(e schemas.WebhookEvent) {
			s.open <- struct{}{}
			sending.Go(func() {
				defer func() { <-s.open }()
				s.deliver(requests, e)
			})
		})
		if ended {
			break
		}
		select {
		case <-tick.C:
		case <-s.news:
		case <-ctx.Done():
		}
	}
	late := time.AfterFunc(lastWords, cancel)
	defer late.Stop()
	sending.Wait()
}

// sendDue claims the due events that no other process has claimed, and passes them on.
func (s *Sender) sendDue(ctx context.Context, send func(schemas.WebhookEvent)) {
	free := cap(s.open) - len(s.open)
	if free == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeFor)
	defer cancel()
	now := time.Now().Truncate(time.Millisecond)
	due, err := s.cfg.Store.DueEvents(ctx, s.cfg.Hook, now, free)
	for _, e := range due {
		from := e.Next
		e.Next = now.Add(2 * oneTry)
		mine, moveErr := s.cfg.Store.MoveEvent(ctx, e.ID, from, e.Next)
		if err = errors.Join(err, moveErr); mine {
			send(e)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("the events for the webhook cannot be read; retrying", "error", err)
	}
}

func (s *Sender) fail(err error) {
	s.cfg.Count("failed")
	s.cfg.Logger.Error("an event could not be delivered to the webhook", "error", err)
}

// deliver tries to deliver an event, and says when it is tried again. ctx ends with the process.
func (s *Sender) deliver(ctx context.Context, e schemas.WebhookEvent) {
	fault := s.try(ctx, e.ID, e.Body)
	now := time.Now().Truncate(time.Millisecond)
	age := now.Sub(e.Created)
	next := now.Add(min(max(age, firstPause), lastPause))
	if ctx.Err() != nil {
		next = now // another process need not wait
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	var err error
	if fault == nil || ctx.Err() == nil && next.Sub(e.Created) > tryFor {
		err = s.end(store, e, fault)
	} else {
		_, err = s.cfg.Store.MoveEvent(store, e.ID, e.Next, next)
	}
	if err != nil { // the claim on it ends
		s.cfg.Logger.Warn("an event for the webhook will be sent once more", "id", e.ID, "error", err)
	}
}

// end says that an event was delivered, or that it is given up because of a fault, and drops it.
func (s *Sender) end(ctx context.Context, e schemas.WebhookEvent, fault error) error {
	if err := s.cfg.Ended(ctx, e, fault == nil); err != nil {
		return err
	}
	if fault == nil {
		s.cfg.Count("delivered")
	} else {
		s.fail(fault)
	}
	return s.cfg.Store.DropEvent(ctx, e.ID)
}

// try makes one request.
func (s *Sender) try(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "molar")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", at)
	r.Header.Set("Webhook-Signature", sign(s.cfg.Key, id, at, body))
	answer, err := s.cfg.Client.Do(r)
	if err != nil {
		return fmt.Errorf("post: %w", hidden(err))
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<10)
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %s", answer.Status)
	}
	return nil
}

// hidden returns an error without the address, which may hold a secret.
func hidden(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// sign returns the signature of an event.
func sign(key []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, at)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
