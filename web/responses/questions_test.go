package responses_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// questionTurn plays a turn in which a server asks in the middle of a call.
func questionTurn(heard chan<- schemas.Answer) script {
	return func(ctx context.Context, turn agent.Turn, say func(answer.Event) bool) error {
		if turn.Person == nil {
			say(text("Nobody to ask."))
			say(done())
			return nil
		}
		say(answer.Event{Kind: answer.KindToolCall, Step: "6.3", Call: &eraseCall, Server: "family", ToolName: "erase"})
		turn.Person.OnNews(schemas.News{Server: "family", Tool: "erase", Progress: 1, Total: 2})
		a, err := turn.Person.Answer(ctx, agent.Question{
			Question: schemas.Question{Server: "family", Message: "Which?", Schema: json.RawMessage(`{"type":"object"}`)}, Expires: time.Now().Add(time.Minute),
			Check: func(content map[string]json.RawMessage) error {
				if content["id"] == nil {
					return errors.New("at /id: it is missing")
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		heard <- a
		say(answer.Event{Kind: answer.KindToolResult, Step: "6.3", Call: &eraseCall, Server: "family", ToolName: "erase", Result: &schemas.ToolResult{ToolName: "erase", ID: eraseCall.ID, Output: json.RawMessage(`"ok"`)}})
		say(text("So be it."))
		say(done())
		return nil
	}
}

// A server's question ends the response, for a client that asks for our own events. The person's
// answer leads to another response, in which the call continues.
func TestQuestion(t *testing.T) {
	heard := make(chan schemas.Answer, 1)
	h := serve(t, questionTurn(heard))
	first := h.create(`{"input":"Erase.","molar":{"events":true}}`)
	last := at(first, "output", -1)
	if first["status"] != "completed" || at(last, "type") != "molar:question" || at(last, "message") != "Which?" || at(last, "server_label") != "family" || at(last, "schema", "type") != "object" {
		t.Fatalf("response %v", first)
	}
	answer := func(rest string) string {
		return `{"input":[{"type":"molar:answer","question_id":"` + at(last, "id").(string) + `",` + rest + `}],"previous_response_id":"` + id(first) + `","molar":{"events":true}}`
	}
	for _, bad := range []string{`"action":"accept"`, `"action":"maybe"`, `"action":"accept","content":7`} {
		if status, _, _ := h.refused(answer(bad)); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, status)
		}
	}
	if status, _, _ := h.refused(`{"input":[{"type":"mcp_approval_response","approval_request_id":"` + at(last, "id").(string) + `"}]}`); status != http.StatusBadRequest {
		t.Errorf("a decision without one: status %d", status)
	}
	second := h.create(answer(`"action":"accept","content":{"id":7}`))
	if a := <-heard; a.Action != schemas.ActionAccept || string(a.Content["id"]) != "7" {
		t.Errorf("the server heard %+v", a)
	}
	if at(second, "output", 0, "type") != "mcp_call" || at(second, "output", 1, "content", 0, "text") != "So be it." || second["previous_response_id"] != id(first) {
		t.Errorf("response %v", second)
	}
	if status, code, _ := h.refused(`{"input":[{"type":"molar:answer","question_id":"molarq_x_0","action":"decline"}]}`); status != http.StatusNotFound || code != "approval_not_found" {
		t.Errorf("an unknown question: status %d, code %q", status, code)
	}
}

// A client that does not ask for our own events gets no question that it could not answer.
func TestQuestion_NobodyWithoutEvents(t *testing.T) {
	h := serve(t, questionTurn(nil))
	if r := h.create(`{"input":"Erase."}`); at(r, "output", 0, "content", 0, "text") != "Nobody to ask." {
		t.Errorf("response %v", r)
	}
}
