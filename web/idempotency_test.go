package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
	"molar/web/turns"
)

// memoryKeys is a KeyStore that outlives a handler, as a database does.
type memoryKeys struct {
	mu   sync.Mutex
	keys map[string]schemas.KeyRecord
}

func (m *memoryKeys) ClaimKey(_ context.Context, k schemas.KeyRecord) (schemas.KeyRecord, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.keys[k.Owner+"/"+k.Key]; ok {
		return found, false, nil
	}
	if m.keys == nil {
		m.keys = make(map[string]schemas.KeyRecord)
	}
	m.keys[k.Owner+"/"+k.Key] = k
	return k, true, nil
}

func (m *memoryKeys) SetKey(_ context.Context, k schemas.KeyRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[k.Owner+"/"+k.Key] = k
	return nil
}

func (m *memoryKeys) TakeKey(_ context.Context, k schemas.KeyRecord, before string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys[k.Owner+"/"+k.Key].TurnID != before {
		return false, nil
	}
	m.keys[k.Owner+"/"+k.Key] = k
	return true, nil
}

func (m *memoryKeys) ReleaseKey(_ context.Context, owner, key, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, owner+"/"+key)
	return nil
}

// counting returns a script that counts the turns that it plays.
func counting(n *atomic.Int64, err error, events ...answer.Event) script {
	return func(ctx context.Context, t agent.Turn, yield func(answer.Event) bool) error {
		n.Add(1)
		return play(err, events...)(ctx, t, yield)
	}
}

// postKey sends a body with an Idempotency-Key, as an owner.
func postKey(h http.Handler, owner, key, body string) (status int, answer string) {
	r := request(http.MethodPost, "/v1/chat/completions", body)
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("X-Who", owner)
	w := serve(h, r)
	return w.Code, w.Body.String()
}

func keyed(t *testing.T, keys turns.KeyStore, run turns.Runner) (http.Handler, *turns.Set) {
	cfg := config(t, run)
	cfg.Keys, cfg.Turns = keys, turns.NewSet(nil, nil)
	cfg.Owner = func(r *http.Request) string { return r.Header.Get("X-Who") }
	return build(t, cfg), cfg.Turns
}

// A key replays the finished answer: in the same process, after a restart, as a stream or whole,
// and never for another body or another owner.
func TestIdempotency_RepeatsTheAnswer(t *testing.T) {
	for name, keys := range map[string]turns.KeyStore{"with a store": &memoryKeys{}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			h, turns := keyed(t, keys, counting(&ran, nil, start(), toolCall(), toolResult(), text("a"), done()))
			whole, stream := `{`+question+`}`, `{"stream":true,`+question+`}`
			status, first := postKey(h, "ann", "k", whole)
			if status != 200 || ran.Load() != 1 {
				t.Fatalf("%d %s, %d turns", status, first, ran.Load())
			}
			if status, again := postKey(h, "ann", "k", whole); status != 200 || again != first || ran.Load() != 1 {
				t.Errorf("again: %d %s, %d turns; first %s", status, again, ran.Load(), first)
			}
			if status, body := postKey(h, "ann", "k", stream); status != 422 || !strings.Contains(body, "idempotency_key_reused") || ran.Load() != 1 {
				t.Errorf("another body: %d %s", status, body)
			}
			if status, _ := postKey(h, "bob", "k", stream); status != 200 || ran.Load() != 2 {
				t.Errorf("another owner: %d, %d turns", status, ran.Load())
			}
			turns.Drain(t.Context())
			if keys == nil {
				return
			}
			h, turns = keyed(t, keys, counting(&ran, nil, start(), text("other"), done()))
			if status, body := postKey(h, "ann", "k", stream); status != 422 {
				t.Errorf("another body after a restart: %d %s", status, body)
			}
			if status, again := postKey(h, "ann", "k", whole); status != 200 || again != first || ran.Load() != 2 {
				t.Errorf("after a restart: %d %s, %d turns; first %s", status, again, ran.Load(), first)
			}
			if status, body := postKey(h, "bob", "k", stream); status != 200 || !strings.HasSuffix(body, "data: [DONE]\n\n") || ran.Load() != 2 {
				t.Errorf("a stream after a restart: %d %s", status, body)
			}
			turns.Drain(t.Context())
		})
	}
}

