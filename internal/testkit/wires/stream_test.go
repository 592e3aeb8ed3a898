package _test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/agent"
	"molar/schemas"
	"molar/web"
)

// tokens is the number of tokens of an answer without a line end, and pause the wait before each.
const tokens, pause = 20, 100 * time.Millisecond

// soon is the longest time for a token from the model server to the client on an idle machine,
// hops the number of programs and goroutines that have to be woken for that, and never the
// timeout of the test.
const soon, hops, never = 50 * time.Millisecond, 10, time.Minute

// Over the web endpoint a client reads each token before the model server writes the next one,
// and right after it was written, from the first on, with and without a round of tools before it.
func TestStream_tokensComeAtOnce(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		for _, tool := range []bool{false, true} {
			t.Run(fmt.Sprintf("tool=%v", tool), func(t *testing.T) {
				t.Parallel()
				c := newTalk(t, w, newDesk(2, found), agent.Limits{})
				url := c.serve(t)
				turns := 10
				if testing.Short() {
					turns = 2
				}
				lateness := watchTimers()
				var first, later []time.Duration
				for i := range turns {
					n := tokens
					if i > 0 {
						n = 2 // of the others only the beginning is measured
					}
					took := c.delays(t, url, n, tool)
					first, later = append(first, took[0]), append(later, took[1:]...)
				}
				limit := soon + hops*lateness()
				if f, l := median(first), median(later); f > limit || l > limit {
					t.Errorf("the first text comes %s after the model's, a later token %s, and not within %s: %v, %v", f, l, limit, first, later)
				}
				t.Logf("first text: median of %d %s, worst %s; %d later tokens: median %s, worst %s",
					len(first), median(first), slices.Max(first), len(later), median(later), slices.Max(later))
			})
		}
	})
}

// watchTimers measures how late the timers of this machine fire, which is how long a runnable
// goroutine waits for a processor. The returned func ends the measurement and returns the median.
func watchTimers() (lateness func() time.Duration) {
	var late []time.Duration
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			begun := time.Now()
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				late = append(late, time.Since(begun)-5*time.Millisecond)
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		<-stopped
		return median(late)
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2].Round(10 * time.Microsecond)
}

// delays runs a turn of n tokens, and returns how long each took to the client.
func (c *talk) delays(t *testing.T, url string, n int, tool bool) []time.Duration {
	t.Helper()
	answer := reply{pause: pause, read: make(chan struct{}, n)}
	var ends []int // where each token ends in the text
	total := 0
	for i := range n {
		answer.pieces = append(answer.pieces, fmt.Sprintf("word%d ", i))
		total += len(answer.pieces[i])
		ends = append(ends, total)
	}
	c.model.setReplies(answer)
	if tool {
		c.model.setReplies(calls("desk__find_0", findArgs), answer)
	}
	body := `{"model":"desk","stream":true,"messages":[{"role":"user","content":"Please tell me of the register."}]}`
	ctx, cancel := context.WithTimeout(t.Context(), never)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	var came []time.Time
	text := ""
	for in := bufio.NewScanner(res.Body); in.Scan(); {
		now := time.Now()
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(in.Text(), "data: "); !ok || json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		for _, choice := range event.Choices {
			text += choice.Delta.Content
		}
		// The space at the end of a token may come with the next one.
		for len(came) < n && len(text) >= ends[len(came)]-1 {
			came = append(came, now)
			answer.read <- struct{}{}
		}
	}
	if want := strings.Join(answer.pieces, ""); strings.TrimSpace(text) != strings.TrimSpace(want) || len(came) != n {
		t.Fatalf("the client read %q, want %q", text, want)
	}
	var took []time.Duration
	for i, wrote := range c.model.written() {
		took = append(took, came[i].Sub(wrote))
	}
	return took
}

// noTraces is an empty store of traces.
type noTraces struct{}

func (noTraces) Trace(context.Context, string, string) (json.RawMessage, bool, error) {
	return nil, false, nil
}

// serve serves the agent on loopback.
func (c *talk) serve(t *testing.T) string {
	t.Helper()
	handler, err := web.New(web.Config{
		Agent: c.agent, Models: func() []schemas.AssistantInfo { return []schemas.AssistantInfo{{Name: "desk"}} },
		Conversations: c.memory, Tools: c.tools, Servers: c.tools, Traces: noTraces{},
		Guard: func(next http.Handler) http.Handler { return next },
	})
	must(t, err)
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv.URL
}
