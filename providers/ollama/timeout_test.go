package ollama_test

import (
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

// While the server collects a call it is silent: it sends a call whole.
func TestStream_WaitsForACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause  time.Duration
		pieces []string
		kind   providers.Kind
		took   time.Duration
		said   string
	}{
		"stalled after text": {time.Minute, []string{say("a")}, providers.KindTimeout, 80 * time.Second, "a"},
		"stalled in a call":  {time.Minute, []string{say(" ")}, providers.KindTimeout, 180 * time.Second, ""},
		"it takes its time":  {119 * time.Second, []string{say(" "), toolCall("w__get_weather", "{}"), end}, "", 357*time.Second + 250*time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
					body, w := io.Pipe()
					go func() {
						for _, piece := range c.pieces {
							time.Sleep(c.pause)
							_, _ = io.WriteString(w, piece+"\n")
						}
						<-r.Context().Done()
						w.CloseWithError(r.Context().Err())
					}()
					return ok(body)
				})}})
				start := time.Now()
				req := question("hi")
				req.Tools = weather()
				a := ask(t.Context(), p, req)
				if providers.KindOf(a.err) != c.kind || a.text != c.said || time.Since(start) != c.took {
					t.Errorf("got %+v after %v; want kind %q after %v", a, time.Since(start), c.kind, c.took)
				}
			})
		})
	}
}

// A server that hangs after a client disconnected is made to load the model again; one that is
// slow without such a cause is not.
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
		if slices.Contains(h.seen, "unload") { // earlier ones only ask for the window
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