// A request with the key of a running turn follows that turn.
func TestIdempotency_FollowsTheRunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		gate := make(chan struct{})
		h, turns := keyed(t, &memoryKeys{}, script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			ran.Add(1)
			yield(start())
			yield(text("a"))
			<-gate
			yield(text("b"))
			yield(done())
			return nil
		}))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if status, body := postKey(h, "", "k", `{`+question+`}`); status != 200 || !strings.Contains(body, `"content":"ab"`) {
					t.Errorf("%d %s", status, body)
				}
			})
			synctest.Wait()
		}
		close(gate)
		wg.Wait()
		turns.Drain(t.Context())
		if ran.Load() != 1 {
			t.Errorf("%d turns ran", ran.Load())
		}
	})
}

// After a turn that failed before any tool ran, the request may be sent again; the failure of one
// whose tool ran is replayed for ever.
func TestIdempotency_Failures(t *testing.T) {
	keys := &memoryKeys{}
	down := fault(providers.KindUnavailable)
	var ran atomic.Int64
	h, turns := keyed(t, keys, counting(&ran, down, start()))
	for want := int64(1); want < 3; want++ {
		if status, body := postKey(h, "", "early", `{`+question+`}`); status != 503 || ran.Load() != want {
			t.Errorf("try %d: %d %s, %d turns", want, status, body, ran.Load())
		}
		turns.Drain(t.Context())
		h, turns = keyed(t, keys, counting(&ran, down, start()))
	}
	turns.Drain(t.Context())
	ran.Store(0)
	for range 3 { // each time after a restart
		h, turns = keyed(t, keys, counting(&ran, down, start(), toolCall()))
		if status, body := postKey(h, "", "late", `{`+question+`}`); status != http.StatusBadRequest {
			t.Errorf("%d %s", status, body)
		}
		turns.Drain(t.Context())
	}
	if ran.Load() != 1 {
		t.Errorf("the tool's turn ran %d times", ran.Load())
	}
}

// After a crash of the host when a tool had run, the key runs no further turn.
func TestIdempotency_LostTurn(t *testing.T) {
	keys := &memoryKeys{}
	var ran atomic.Int64
	h, turns := keyed(t, lostStore{keys}, counting(&ran, nil, start(), toolCall(), text("a"), done()))
	postKey(h, "", "k", `{`+question+`}`)
	turns.Drain(t.Context())
	h, turns = keyed(t, keys, counting(&ran, nil, start(), done()))
	if status, body := postKey(h, "", "k", `{`+question+`}`); status != http.StatusBadRequest || !strings.Contains(body, "turn_lost") || ran.Load() != 1 {
		t.Errorf("%d %s, %d turns", status, body, ran.Load())
	}
	turns.Drain(t.Context())
}

// lostStore is a store that fails to store outcomes, as if the host had crashed before.
type lostStore struct{ *memoryKeys }

func (l lostStore) SetKey(ctx context.Context, k schemas.KeyRecord) error {
	if len(k.Outcome) > 0 {
		return errors.New("killed")
	}
	return l.memoryKeys.SetKey(ctx, k)
}

// lockedKeys is a store of keys that does not answer.
type lockedKeys struct{ memoryKeys }

func (*lockedKeys) ClaimKey(ctx context.Context, _ schemas.KeyRecord) (schemas.KeyRecord, bool, error) {
	<-ctx.Done()
	return schemas.KeyRecord{}, false, ctx.Err()
}

// A turn waits for the store of keys as long as for that of conversations.
func TestIdempotency_Locked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := keyed(t, &lockedKeys{}, play(nil, start(), text("a"), done()))
		began := time.Now()
		if status, body := postKey(h, "", "k", `{`+question+`}`); status != http.StatusServiceUnavailable || time.Since(began) != 2*time.Second {
			t.Errorf("%d after %v: %s", status, time.Since(began), body)
		}
	})
}
