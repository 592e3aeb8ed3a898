package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/telemetry/webhook"
	"molar/schemas"
)

// events is a store that several senders share.
type events struct {
	mu  sync.Mutex
	all map[string]schemas.WebhookEvent
}

func (s *events) PutEvent(_ context.Context, e schemas.WebhookEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]schemas.WebhookEvent{}
	}
	s.all[e.ID] = e
	return nil
}

func (s *events) DueEvents(_ context.Context, hook string, now time.Time, limit int) (due []schemas.WebhookEvent, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.all {
		if e.Hook == hook && !e.Next.After(now) && len(due) < limit {
			due = append(due, e)
		}
	}
	return due, nil
}

func (s *events) MoveEvent(_ context.Context, id string, from, to time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.all[id]
	if ok = ok && e.Next.Equal(from); ok {
		e.Next = to
		s.all[id] = e
	}
	return ok, nil
}

func (s *events) DropEvent(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	return nil
}

// run runs a sender until the returned func is called.
func run(t *testing.T, s *webhook.Sender) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// receiver answers requests with a status, and remembers them.
type receiver struct {
	mu     sync.Mutex
	status func(n int) int
	ids    []string
	signed int
	body   string
	key    string
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, _ := io.ReadAll(q.Body)
	id, at := q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, []byte(r.key))
	mac.Write([]byte(id + "." + at + "." + string(body)))
	if q.Header.Get("webhook-signature") == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		r.signed++
	}
	r.ids, r.body = append(r.ids, id), string(body)
	status := r.status(len(r.ids))
	if status == 0 {
		return nil, errors.New("nobody answers")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader("")), Request: q}, nil
}

// seen returns the ids of the requests so far.
func (r *receiver) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// An event is signed, keeps its id while it is tried again, and is given up after an hour.
func TestSender(t *testing.T) {
	for _, tt := range []struct {
		name    string
		status  func(n int) int
		least   int
		outcome string
		within  time.Duration
	}{
		{"taken at once", func(int) int { return 204 }, 1, "delivered", 0},
		{"taken at the fourth try", func(n int) int { return map[bool]int{true: 200, false: 503}[n == 4] }, 4, "delivered", 7 * time.Second},
		{"nobody answers", func(int) int { return 0 }, 12, "failed", time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &receiver{status: tt.status, key: "a key of twenty-four bytes"}
				outcomes := make(chan string, 1)
				kept := new(events)
				s, err := webhook.New(webhook.Config{
					Hook: "approvals", URL: "https://chat.example/hook", Key: []byte(to.key), Store: kept, Client: &http.Client{Transport: to}, Count: func(o string) { outcomes <- o },
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := run(t, s)
				began := time.Now()
				s.Send(t.Context(), "bob", "approval.requested", map[string]string{"tool": "reset"})
				if got := <-outcomes; got != tt.outcome || time.Since(began) > tt.within {
					t.Errorf("%s after %v", got, time.Since(began))
				}
				stop()
				if len(kept.all) > 0 {
					t.Errorf("%v is kept", kept.all)
				}
				if len(to.ids) < tt.least || to.signed != len(to.ids) {
					t.Errorf("%d requests, %d signed", len(to.ids), to.signed)
				}
				for _, id := range to.ids {
					if id != to.ids[0] || id == "" {
						t.Errorf("ids %q", to.ids)
					}
				}
				var e struct {
					Type string
					Data struct{ Tool string }
				}
				if err := json.Unmarshal([]byte(to.body), &e); err != nil || e.Type != "approval.requested" || e.Data.Tool != "reset" {
					t.Errorf("%s: %v", to.body, err)
				}
			})
		})
	}
}

