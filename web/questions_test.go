package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// questionTurn plays a turn in which a server sends its progress and a log line and then asks a
// question.
func questionTurn(answered chan<- schemas.Answer) script {
	return func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		yield(start())
		if turn.Person == nil {
			yield(text("nobody to ask"))
			yield(done())
			return nil
		}
		yield(toolCall())
		turn.Person.OnNews(schemas.News{Server: "family", Tool: "search", Progress: 1, Total: 2, Text: "half"})
		turn.Person.OnNews(schemas.News{Server: "family", Level: "warning", Text: "slow"})
		a, err := turn.Person.Answer(ctx, agent.Question{
			Question: schemas.Question{Server: "family", Message: "Which year?", Schema: json.RawMessage(`{"type":"object","properties":{"year":{"type":"integer"}}}`)},
			Expires:  time.Now().Add(time.Minute),
			Check: func(content map[string]json.RawMessage) error {
				if string(content["year"]) != "1990" {
					return errors.New("not that year")
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		answered <- a
		yield(done())
		return nil
	}
}

// molarNote has the fields of the molar object of a chunk.
type molarNote struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	schemas.Question
	Level    string  `json:"level"`
	Text     string  `json:"text"`
	Progress float64 `json:"progress"`
}

// notesUntil reads a stream up to a note of the kind, and returns the notes.
func notesUntil(t *testing.T, lines *bufio.Scanner, kind string) (notes []molarNote) {
	t.Helper()
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var c struct {
			Molar molarNote `json:"molar"`
		}
		if ok && json.Unmarshal([]byte(data), &c) == nil && c.Molar.Type != "" {
			if notes = append(notes, c.Molar); c.Molar.Type == kind {
				return notes
			}
		}
	}
	t.Fatalf("the stream had no %s, but %+v", kind, notes)
	return nil
}

func answerAs(t *testing.T, client *http.Client, url, who, id, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/questions/"+id, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Who", who)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, readAll(t, resp)
}

// A server's question reaches only the client of its turn, and the answer reaches the server,
// whether the turn is bound to its client or detached.
func TestQuestions(t *testing.T) {
	for name, detach := range map[string]string{"bound": "", "detached": `,"detach":true`} {
		t.Run(name, func(t *testing.T) {
			answered := make(chan schemas.Answer, 1)
			cfg := config(t, questionTurn(answered))
			cfg.Now = time.Now
			cfg.Owner = func(r *http.Request) string { return r.Header.Get("X-Who") }
			ts := live(t, cfg)
			defer ts.Client().CloseIdleConnections()
			resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"events":true`+detach+`},`+question+`}`, "X-Who", "ann")
			lines := bufio.NewScanner(resp.Body)
			var q molarNote
			kinds := map[string]molarNote{}
			for q.Type == "" || kinds["log"].Type == "" { // messages and questions are sent independently of each other
				for _, n := range notesUntil(t, lines, map[bool]string{true: "question", false: "log"}[q.Type == ""]) {
					if kinds[n.Type] = n; n.Type == "question" {
						q = n
					}
				}
			}
			if q.Message != "Which year?" || q.Server != "family" || len(q.Schema) == 0 || kinds["progress"].Progress != 1 || kinds["log"].Level != "warning" {
				t.Errorf("%+v", kinds)
			}
			if list := readAll(t, get(t, ts.Client(), ts.URL+"/v1/questions", "X-Who", "ann")); !strings.Contains(list, q.ID) {
				t.Errorf("the list is %s", list)
			}
			if list := readAll(t, get(t, ts.Client(), ts.URL+"/v1/questions", "X-Who", "bob")); strings.Contains(list, q.ID) {
				t.Errorf("another sees %s", list)
			}
			for _, tc := range []struct {
				who, body string
				status    int
			}{
				{"bob", `{"action":"accept","content":{"year":1990}}`, http.StatusNotFound},
				{"ann", `{"action":"accept","content":{"year":7}}`, http.StatusBadRequest},
				{"ann", `{"action":"maybe"}`, http.StatusBadRequest},
				{"ann", `{`, http.StatusBadRequest},
				{"ann", `{"action":"accept","content":{"year":1990}}`, http.StatusOK},
				{"ann", `{"action":"decline"}`, http.StatusNotFound},
			} {
				if status, body := answerAs(t, ts.Client(), ts.URL, tc.who, q.ID, tc.body); status != tc.status {
					t.Errorf("%s %s: %d %s", tc.who, tc.body, status, body)
				}
			}
			if a := <-answered; a.Action != schemas.ActionAccept || string(a.Content["year"]) != "1990" {
				t.Errorf("%+v", a)
			}
			notesUntil(t, lines, "done")
			_ = resp.Body.Close()
		})
	}
}

// A client that does not ask for events gets no questions.
func TestQuestions_NobodyWithoutEvents(t *testing.T) {
	if answer := post(handler(t, questionTurn(nil)), `{`+question+`}`); !strings.Contains(answer.Body.String(), "nobody to ask") {
		t.Error(answer.Body)
	}
}
