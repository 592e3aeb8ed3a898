package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
)

// stamped records the time of each flush and the text written before it.
type stamped struct {
	*httptest.ResponseRecorder
	begun time.Time
	at    []string
	sent  int
}

func (s *stamped) FlushError() error {
	s.at = append(s.at, fmt.Sprintf("%v %q", time.Since(s.begun), s.Body.String()[s.sent:]))
	s.sent = s.Body.Len()
	return nil
}

func TestChat_KeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			time.Sleep(26 * time.Second)
			yield(text("a"))
			time.Sleep(12 * time.Second)
			yield(done())
			time.Sleep(30 * time.Second) // events of a turn after its end must not be added to the stream
			return nil
		}))
		w := &stamped{ResponseRecorder: httptest.NewRecorder(), begun: time.Now()}
		h.ServeHTTP(w, request(http.MethodPost, "/v1/chat/completions", `{"stream":true,`+question+`}`))
		want := []string{`1s ": ok`, `11s ": keep-alive`, `21s ": keep-alive`, `26s "data: `, `36s ": keep-alive`, `38s "data: `}
		if len(w.at) != len(want) {
			t.Fatalf("%d flushes, want %d: %s", len(w.at), len(want), strings.Join(w.at, "\n"))
		}
		for i := range want {
			if !strings.HasPrefix(w.at[i], want[i]) {
				t.Errorf("flush %d: %s, want %s…", i, w.at[i], want[i])
			}
		}
	})
}

func TestChat_HoldsHeadersForTheStatus(t *testing.T) {
	for wait, want := range map[time.Duration]int{900 * time.Millisecond: 503, 1100 * time.Millisecond: 200} {
		synctest.Test(t, func(t *testing.T) {
			h := handler(t, script(func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
				yield(start())
				yield(answer.Event{Kind: answer.KindStep, Step: "2.1", Text: "x"})
				time.Sleep(wait)
				return agent.ErrUnavailable
			}))
			w := post(h, `{"stream":true,"molar":{"events":true},`+question+`}`)
			if w.Code != want || !strings.Contains(w.Body.String(), `"code":"server_unavailable"`) {
				t.Errorf("error after %v: %d %s", wait, w.Code, w.Body)
			}
		})
	}
}

func TestChat_ClientLeaves(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		cancelled := make(chan time.Time, 1)
		running := make(chan struct{})
		ts := live(t, config(t, script(func(ctx context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			yield(text("a"))
			close(running)
			<-ctx.Done()
			cancelled <- time.Now()
			return ctx.Err()
		})))
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.URL+"/v1/chat/completions", strings.NewReader(`{"stream":`+stream+`,`+question+`}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if resp, err := ts.Client().Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		<-running
		left := time.Now()
		leave()
		if took := (<-cancelled).Sub(left); took > 100*time.Millisecond {
			t.Errorf("stream %s: turn cancelled after %v", stream, took)
		}
		<-ended
	}
}

// Text is sent at once, not when the answer is complete.
func TestChat_TextLeavesAsItComes(t *testing.T) {
	next := make(chan struct{})
	ts := live(t, config(t, script(func(ctx context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
		yield(start())
		for i := range 5 {
			yield(text(fmt.Sprint("word", i)))
			select {
			case <-next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		yield(done())
		return nil
	})))
	resp, err := ts.Client().Post(ts.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true,`+question+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines, seen := bufio.NewScanner(resp.Body), 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), fmt.Sprint("word", seen)) {
			seen++
			next <- struct{}{}
		}
	}
	if seen != 5 {
		t.Errorf("saw %d of 5 words", seen)
	}
}

func TestChat_StreamsDoNotMix(t *testing.T) {
	const streams, words = 64, 50
	ts := live(t, config(t, script(func(_ context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		said, _ := turn.Question()
		yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: turn.ID, ConversationID: "c-" + said}})
		for range words {
			if !yield(text(said + " ")) {
				return nil
			}
		}
		yield(done())
		return nil
	})))
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			name := fmt.Sprint("s", i)
			resp, err := ts.Client().Post(ts.URL+"/v1/chat/completions", "application/json",
				strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"`+name+`"}]}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
			}
			if content, _, _ := readStream(t, string(body)); content != strings.Repeat(name+" ", words) {
				t.Errorf("stream %s holds %q", name, content)
			}
		})
	}
	wg.Wait()
	ts.Client().CloseIdleConnections()
}
