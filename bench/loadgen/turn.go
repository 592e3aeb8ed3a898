// Package loadgen drives chat endpoints and measures them from outside: times and
// faults of each turn, CPU and memory of the server process. It owns the
// measuring and the arithmetic; starting servers is not its business, and it must
// know no server from inside.
package loadgen

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A Target is a server under load.
type Target struct {
	// Name heads its column.
	Name string
	// URL is the full address of its chat endpoint.
	URL string
	// PID is its process, for CPU and memory; 0 leaves them out.
	PID int
	// Key is sent as a bearer token when it is not empty.
	Key string
}

// A Question is what every turn asks.
type Question struct {
	// Model is the OpenAI model, which is an assistant's name at a host.
	Model string
	Text  string
	// Stateless sends an earlier exchange along, so that a host saves nothing.
	Stateless bool
	// Tokens is how many tokens of the fake model the answer must hold; 0 does not
	// check.
	Tokens int
	// Timeout bounds a turn; 0 means 60 s.
	Timeout time.Duration
}

// A Sample is one turn as its client saw it.
type sample struct {
	// First is the time to the first content, Total the one to the end, Gap the
	// longest pause between two pieces of content.
	First, Total, Gap time.Duration
	// Stray is how many tokens of another turn the answer held.
	Stray int
	// Err is why the turn counts as failed.
	Err error
}

type wireMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (q Question) body(tag string) ([]byte, error) {
	messages := []wireMessage{{"user", q.Text + " tag=" + tag}}
	if q.Stateless {
		messages = append([]wireMessage{{"user", "hello"}, {"assistant", "Hello."}}, messages...)
	}
	return json.Marshal(map[string]any{"model": q.Model, "stream": true, "messages": messages})
}

// ask runs one turn. The tag must be unlike that of every other turn of the run.
func ask(ctx context.Context, client *http.Client, target Target, q Question, tag string) sample {
	timeout := q.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := q.body(tag)
	if err != nil {
		return sample{Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		return sample{Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if target.Key != "" {
		req.Header.Set("Authorization", "Bearer "+target.Key)
	}
	begin := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return sample{Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return sample{Err: fmt.Errorf("status %s: %s", resp.Status, said)}
	}
	s, text := readStream(resp.Body, begin)
	good, stray := countTokens(text, tag)
	s.Stray = stray
	if s.Err == nil && q.Tokens > 0 && good != q.Tokens {
		s.Err = fmt.Errorf("the answer holds %d tokens of its own, want %d", good, q.Tokens)
	}
	return s
}

type event struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// readStream reads an OpenAI stream to its end and returns its whole text.
func readStream(body io.Reader, begin time.Time) (sample, string) {
	var (
		s              sample
		text           strings.Builder
		last           time.Time
		finished, done bool
	)
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 2048), 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			done = true
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			s.Err = fmt.Errorf("chunk %q: %w", data, err)
			return s, ""
		}
		if e.Error != nil {
			s.Err = errors.New(e.Error.Message)
			return s, text.String()
		}
		for _, c := range e.Choices {
			finished = finished || c.FinishReason != nil
			if c.Delta.Content == "" {
				continue
			}
			now := time.Now()
			if s.First == 0 {
				s.First = now.Sub(begin)
			} else {
				s.Gap = max(s.Gap, now.Sub(last))
			}
			last = now
			text.WriteString(c.Delta.Content)
		}
	}
	s.Total = time.Since(begin)
	switch {
	case lines.Err() != nil:
		s.Err = lines.Err()
	case !finished || !done:
		s.Err = fmt.Errorf("the stream ended early: finish_reason %t, [DONE] %t", finished, done)
	case s.First == 0:
		s.Err = errors.New("the answer is empty")
	}
	return s, text.String()
}

// countTokens counts the fake model's tokens ("tok7:TAG") in a text: those of the
// tag, and those of any other.
func countTokens(text, tag string) (good, stray int) {
	for word := range strings.FieldsSeq(text) {
		number, of, tagged := strings.Cut(word, ":")
		switch {
		case !tagged || !strings.HasPrefix(number, "tok"):
		case of == tag:
			good++
		default:
			stray++
		}
	}
	return good, stray
}
