package _test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"molar/providers"
	"molar/schemas"
)

func question(text string) providers.Request {
	return providers.Request{Model: "gemini-3-flash", Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}}
}

// A client that cancels a stream or stops reading it ends the request at the service.
func TestConnection_leavingEndsTheRequest(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		for _, how := range []string{"cancel", "break"} {
			t.Run(how, func(t *testing.T) {
				m := startModel(t, w)
				m.setReplies(reply{pieces: []string{"a"}, endless: true})
				gone := make(chan struct{})
				srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					m.ServeHTTP(rw, r)
					if r.Context().Err() != nil {
						close(gone)
					}
				}))
				defer srv.Close()
				p, err := w.open(srv.URL, 0)
				must(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var last error
				for _, err := range p.Stream(ctx, question("hi")) {
					last = err
					if how == "break" {
						break
					}
					cancel()
				}
				if how == "cancel" && (!errors.Is(last, context.Canceled) || providers.KindOf(last) != providers.KindIncomplete) {
					t.Errorf("got %v, want a cancelled context", last)
				}
				select {
				case <-gone:
				case <-time.After(20 * time.Second):
					t.Error("the service was not told")
				}
			})
		}
	})
}

// Consecutive calls share one connection.
func TestConnection_isUsedAgain(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		m := startModel(t, w)
		m.setAnswer(func(string) reply { return says("a") })
		var mu sync.Mutex
		addresses := map[string]bool{}
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			mu.Lock()
			addresses[r.RemoteAddr] = true
			mu.Unlock()
			m.ServeHTTP(rw, r)
		}))
		defer srv.Close()
		p, err := w.open(srv.URL, 0)
		must(t, err)
		for range 5 {
			for _, err := range p.Stream(t.Context(), question("hi")) {
				must(t, err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(addresses) != 1 {
			t.Errorf("%d connections for five calls, want 1", len(addresses))
		}
	})
}

// Concurrent calls share one provider; each gets its own answer.
func TestConnection_manyAtOnce(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		m := startModel(t, w)
		asked := regexp.MustCompile(`question [0-9]+`)
		m.setAnswer(func(b string) reply { return says("for ", asked.FindString(b)) })
		p, err := w.open(m.url, 0)
		must(t, err)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				text := fmt.Sprint("question ", i)
				got := ""
				for chunk, err := range p.Stream(t.Context(), question(text)) {
					if err != nil {
						t.Error(err)
					}
					got += chunk.Text
				}
				if got != "for "+text {
					t.Errorf("%q for %q", got, text)
				}
			})
		}
		all.Wait()
	})
}
