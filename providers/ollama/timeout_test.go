package ollama_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/ollama"
)

// paced is a body that sends a piece after each pause and then falls silent, until
// the request ends.
func paced(ctx context.Context, pause time.Duration, pieces ...string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for _, piece := range pieces {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			if _, err := io.WriteString(w, piece+"\n"); err != nil {
				return
			}
		}
		<-ctx.Done()
		w.CloseWithError(ctx.Err())
	}()
	return r
}

func TestStream_Timeouts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  func(*http.Request) *http.Response
		kind  providers.Kind
		took  time.Duration
		said  string
		tools bool
	}{
		"nothing at all": {func(*http.Request) *http.Response { return nil }, providers.KindTimeout, 180 * time.Second, "", false},
		"headers only":   {func(r *http.Request) *http.Response { return ok(paced(r.Context(), 0)) }, providers.KindTimeout, 180 * time.Second, "", false},
		"stalled": {
			func(r *http.Request) *http.Response { return ok(paced(r.Context(), time.Minute, say("a"))) },
			providers.KindTimeout, 80 * time.Second, "a", false,
		},
		"stalled after text, with tools": {
			func(r *http.Request) *http.Response { return ok(paced(r.Context(), time.Minute, say("a"))) },
			providers.KindTimeout, 80 * time.Second, "a", true,
		},
		"stalled in a call": {
			func(r *http.Request) *http.Response { return ok(paced(r.Context(), time.Minute, say(" "))) },
			providers.KindTimeout, 180 * time.Second, "", true,
		},
		"a call takes its time": {
			func(r *http.Request) *http.Response {
				return ok(paced(r.Context(), 119*time.Second, say(" "), toolCall("w__get_weather", "{}"), end))
			}, "", 357*time.Second + 250*time.Millisecond, "", true,
		},
		"slow but steady": {func(r *http.Request) *http.Response {
			return ok(paced(r.Context(), 19*time.Second, say("a"), say("b"), say("c"), say("d"), end))
		}, "", 95*time.Second + 250*time.Millisecond, "abcd", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: wire(c.body)}})
				start := time.Now()
				req := question("hi")
				if c.tools {
					req.Tools = weather()
				}
				a := ask(t.Context(), p, req)
				if providers.KindOf(a.err) != c.kind || a.text != c.said || time.Since(start) != c.took {
					t.Errorf("got %+v after %v; want kind %q after %v", a, time.Since(start), c.kind, c.took)
				}
			})
		})
	}
}

func TestStream_ASlowConsumerIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
			return ok(paced(r.Context(), 0, say("a"), say("b"), end))
		})}})
		for _, err := range p.Stream(t.Context(), question("hi")) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A server that hangs after a client has left is made to load the model anew; one
// that is slow without such a cause is left alone.
func TestStream_UnloadsAModelThatHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave bool
		want  string
	}{
		"after a cut":  {true, "chat chat unload ps"},
		"after an end": {false, "chat chat"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hanging{answer: say("a") + "\n" + say("b") + "\n" + end + "\n"}
				p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: h}})
				for _, err := range p.Stream(t.Context(), question("hi")) {
					if err != nil {
						t.Fatal(err)
					}
					if c.leave {
						break
					}
				}
				if a := ask(t.Context(), p, question("hi")); providers.KindOf(a.err) != providers.KindTimeout {
					t.Errorf("got %+v", a)
				}
				if got := strings.Join(h.seen, " "); got != c.want {
					t.Errorf("requests %q, want %q", got, c.want)
				}
			})
		})
	}
}

// hanging is a server that answers one chat and then hangs.
type hanging struct {
	answer string
	seen   []string
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/show"):
		return ok(body(toolModel)), nil
	case strings.HasSuffix(r.URL.Path, "/ps"):
		if slices.Contains(h.seen, "unload") { // before that it only asks for the window
			h.seen = append(h.seen, "ps")
		}
		return ok(body(`{"models":[]}`)), nil
	}
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(sent), `"keep_alive":"0s"`) {
		h.seen = append(h.seen, "unload")
		return ok(body(`{"done":true,"done_reason":"unload"}`)), nil
	}
	if h.seen = append(h.seen, "chat"); len(h.seen) == 1 {
		return ok(body(h.answer)), nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}
