package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/schemas"
)

func usesResult(ctx context.Context, m *model) (outcome, error) {
	t, err := m.converse(ctx, "How many degrees does it have in Hanoi now?", []tool{weather()}, 3)
	switch {
	case err != nil:
		return outcome{}, err
	case len(t.calls()) == 0:
		return outcome{level: Fails, seen: "no call; it said " + quote(t.text), verdict: noCalls}, nil
	case !t.ended:
		return outcome{level: Fails, seen: "no answer after 3 calls", verdict: "goes on calling when it has what it needs"}, nil
	case strings.Contains(digits(t.text), "237"):
		return outcome{level: OK, seen: quote(t.text)}, nil
	case strings.Contains(digits(t.text), "24"):
		return outcome{level: Weak, seen: "rounds the number: " + quote(t.text)}, nil
	}
	return outcome{level: Fails, seen: "without the number: " + quote(t.text), verdict: "does not use what a tool returned"}, nil
}

func chains(ctx context.Context, m *model) (outcome, error) {
	const id = "C-58213"
	invented := ""
	find := declare("find_customer", "Finds a customer's id by name.", "name", `{"name":{"type":"string"}}`, always(`{"customer_id":"`+id+`"}`))
	balance := declare("get_balance", "Returns the balance of a customer.", "customer_id", `{"customer_id":{"type":"string","description":"The id that find_customer returns."}}`,
		func(arguments string) (string, bool) {
			var got struct {
				ID string `json:"customer_id"`
			}
			if err := read(arguments, &got); err != nil || got.ID != id {
				invented = got.ID
				return "there is no customer with this id", true
			}
			return `{"balance":7316.45,"currency":"EUR"}`, false
		})
	t, err := m.converse(ctx, "What is the balance of the customer Trần Văn Bảo?", []tool{find, balance}, 5)
	switch {
	case err != nil:
		return outcome{}, err
	case len(t.calls()) == 0:
		return outcome{level: Fails, seen: "no call; it said " + quote(t.text), verdict: noCalls}, nil
	case strings.Contains(digits(t.text), "731645") && invented == "":
		return outcome{level: OK, seen: quote(t.text)}, nil
	case strings.Contains(digits(t.text), "731645"):
		return outcome{level: Weak, seen: "invents the id first: " + quote(invented)}, nil
	case invented != "":
		return outcome{level: Fails, seen: "invents the id: " + quote(invented), verdict: chained}, nil
	case !t.ended:
		return outcome{level: Fails, seen: "no answer after 5 rounds: " + brief(t.rounds[len(t.rounds)-1]), verdict: chained}, nil
	}
	return outcome{level: Fails, seen: quote(t.text), verdict: chained}, nil
}

const chained = "does not use one result for the next call: offer tools that do the whole step"

func recovers(ctx context.Context, m *model) (outcome, error) {
	calls := 0
	order := declare("get_order", "Returns where an order is.", "number", `{"number":{"type":"string"}}`, func(string) (string, bool) {
		if calls++; calls == 1 {
			return "the service is busy; call again with the same arguments", true
		}
		return `{"place":"hall 19","state":"waiting"}`, false
	})
	t, err := m.converse(ctx, "Where is order 90-114?", []tool{order}, 4)
	switch {
	case err != nil:
		return outcome{}, err
	case strings.Contains(t.text, "19") && calls > 1:
		return outcome{level: OK, seen: "calls again: " + quote(t.text)}, nil
	case calls == 0:
		return outcome{level: Fails, seen: "no call; it said " + quote(t.text), verdict: noCalls}, nil
	case !t.ended:
		return outcome{level: Fails, seen: "no answer after 4 rounds", verdict: "goes on calling when it has what it needs"}, nil
	case calls == 1 && admits(t.text):
		return outcome{level: Weak, seen: "gives up: " + quote(t.text)}, nil
	}
	return outcome{level: Fails, seen: "hides it: " + quote(t.text), verdict: "does not say that a tool failed"}, nil
}

// admits reports whether an answer says that something did not work.
func admits(answer string) bool {
	answer = strings.ToLower(answer)
	return slices.ContainsFunc([]string{"busy", "again", "later", "error", "fail", "unable", "unavailable", "not ", "n't", "sorry", "problem"},
		func(word string) bool { return strings.Contains(answer, word) })
}

// Rounds in which a search that finds nothing should end, and after which a model counts as looping.
const (
	fewRounds  = 4
	manyRounds = 8
)

func stops(ctx context.Context, m *model) (outcome, error) {
	notes := declare("search_notes", "Searches the person's notes.", "query", `{"query":{"type":"string"}}`, always(`{"results":[]}`))
	t, err := m.converse(ctx, "What do my notes say about Zephyr 9?", []tool{notes}, manyRounds)
	if err != nil {
		return outcome{}, err
	}
	n := len(t.rounds)
	switch {
	case len(t.calls()) == 0: // other checks are about that
		return outcome{level: Weak, seen: "no call; it said " + quote(t.text)}, nil
	case t.ended && n <= fewRounds:
		return outcome{level: OK, seen: fmt.Sprintf("after %d calls: %s", len(t.calls()), quote(t.text))}, nil
	case t.ended:
		return outcome{level: Weak, seen: fmt.Sprintf("only after %d calls", len(t.calls()))}, nil
	case sameCalls(t.rounds[n-1], t.rounds[n-2]):
		return outcome{level: Fails, seen: fmt.Sprintf("the same call %d times", n), verdict: "calls in a loop: limits.rounds ends such turns"}, nil
	}
	return outcome{level: Fails, seen: fmt.Sprintf("%d rounds without an end", n), verdict: "calls in a loop: limits.rounds ends such turns"}, nil
}

// obeysForbidden is the last round of a turn that has used up its calls.
func obeysForbidden(ctx context.Context, m *model) (outcome, error) {
	offered := []tool{weather()}
	req := ask(subject.English, "What is the weather in Hanoi, in Huế, in Đà Nẵng and in Cần Thơ?", offered)
	r, err := m.say(ctx, req)
	if err != nil {
		return outcome{}, err
	}
	if calls := r.Calls(); len(calls) > 0 {
		req.Messages = append(req.Messages, r.Message(), results(calls, offered))
	} else {
		req.Messages = append(req.Messages, r.Message(), schemas.Text(schemas.RoleUser, "Say what you know."))
	}
	req.Messages = append(req.Messages, prompts.NoMoreCalls(subject.English, "the limit of calls is reached"))
	req.ForbidCalls = true
	if r, err = m.say(ctx, req); err != nil {
		return outcome{}, err
	}
	switch dropped := r.noted("no call is allowed"); {
	case r.text() == "":
		return outcome{level: Fails, seen: "no answer", verdict: "has nothing to say when it may not call: raise limits.rounds"}, nil
	case dropped:
		return outcome{level: Weak, seen: "calls beside the answer, which were dropped"}, nil
	}
	return outcome{level: OK, seen: quote(r.text())}, nil
}
