package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
)

// writes records the time and the number of chunks of each write.
type writes struct {
	discard
	mu    sync.Mutex
	began time.Time
	seen  []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := strings.Count(string(p), `"content":"word"`); n > 0 {
		w.seen = append(w.seen, fmt.Sprintf("%v %d", time.Since(w.began), n))
	}
	return len(p), nil
}

// The first piece of an answer is written at once. Of pieces that follow too fast, several are
// written together, and none waits longer than a moment, even if the turn sends nothing after it.
func TestStream_JoinsFastText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			for range 20 {
				yield(text("word"))
			}
			time.Sleep(time.Second)
			for range 3 {
				yield(text("word"))
				time.Sleep(30 * time.Millisecond)
			}
			yield(text("word"))
			yield(text("word"))
			yield(done())
			return nil
		})
		w := &writes{discard: discard{header: http.Header{}}, began: time.Now()}
		handler(t, run).ServeHTTP(w, request(http.MethodPost, "/v1/chat/completions", `{"stream":true,`+question+`}`))
		want := []string{"0s 1", "2ms 19", "1s 1", "1.03s 1", "1.06s 1", "1.09s 1", "1.09s 1"}
		if diff := cmp.Diff(want, w.seen); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
