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

// askFor bounds one attempt of a client, who then asks again with the same key: while a replica
// is frozen, and after the others took it for gone.
const askFor = 9 * time.Second

// A writer asks one question after the other in a conversation that it shares with another
// one, each with a key under which it asks again until it has an answer that stands.
type writer struct {
	name, conversation string
	url                string
	client             *http.Client

	turns  []*turn
	faults []string
	tries  int
}

// A turn is a question, and what came of it.
type turn struct {
	id, writer string
	number     int
	books      bool
	// tries is how often it was asked, and found how often it stands in the conversation.
	tries, found int
	// done: reported saved. failed: told so for ever, after its tool had run, with this code.
	done   bool
	failed string
}

func (t *turn) question() string {
	if t.books {
		return "ask " + t.id + " book"
	}
	return "ask " + t.id + " plain"
}

// run asks until ctx ends, and then has its last question answered.
func (w *writer) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		t := &turn{id: fmt.Sprintf("%s-%d", w.name, n), writer: w.name, number: n, books: n%4 > 0}
		w.turns = append(w.turns, t)
		w.insist(context.WithoutCancel(ctx), t)
	}
}

// insist asks until there is an answer.
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

// ask makes one attempt, and says whether another one makes sense.
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
		if got := a.Choices[0].Message.Content; saidIn(got) != t.id {
			return false, fmt.Errorf("was answered %q", got)
		}
		return false, nil
	case res.StatusCode == http.StatusBadRequest: // the fate of a turn that acted
		t.failed = a.Error.Code
		if a.Error.Code == "invalid_request" || a.Error.Code == "invalid_value" {
			err = fmt.Errorf("%s: %s", a.Error.Code, a.Error.Message)
		}
		return false, err
	}
	return true, fmt.Errorf("status %d, %s: %s", res.StatusCode, a.Error.Code, a.Error.Message)
}

// A message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// saidIn is the turn that an answer is about; empty for half an answer.
func saidIn(answer string) string {
	id, _ := parts(answer)
	return id
}

// parts are the turn of an answer, and the one before it that its model saw.
func parts(answer string) (id, after string) {
	rest, ok := strings.CutPrefix(answer, "say ")
	id, after, both := strings.Cut(rest, " after ")
	after, whole := strings.CutSuffix(after, ".")
	if !ok || !both || !whole {
		return "", ""
	}
	return id, after
}

// judge holds the promises of all writers of a conversation against its messages. A question
// may stand there as interrupted, before its key was asked again.
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
		case messages[1].Status == "" && saidIn(messages[1].Content) != t.id:
			fault("%s was answered %q", t.id, messages[1].Content)
		case messages[1].Status == "":
			t.found++
		}
		if id, after := parts(messages[1].Content); id != "" {
			if t.tries == 1 && !slices.Contains(before, after) {
				fault("%s was answered after %s, but stands after %v", t.id, after, before)
			}
			if t.tries == 1 {
				before = nil // one that was asked again may have come back to its place later
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

// A follower reads the events of a detached turn through the balancer, over as many
// connections as it takes.
type follower struct {
	url    string
	client *http.Client
	// id names the turn; text is what it said so far, and last the number of the last event.
	id, text, last string
	// code is the error that the turn ended with; empty for one that is done.
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

// read reads one connection's worth.
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
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return err
		}
		for _, choice := range c.Choices {
			f.text += choice.Delta.Content
		}
		if f.code = c.Error.Code; f.code != "" && f.code != "shutting_down" { // that is about this replica alone
			return nil
		}
	}
	return errors.Join(errUnended, lines.Err())
}