// What an event was about is told how it ended before the event leaves the store. If that fails, the event is sent
// and told once more. An event of another hook is left alone.
func TestSender_Ended(t *testing.T) {
	for _, tt := range []struct {
		name      string
		status    int
		delivered bool
		within    time.Duration
	}{{"delivered", 204, true, time.Minute}, {"given up", 503, false, time.Hour + time.Minute}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &receiver{key: "k", status: func(int) int { return tt.status }}
				kept := new(events)
				var ended []string
				again := make(chan bool, 9)
				s, err := webhook.New(webhook.Config{
					Hook: "handover", URL: "https://desk.example", Key: []byte("k"), Store: kept, Client: &http.Client{Transport: to},
					Ended: func(_ context.Context, e schemas.WebhookEvent, delivered bool) error {
						if ended = append(ended, e.ID); delivered != tt.delivered {
							t.Errorf("delivered: %v", delivered)
						}
						if again <- true; len(ended) == 1 {
							return errors.New("the store is locked")
						}
						return nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer run(t, s)()
				began := time.Now()
				e, err := s.Event("visitor:1", "handover.requested", nil)
				if err == nil {
					err = kept.PutEvent(t.Context(), e) // beside what it is about
				}
				if err == nil {
					err = kept.PutEvent(t.Context(), schemas.WebhookEvent{ID: "msg_other", Hook: "approvals", Created: began, Next: began})
				}
				if err != nil {
					t.Fatal(err)
				}
				<-again
				<-again
				if time.Since(began) > tt.within {
					t.Errorf("after %v", time.Since(began))
				}
				synctest.Wait()
				if len(kept.all) != 1 || kept.all["msg_other"].ID == "" || !slices.Equal(ended, []string{e.ID, e.ID}) {
					t.Errorf("kept %v, ended %q", kept.all, ended)
				}
			})
		})
	}
}

// When a sender ends, it soon gives up a request that is on its way, and what it has not delivered is sent
// by another one, under the same id.
func TestSender_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := new(events)
		sender := func(to http.RoundTripper, outcomes *[]string) *webhook.Sender {
			s, err := webhook.New(webhook.Config{
				Hook: "approvals", URL: "https://chat.example", Key: []byte("k"), Store: kept, Client: &http.Client{Transport: to}, Count: func(o string) { *outcomes = append(*outcomes, o) },
			})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		var first, second []string
		busy, hangs := &receiver{key: "k", status: func(int) int { return 500 }}, make(silent, 1)
		s := sender(hangs, &first)
		stop := run(t, s)
		s.Send(t.Context(), "bob", "approval.requested", nil)
		asked := <-hangs
		began := time.Now()
		stop()
		if time.Since(began) > 6*time.Second || len(first) > 0 || len(kept.all) != 1 {
			t.Errorf("%v, %q, %v", time.Since(began), first, kept.all)
		}
		s.Send(t.Context(), "bob", "approval.decided", nil) // after its end
		stop = run(t, sender(busy, &second))
		time.Sleep(4 * time.Second)
		busy.mu.Lock()
		busy.status = func(int) int { return 204 }
		busy.mu.Unlock()
		time.Sleep(time.Minute)
		stop()
		if len(first) > 0 || len(second) != 2 || len(kept.all) != 0 || !slices.Contains(busy.ids, asked) || busy.signed != len(busy.ids) {
			t.Errorf("%q, then %q of %q; kept %v", first, second, busy.ids, kept.all)
		}
	})
}

// Of many senders on one store one sends an event. If that one is gone in the middle of its request, another
// takes over.
func TestSender_OneOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, to := new(events), &receiver{key: "k", status: func(int) int { return 204 }}
		delivered := make(chan string, 9)
		var all []*webhook.Sender
		for range 3 {
			s, err := webhook.New(webhook.Config{Hook: "approvals", URL: "https://chat.example", Key: []byte("k"), Store: kept, Client: &http.Client{Transport: to}, Count: func(o string) { delivered <- o }})
			if err != nil {
				t.Fatal(err)
			}
			defer run(t, s)()
			all = append(all, s)
		}
		for range 5 {
			all[0].Send(t.Context(), "bob", "approval.requested", nil)
		}
		time.Sleep(10 * time.Second)
		if len(to.seen()) != 5 || len(delivered) != 5 {
			t.Errorf("%q", to.seen())
		}
		now := time.Now()
		_ = kept.PutEvent(t.Context(), schemas.WebhookEvent{ID: "msg_lost", Hook: "approvals", Body: []byte("{}"), Created: now, Next: now.Add(30 * time.Second)})
		time.Sleep(29 * time.Second)
		if len(to.seen()) != 5 {
			t.Error("it was sent while another process had it")
		}
		time.Sleep(2 * time.Second)
		if len(to.seen()) != 6 || to.seen()[5] != "msg_lost" {
			t.Errorf("%q", to.seen())
		}
	})
}

// silent never answers, and tells the id of each request.
type silent chan string

func (s silent) RoundTrip(q *http.Request) (*http.Response, error) {
	s <- q.Header.Get("Webhook-Id")
	<-q.Context().Done()
	return nil, q.Context().Err()
}
