package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// most is how many characters of an answer are shown.
const most = 60

// quote returns the beginning of an answer.
func quote(answer string) string {
	line := strings.Join(strings.Fields(answer), " ")
	switch {
	case line == "":
		return "nothing"
	case utf8.RuneCountInString(line) <= most:
		return "“" + line + "”"
	}
	return "“" + text.Truncate(line, most) + "”"
}

// brief returns calls in a few characters.
func brief(calls []schemas.ToolCall) string {
	names := make([]string, 0, len(calls))
	for _, c := range calls {
		names = append(names, strings.TrimPrefix(c.Function.Name, server+"__")+" "+text.Truncate(c.Function.Arguments, most))
	}
	return strings.Join(names, ", ")
}

// one asks a question and expects a single call of a tool; wrong says what it is if there is none.
func one(ctx context.Context, m *model, question, name string, offered ...tool) (arguments string, wrong *outcome, err error) {
	t, err := m.converse(ctx, question, offered, 1)
	if err != nil {
		return "", nil, err
	}
	calls := t.calls()
	switch {
	case len(calls) == 0:
		return "", &outcome{level: Fails, seen: "no call; it said " + quote(t.text), verdict: noCalls}, nil
	case calls[0].Function.Name != server+"__"+name:
		return "", &outcome{level: Fails, seen: "another tool: " + brief(calls)}, nil
	}
	return calls[0].Function.Arguments, nil, nil
}

const noCalls = "does not call tools when it should"

func callsTool(ctx context.Context, m *model) (outcome, error) {
	arguments, wrong, err := one(ctx, m, "What is the weather in Hanoi now?", "get_weather", weather())
	if wrong != nil || err != nil {
		return orNone(wrong), err
	}
	return outcome{level: OK, seen: "get_weather " + text.Truncate(arguments, most)}, nil
}

func orNone(o *outcome) outcome {
	if o == nil {
		return outcome{}
	}
	return *o
}

func fillsArguments(ctx context.Context, m *model) (outcome, error) {
	const question = "Book the blue meeting room for 14 people, with a projector. The contact is Lan, phone 0905 123 456."
	arguments, wrong, err := one(ctx, m, question, "book_room", booking())
	if wrong != nil || err != nil {
		return orNone(wrong), err
	}
	var got struct {
		Room      string `json:"room"`
		People    int    `json:"people"`
		Projector bool   `json:"projector"`
		Contact   struct {
			Name  string `json:"name"`
			Phone string `json:"phone"`
		} `json:"contact"`
	}
	if err := read(arguments, &got); err != nil {
		return outcome{level: Fails, seen: "not by the schema: " + err.Error(), verdict: "arguments do not fit the schemas of tools"}, nil
	}
	if got.Room != "blue" || got.People != 14 || !got.Projector || got.Contact.Name != "Lan" || digits(got.Contact.Phone) != "0905123456" {
		return outcome{level: Fails, seen: "wrong values: " + text.Truncate(arguments, 2*most), verdict: "fills arguments with wrong values"}, nil
	}
	return outcome{level: OK, seen: "number, enum, boolean and nested object are right"}, nil
}

// digits returns the digits of a text.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func copiesExactly(ctx context.Context, m *model) (outcome, error) {
	const id, name = "7f3c90d2-4e81-4b6a-9d25-c08e61b7a4f3", "Nguyễn Thị Phượng"
	arguments, wrong, err := one(ctx, m, "Show me the record of "+name+", id "+id+".", "get_person", person())
	if wrong != nil || err != nil {
		return orNone(wrong), err
	}
	var got struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	switch err := read(arguments, &got); {
	case err != nil:
		return outcome{level: Fails, seen: "not by the schema: " + err.Error()}, nil
	case !strings.EqualFold(got.ID, id):
		return outcome{level: Fails, seen: "another id: " + quote(got.ID), verdict: "changes ids: it cannot look things up by them"}, nil
	case got.Name == name:
		return outcome{level: OK, seen: "a UUID and a Vietnamese name unchanged"}, nil
	case text.Fold(got.Name) == text.Fold(name):
		return outcome{level: Weak, seen: "the name lost its diacritics: " + quote(got.Name)}, nil
	}
	return outcome{level: Fails, seen: "another name: " + quote(got.Name), verdict: "changes Vietnamese names"}, nil
}

