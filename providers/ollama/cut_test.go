package ollama_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/providers"
	"molar/providers/ollama"
)

// A connection that breaks is an error after what had come, never a short answer.
func TestStream_BrokenConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent, text string
	}{
		"before the first line": {"", ""},
		"after a line":          {say("a") + "\n", "a"},
		"within a line":         {say("a") + "\n" + say("b")[:20], "a"},
		"within the last line":  {say("a") + "\n" + end[:10], "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(c.sent))
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			a := ask(t.Context(), newProvider(t, ollama.Config{BaseURL: f.url, HTTPClient: client(t)}), question("hi"))
			if providers.KindOf(a.err) != providers.KindIncomplete || a.text != c.text || a.finish != "" || a.afterError {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// The server is let go within a second of the client's leaving, also while it has
// not begun to answer.
func TestStream_LeavesWithinASecond(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"before the answer": "", "in the answer": say("a") + "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, gone := make(chan struct{}), make(chan time.Time, 1)
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					_, _ = w.Write([]byte(first))
					_ = http.NewResponseController(w).Flush()
				}
				close(begun)
				<-r.Context().Done()
				gone <- time.Now()
			})
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan time.Time, 1)
			go func() {
				<-begun
				left <- time.Now()
				leave()
			}()
			a := ask(ctx, newProvider(t, ollama.Config{BaseURL: f.url, HTTPClient: client(t)}), question("hi"))
			if a.err == nil || !strings.Contains(a.err.Error(), "cancel") {
				t.Errorf("got %+v", a)
			}
			if took := (<-gone).Sub(<-left); took > time.Second {
				t.Errorf("the server was told after %v", took)
			}
		})
	}
}
