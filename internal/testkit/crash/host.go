package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"molar/internal/sse"
)

// RunHost is [Run] for a whole host. Command returns a child that prints "listens on" and its
// address in its first line, and whose model answers "say X" to "ask X". A turn is reported done
// once its client read finish_reason stop; the content of the host is read over HTTP.
func RunHost(ctx context.Context, cfg Config) (Report, error) { return run(ctx, cfg, startHost) }

// host is a child that is used over HTTP.
type host struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
	output *output
	gone   chan struct{}
	killed atomic.Bool
}

// output stores a child's output, and signals its first line.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	once  sync.Once
	first chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if bytes.IndexByte(o.text.Bytes(), '\n') >= 0 {
		o.once.Do(func() { close(o.first) })
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startHost(ctx context.Context, cmd *exec.Cmd) (session, error) {
	h := &host{
		cmd: cmd, output: &output{first: make(chan struct{})}, gone: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: patience},
	}
	cmd.Stdout, cmd.Stderr = h.output, h.output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(h.gone)
		_ = cmd.Wait() // its output tells how it ended
	}()
	select {
	case <-h.output.first:
	case <-h.gone:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	_, rest, ok := strings.Cut(h.output.String(), "listens on ")
	if !ok {
		return nil, errors.Join(errors.New("the host does not listen"), h.end(func(cmd *exec.Cmd) error { return cmd.Process.Kill() }))
	}
	h.url = strings.Fields(rest)[0]
	return h, nil
}

// begin does nothing: the host opens a turn itself.
func (h *host) begin(context.Context, string, *turn) error { return nil }

// finish asks the question and reads the answer, alternately as a stream.
func (h *host) finish(ctx context.Context, conversation string, t *turn) error {
	stream := t.id[len(t.id)-1]%2 == 0
	body, err := json.Marshal(map[string]any{
		"chat_id": conversation, "stream": stream, "molar": map[string]bool{"events": stream},
		"messages": []message{{Role: "user", Content: "ask " + t.id}},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", t.key)
	res, err := h.client.Do(req)
	if err != nil {
		return h.lost(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "" {
			return fmt.Errorf("%w: %s", errBusy, text) // for example if the earlier process died with a turn under the same key
		}
		return fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	a := &hostAnswer{}
	if stream {
		err = a.readStream(res.Body)
		t.recorded = t.recorded || a.text != ""
	} else {
		err = json.NewDecoder(res.Body).Decode(&a.last)
		a.add()
	}
	if errors.Is(err, errBusy) {
		return err
	}
	// Data that was read counts, even if the child is dead by then.
	if a.done() {
		return a.check(t)
	}
	return h.lost(errors.Join(err, fmt.Errorf("the answer has no end: %+v", *a)))
}

// hostAnswer is an answer as far as it was read.
type hostAnswer struct {
	text, finish string
	saved        bool
	last         chunk
}

// chunk is an answer, or a chunk of one.
type chunk struct {
	Choices []struct {
		Message, Delta message
		FinishReason   string `json:"finish_reason"`
	} `json:"choices"`
	Molar *struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Saved bool   `json:"saved"`
	} `json:"molar"`
	Error *struct {
		Code string `json:"code"`
	} `json:"error"`
}

// readStream reads each chunk as soon as it arrives.
func (a *hostAnswer) readStream(body io.Reader) error {
	for e, err := range sse.Events(body, sse.Config{Limit: 1 << 20}) {
		if err != nil {
			return err
		}
		if e.IsDone() {
			continue
		}
		a.last = chunk{}
		if err := json.Unmarshal(e.Data, &a.last); err != nil {
			return err
		}
		if a.last.Error != nil && a.last.Error.Code == "turn_interrupted" {
			return errBusy // the process that ran the turn died: the request may be repeated with the key
		}
		a.add()
	}
	return nil
}

func (a *hostAnswer) add() {
	if m := a.last.Molar; m != nil && m.Type == "reset" { // another process asks again
		a.text = strings.TrimSuffix(a.text, m.Text)
	}
	for _, c := range a.last.Choices {
		a.text = strings.TrimLeft(a.text+c.Message.Content+c.Delta.Content, "\n")
		a.finish += c.FinishReason
	}
	a.saved = a.saved || a.last.Molar != nil && a.last.Molar.Saved
}

// done reports whether the turn was reported done.
func (a *hostAnswer) done() bool { return a.finish == "stop" || a.saved }

// check returns an error if the answer belongs to another question.
func (a *hostAnswer) check(t *turn) error {
	if want := "say " + t.id; a.text != want {
		return fmt.Errorf("%s was answered %q", t.id, a.text)
	}
	return nil
}

func (h *host) messages(ctx context.Context, conversation string) ([]message, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/v1/conversations/"+conversation, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := h.client.Do(req)
	if err != nil {
		return nil, h.lost(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s: status %d", conversation, res.StatusCode)
	}
	var got struct {
		Messages []message `json:"messages"`
	}
	err = json.NewDecoder(res.Body).Decode(&got)
	return got.Messages, err
}

// lost returns the error of a broken exchange: the child was killed, or the host failed.
func (h *host) lost(err error) error {
	if h.killed.Load() {
		return errGone
	}
	return fmt.Errorf("the host did not answer as it should: %w", err)
}

func (h *host) end(kill func(*exec.Cmd) error) error {
	defer h.client.CloseIdleConnections()
	h.killed.Store(true)
	select {
	case <-h.gone:
		return fmt.Errorf("the child ended by itself: %s", strings.TrimSpace(h.output.String()))
	default:
	}
	err := kill(h.cmd)
	<-h.gone
	return err
}
