package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A tireless model speaks OpenAI's wire. It answers a question about "tag-N" word by
// word until its caller leaves, and tells when that was; one about a flood without a
// pause; any other with three words.
type tireless struct {
	mu      sync.Mutex
	left    map[string]chan time.Time
	flooded atomic.Int64 // words of all floods
}

func (m *tireless) gone(tag string) chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left[tag] == nil {
		m.left[tag] = make(chan time.Time, 4)
	}
	return m.left[tag]
}

func (m *tireless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(text, finish string) error {
		_, err := fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%s}]}\n\n", text, finish)
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		return err
	}
	tag := regexp.MustCompile(`tag-\d+`).FindString(string(body))
	pause := 5 * time.Millisecond
	switch {
	case strings.Contains(string(body), "a flood"):
		pause = 0
	case tag == "":
		for _, word := range []string{"one\n", "two ", "three"} {
			_ = say(word, "null")
		}
		_ = say("", `"stop"`)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
		return
	}
	text := "word\n"
	if pause == 0 {
		text = strings.Repeat("flood ", 1000) + "\n"
	}
	for r.Context().Err() == nil && say(text, "null") == nil {
		if pause == 0 {
			m.flooded.Add(1)
		}
		if pause > 0 {
			select {
			case <-r.Context().Done():
			case <-time.After(pause):
			}
		}
	}
	if tag != "" {
		m.gone(tag) <- time.Now()
	}
}

func serveTireless(t *testing.T) (*served, *tireless) {
	t.Helper()
	model := &tireless{left: map[string]chan time.Time{}}
	upstream := httptest.NewServer(model)
	t.Cleanup(upstream.Close)
	return serveIn(t, homeEnv(t, nil), writeFile(t, "molar.yaml", `
default: plain
llm: {provider: openai, openai: {base_url: "`+upstream.URL+`/v1", model: m}}
assistants: {plain: {description: x}}
memory: {store: ./molar.db}
telemetry: {log_level: error}
`)), model
}

// open asks a question as a stream and returns it at its first content.
func (s *served) open(ctx context.Context, question string) (io.ReadCloser, error) {
	body := fmt.Sprintf(`{"stream":true,"messages":[{"role":"user","content":%q}]}`, question)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"content":"`) && !strings.Contains(lines.Text(), `"content":""`) {
			return res.Body, nil
		}
	}
	_ = res.Body.Close()
	return nil, fmt.Errorf("no content: %w", lines.Err())
}

// A client that leaves stops the model's call. The log gives how fast; the bound is wide
// for busy machines.
func TestServe_ClientLeaves(t *testing.T) {
	s, model := serveTireless(t)
	const clients = 100
	took := make([]time.Duration, clients)
	var running sync.WaitGroup
	slots := make(chan struct{}, 10)
	for i := range clients {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			tag := fmt.Sprintf("tag-%d", i)
			stream, err := s.open(ctx, "tell me about "+tag)
			if err != nil {
				t.Error(err)
				return
			}
			at := time.Now()
			leave()
			_ = stream.Close()
			select {
			case gone := <-model.gone(tag):
				took[i] = gone.Sub(at)
			case <-time.After(patience):
				t.Errorf("%s: the model still speaks after %s", tag, patience)
			}
		})
	}
	running.Wait()
	slices.Sort(took)
	t.Logf("client gone to model cancelled: p50 %s, p99 %s", took[clients/2], took[clients-2])
	if took[clients-2] > 2*time.Second {
		t.Errorf("p99 %s", took[clients-2])
	}
}

// A client that does not read holds its model's call up, and costs the others nothing.
func TestServe_SlowReader(t *testing.T) {
	long(t, "a flood of text is read for seconds")
	s, model := serveTireless(t)
	rounds := func() time.Duration {
		var took []time.Duration
		for range 20 {
			at := time.Now()
			stream, err := s.open(t.Context(), "how are you?")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, stream); err != nil {
				t.Fatal(err)
			}
			_ = stream.Close()
			took = append(took, time.Since(at))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	before := rounds()
	for range 5 {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		stream, err := s.open(ctx, "tell me of a flood")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	last := int64(0)
	eventually(t, "the floods stand still", func() bool {
		before := last
		last = model.flooded.Load()
		time.Sleep(50 * time.Millisecond) // a flood that goes on adds thousands
		return before > 0 && before == last
	})
	beside := rounds()
	t.Logf("a turn takes %s, beside five clients that do not read %s", before, beside)
	if beside > 10*before+time.Second {
		t.Errorf("a turn takes %s beside slow readers, %s without", beside, before)
	}
}
