package _test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// askFor bounds one attempt of a client, which then repeats the request with the same key: first
// while a replica is frozen, and then after the others have given it up.
const askFor = 9 * time.Second

// writer asks one question after the other in a conversation that it shares with another writer,
// each with a key that it repeats until it has a final answer.
type writer struct {
	name, conversation string
	url                string
	client             *http.Client

	turns  []*turn
	faults []string
	tries  int
}

// turn is a question with its outcome.
type turn struct {
	id, writer string
	number     int
	books      bool
	// tries counts the attempts, found the occurrences in the conversation.
	tries, found int
	// done: reported saved; unsure: its booking was sent, and no process knows more. failed: finally
	// refused with this code, after its tool had run.
	done   bool
	unsure bool
	failed string
}

func (t *turn) question() string {
	if t.books {
		return "ask " + t.id + " book"
	}
	return "ask " + t.id + " plain"
}

// run asks until ctx ends, and then waits for the answer to its last question.
func (w *writer) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		t := &turn{id: fmt.Sprintf("%s-%d", w.name, n), writer: w.name, number: n, books: n%4 > 0}
		w.turns = append(w.turns, t)
		w.insist(context.WithoutCancel(ctx), t)
	}
}

// insist repeats the question until there is an answer.
func (w *writer) insist(ctx context.Context, t *turn) {
	const most = 200
	for range most {
		w.tries++
		t.tries++
		again, err := w.ask(ctx, t)
		if err != nil && !again {
			w.faults = append(w.faults, fmt.Sprintf("%s: %v", t.id, err))
		}
		if !again {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.faults = append(w.faults, t.id+" was never answered")
}

// ask makes one attempt, and reports whether another one is useful.
func (w *writer) ask(ctx context.Context, t *turn) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"chat_id": w.conversation, "messages": []map[string]string{{"role": "user", "content": t.question()}},
	})
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Host = Name
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", t.id)
	res, err := w.client.Do(req)
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	var a struct {
		Choices []struct{ Message struct{ Content string } }
		Molar   struct{ Saved bool }
		Error   struct{ Code, Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return true, err
	}
	switch {
	case res.StatusCode == http.StatusOK && a.Molar.Saved:
		t.done = true
		t.unsure = strings.HasPrefix(a.Choices[0].Message.Content, unsure)
		if got := a.Choices[0].Message.Content; turnOf(got) != t.id {
			return false, fmt.Errorf("was answered %q", got)
		}
		return false, nil
	case res.StatusCode == http.StatusBadRequest: // the outcome of a turn that had an effect
		t.failed = a.Error.Code
		if a.Error.Code == "invalid_request" || a.Error.Code == "invalid_value" {
			err = fmt.Errorf("%s: %s", a.Error.Code, a.Error.Message)
		}
		return false, err
	}
	return true, fmt.Errorf("status %d, %s: %s", res.StatusCode, a.Error.Code, a.Error.Message)
}

// message is a message of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// turnOf returns the turn that an answer belongs to; empty for an incomplete answer.
func turnOf(answer string) string {
	id, _ := parts(answer)
	return id
}

// parts returns the turn of an answer, and the previous one that the model saw.
func parts(answer string) (id, after string) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(answer, unsure), "say ")
	id, after, both := strings.Cut(rest, " after ")
	after, whole := strings.CutSuffix(after, ".")
	if !ok || !both || !whole {
		return "", ""
	}
	return id, after
}

// judge compares the promises to all writers of a conversation with its messages. A question may
// also be there as interrupted, from before its key was repeated.
func judge(writers []*writer, messages []message) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	turns, reached, before := make(map[string]*turn), make(map[string]int), []string{"none"}
	for _, w := range writers {
		for _, t := range w.turns {
			turns[t.question()] = t
		}
	}
	for len(messages) > 0 {
		t := turns[messages[0].Content]
		if len(messages) < 2 || t == nil || messages[0].Role != "user" || messages[1].Role != "assistant" {
			fault("%q is out of place", messages[0].Content)
			break
		}
		switch {
		case t.number < reached[t.writer]:
			fault("%s stands behind a later turn", t.id)
		case messages[1].Status == "" && turnOf(messages[1].Content) != t.id:
			fault("%s was answered %q", t.id, messages[1].Content)
		case messages[1].Status == "":
			t.found++
		}
		if id, after := parts(messages[1].Content); id != "" {
			if t.tries == 1 && !slices.Contains(before, after) {
				fault("%s was answered after %s, but stands after %v", t.id, after, before)
			}
			if t.tries == 1 {
				before = nil // a turn that was repeated may have been moved to its later place
			}
			before = append(before, id)
		}
		reached[t.writer], messages = t.number, messages[2:]
	}
	for _, t := range turns {
		if t.found > 1 || t.done && t.found == 0 {
			fault("%s, done %v, is there %d times", t.id, t.done, t.found)
		}
	}
	return faults
}

// history reads a conversation.
func history(ctx context.Context, client *http.Client, url, conversation string) ([]message, error) {
	res, err := get(ctx, client, url+"/v1/conversations/"+conversation)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var got struct{ Messages []message }
	if res.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s: status %d", conversation, res.StatusCode)
	}
	err = json.NewDecoder(res.Body).Decode(&got)
	return got.Messages, err
}

// follower reads the events of a detached turn through the balancer, over as many connections as
// needed.
type follower struct {
	url    string
	client *http.Client
	// id is the turn, text its text so far, and last the number of the last event.
	id, text, last string
	// code is the error that the turn ended with; empty if it is done.
	code    string
	endedAt time.Time
}

var errUnended = errors.New("the stream ended before the turn did")

// follow reads until the turn has ended.
func (f *follower) follow(ctx context.Context) error {
	for {
		err := f.read(ctx)
		if err == nil {
			f.endedAt = time.Now()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("turn %s was followed to %q: %w", f.id, f.text, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// read reads events from one connection.
func (f *follower) read(ctx context.Context) error {
	res, err := get(ctx, f.client, f.url+"/v1/turns/"+f.id+"/events", "Last-Event-ID", f.last)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			f.last = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
			Error   struct{ Code string }
			Molar   struct{ Type, Text string }
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return err
		}
		if c.Molar.Type == "reset" { // another process asks again
			f.text = f.text[:max(0, strings.LastIndex(f.text, c.Molar.Text))]
		}
		for _, choice := range c.Choices {
			f.text = strings.TrimLeft(f.text+choice.Delta.Content, "\n")
		}
		if f.code = c.Error.Code; f.code != "" && f.code != "shutting_down" { // which concerns only this replica
			return nil
		}
	}
	return errors.Join(errUnended, lines.Err())
}