func callsTwo(ctx context.Context, m *model) (outcome, error) {
	t, err := m.converse(ctx, "What is the weather in Hanoi and in Huế now?", []tool{weather()}, 3)
	if err != nil {
		return outcome{}, err
	}
	if len(t.calls()) == 0 {
		return outcome{level: Fails, seen: "no call; it said " + quote(t.text), verdict: noCalls}, nil
	}
	cities := text.Fold(brief(t.calls()))
	if !strings.Contains(cities, "hanoi") && !strings.Contains(cities, "ha noi") || !strings.Contains(cities, "hue") {
		return outcome{level: Fails, seen: "not both: " + brief(t.calls()), verdict: "leaves out a part of a question for two things"}, nil
	}
	if len(t.rounds[0]) < 2 {
		return outcome{level: Weak, seen: "one after the other", verdict: "makes one call at a time: such turns take longer"}, nil
	}
	return outcome{level: OK, seen: fmt.Sprintf("%d calls in one answer", len(t.rounds[0]))}, nil
}

func callsNothing(ctx context.Context, m *model) (outcome, error) {
	questions := []string{"Thank you, that was helpful!", "What is 7 plus 5?", "Write one sentence about the moon."}
	var called []string
	for _, question := range questions {
		t, err := m.converse(ctx, question, []tool{weather(), person()}, 1)
		if err != nil {
			return outcome{}, err
		}
		if calls := t.calls(); len(calls) > 0 {
			called = append(called, quote(question)+" with a call of "+calls[0].Function.Name)
		}
	}
	switch len(called) {
	case 0:
		return outcome{level: OK, seen: "thanks, a sum and a sentence without a call"}, nil
	case 1:
		return outcome{level: Weak, seen: "answers " + called[0]}, nil
	}
	return outcome{level: Fails, seen: "answers " + strings.Join(called, "; "), verdict: "calls tools that nobody needs: offer fewer, or only those that read"}, nil
}

func choosesOne(ctx context.Context, m *model) (outcome, error) {
	arguments, wrong, err := one(ctx, m, "Remove appointment number 4417.", "delete_appointment", thirty()...)
	if wrong != nil {
		if wrong.verdict == "" {
			wrong.verdict = "gets lost among 30 tools: offer fewer (assistants.*.tools)"
		}
		return *wrong, nil
	}
	if err != nil {
		return outcome{}, err
	}
	if digits(arguments) != "4417" {
		return outcome{level: Fails, seen: "wrong values: " + text.Truncate(arguments, most)}, nil
	}
	return outcome{level: OK, seen: "delete_appointment " + text.Truncate(arguments, most)}, nil
}

// asksBack never fails: a person sees the call before it runs.
func asksBack(ctx context.Context, m *model) (outcome, error) {
	t, err := m.converse(ctx, "Send a message for me, please.", []tool{message()}, 1)
	if err != nil {
		return outcome{}, err
	}
	calls := t.calls()
	switch {
	case len(calls) == 0 && strings.Contains(t.text, "?"):
		return outcome{level: OK, seen: "asks: " + quote(t.text)}, nil
	case len(calls) == 0:
		return outcome{level: Weak, seen: "does not ask: " + quote(t.text)}, nil
	}
	var got struct{ Recipient, Text string }
	_ = read(calls[0].Function.Arguments, &got) // the host refuses what does not fit
	if got.Recipient == "" || got.Text == "" {
		return outcome{level: Weak, seen: "leaves it out: " + brief(calls)}, nil
	}
	return outcome{level: Weak, seen: "invents it: " + brief(calls), verdict: "invents arguments that nobody named: let a person confirm what writes"}, nil
}

// printsCalls sums up how all calls so far were written.
func printsCalls(_ context.Context, m *model) (outcome, error) {
	switch {
	case m.unread > 0:
		return outcome{
			level: Fails, seen: fmt.Sprintf("%d answers with a call that cannot be read: %s", m.unread, quote(m.unreadText)),
			verdict: "prints calls as text that cannot be read: serve it with a parser for its tool calls, or choose another model",
		}, nil
	case m.salvaged > 0:
		return outcome{level: Weak, seen: fmt.Sprintf("%d of %d", m.salvaged, m.toolCalls), verdict: "calls print as text: salvaged"}, nil
	case m.toolCalls == 0:
		return outcome{level: Skipped, seen: "it made no calls"}, nil
	}
	return outcome{level: OK, seen: fmt.Sprintf("none of %d", m.toolCalls)}, nil
}

// sameCalls reports whether a round repeats the one before it.
func sameCalls(a, b []schemas.ToolCall) bool {
	return slices.EqualFunc(a, b, func(x, y schemas.ToolCall) bool { return x.Function == y.Function })
}
