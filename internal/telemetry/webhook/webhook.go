// Package webhook sends events to one address by the rules of Standard Webhooks.
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
)

// Times and bounds of a [Sender].
const (
	// tryFor is how long an event is tried again; the pauses grow from firstPause to lastPause.
	tryFor                = time.Hour
	firstPause, lastPause = time.Second, 5 * time.Minute
	// oneTry is the time limit of one request.
	oneTry = 15 * time.Second
	// maxOpen is how many events may be on their way at once.
	maxOpen = 256
	// lastWords is how long Close waits for events that are on their way.
	lastWords = 5 * time.Second
)

// Config configures a [Sender]. URL and Key are required.
type Config struct {
	URL string
	// Key signs the events.
	Key []byte
	// Client nil is one that follows no redirect: the events are for this address alone.
	Client *http.Client
	Logger *slog.Logger
	// Count is called with "delivered" or "failed" at the end of each event; it may be nil.
	Count func(outcome string)
}

// A Sender sends events in the background. It is safe for concurrent use. A nil Sender sends nothing.
type Sender struct {
	cfg    Config
	ctx    context.Context //nolint:containedctx // the life of the sender, which Close ends
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	open   int
	events sync.WaitGroup
}

// An Event is the body of a request.
type Event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// New returns a sender; its owner calls Close.
func New(cfg Config) (*Sender, error) {
	if cfg.URL == "" || len(cfg.Key) == 0 {
		return nil, errors.New("webhook: URL and Key are required")
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
	s := &Sender{cfg: cfg}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Send sends an event in the background and never blocks. What cannot be delivered within an hour is
// logged and counted.
func (s *Sender) Send(kind string, data any) {
	if s == nil {
		return
	}
	body, err := json.Marshal(Event{Type: kind, Timestamp: time.Now().UTC(), Data: data})
	if err != nil {
		s.fail(kind, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.open >= maxOpen {
		s.fail(kind, fmt.Errorf("%d others are on their way", s.open))
		return
	}
	s.open++
	s.events.Go(func() {
		s.deliver(kind, "msg_"+uuid.NewString(), body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	})
}

// Close waits a moment for the events that are on their way, and gives up the others.
func (s *Sender) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	late := time.AfterFunc(lastWords, s.cancel)
	defer late.Stop()
	s.events.Wait()
	s.cancel()
}

func (s *Sender) fail(kind string, err error) {
	s.cfg.Count("failed")
	s.cfg.Logger.Error("an event could not be delivered to the webhook", "type", kind, "error", err)
}

// deliver tries until the receiver takes the event. The id stays the same, so that it can be recognised.
func (s *Sender) deliver(kind, id string, body []byte) {
	began, pause := time.Now(), firstPause
	for {
		err := s.try(id, body)
		if err == nil {
			s.cfg.Count("delivered")
			return
		}
		if s.ctx.Err() != nil || time.Since(began)+pause > tryFor {
			s.fail(kind, err)
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			s.fail(kind, err)
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// try makes one request.
func (s *Sender) try(id string, body []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, oneTry)
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
