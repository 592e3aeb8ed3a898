package _test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
)

// A form is a schema with a value that matches it and one that does not.
type form struct{ schema, good, bad string }

// hundredForms returns each of ten values in each of ten places.
func hundredForms() []form {
	values := []form{
		{`{"type":"string"}`, `"An"`, `7`},
		{`{"type":"integer"}`, `7`, `7.5`},
		{`{"type":"number"}`, `7.5`, `"7.5"`},
		{`{"type":"boolean"}`, `true`, `"true"`},
		{`{"enum":["a","b"]}`, `"b"`, `"c"`},
		{`{"const":1}`, `1`, `2`},
		{`{"type":["string","null"]}`, `null`, `[]`},
		{`{"type":"string","minLength":3}`, `"abc"`, `"ab"`},
		{`{"type":"integer","minimum":1,"maximum":9}`, `9`, `10`},
		{`{"type":"string","pattern":"^[0-9]{4}$"}`, `"2026"`, `"26"`},
	}
	places := []form{
		{`%s`, `%s`, `%s`},
		{`{"type":"object","properties":{"x":%s},"required":["x"]}`, `{"x":%s}`, `{"x":%s}`},
		{`{"type":"object","properties":{"x":%s},"required":["x"]}`, `{"x":%s}`, `{"y":%s}`},
		{`{"type":"object","properties":{"x":%s},"required":["x"],"additionalProperties":false}`, `{"x":%[1]s}`, `{"x":%[1]s,"y":%[1]s}`},
		{`{"type":"array","items":%s,"minItems":1}`, `[%[1]s,%[1]s]`, `[%[1]s]`},
		{`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":%s},"required":["x"]}}}}`, `{"list":[{"x":%s}]}`, `{"list":[{"x":%s}]}`},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"x":%s},"required":["x"]}},"required":["b"]}},"required":["a"]}`, `{"a":{"b":{"x":%s}}}`, `{"a":{"b":{"x":%s}}}`},
		{`{"$defs":{"v":%s},"type":"object","properties":{"x":{"$ref":"#/$defs/v"}},"required":["x"]}`, `{"x":%s}`, `{"x":%s}`},
		{`{"anyOf":[{"type":"object","properties":{"x":%s},"required":["x"]},{"type":"object","properties":{"z":{"type":"string"}},"required":["z"]}]}`, `{"x":%s}`, `{"x":%s}`},
		{`{"type":"object","additionalProperties":%s}`, `{"p":%[1]s,"q":%[1]s}`, `{"p":%s}`},
	}
	var all []form
	for _, p := range places {
		for _, v := range values {
			all = append(all, form{fmt.Sprintf(p.schema, v.schema), fmt.Sprintf(p.good, v.good), fmt.Sprintf(p.bad, v.bad)})
		}
	}
	return all
}

// forms returns all hundred, or some of them in short tests.
func forms() []form {
	all := hundredForms()
	if !testing.Short() {
		return all
	}
	var some []form
	for i := 0; i < len(all); i += 7 {
		some = append(some, all[i])
	}
	return some
}

// wanting is a turn whose answer must match a schema.
func wanting(schema string) agent.Turn {
	t := turn("Who?")
	t.ConversationID, t.Stateless, t.Schema = "", true, json.RawMessage(schema)
	return t
}

// outcome runs a turn and returns its answer, whether it ended well, and its error.
func (c *talk) outcome(t *testing.T, turn agent.Turn) (string, bool, error) {
	t.Helper()
	var seen answer.Collector
	for event, err := range c.agent.Run(t.Context(), turn) {
		if err != nil {
			return seen.Answer(), false, err
		}
		seen.Add(event)
	}
	return seen.Answer(), seen.Done != nil, nil
}

// field returns the schema of a body, in the field of the service.
func (b body) field() string {
	return string(b.Format) + string(b.ResponseFormat.JSONSchema.Schema) + string(b.GenerationConfig.ResponseJSONSchema) +
		string(b.Text.Format.Schema) + string(b.OutputConfig.Format.Schema)
}

// A model that first prints prose is asked again with what is wrong: the answer is valid then, or the
// turn fails. It is never a success that is not valid, with tools or without.
func TestSchema_proseFirst(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		for _, tools := range []bool{false, true} {
			c := newTalk(t, w, newDesk(map[bool]int{true: 2}[tools], `"An"`), agent.Limits{})
			provider, err := w.open(c.model.url, 0)
			must(t, err)
			valid, failed := 0, 0
			for _, f := range forms() {
				beside := providers.SchemaBesideTools(provider, "gemini-3-flash", json.RawMessage(f.schema))
				for _, second := range []string{f.good, f.bad} {
					replies := []reply{says("Sure! ", "Here is your JSON: ", f.good)}
					if tools {
						replies = []reply{calls("desk__find_0", "{}"), replies[0]}
					}
					c.model.setAnswer(func(string) reply { return says("Sorry, ", second, "?") })
					c.model.setReplies(append(replies, says(second))...)
					before := len(c.model.sent())
					got, done, err := c.outcome(t, wanting(f.schema))
					switch {
					case second == f.good && done && got == f.good && err == nil:
						valid++
					case second == f.bad && !done && got == "" && errors.Is(err, agent.ErrSchema):
						failed++
					default:
						t.Errorf("%s, then %s: answer %s, done %v, %v", f.schema, second, got, done, err)
					}
					c.checkField(t, f, c.model.sent()[before:], tools, beside)
				}
			}
			t.Logf("tools %v: %d answers valid in the second try, %d turns failed with the error", tools, valid, failed)
		}
	})
}

// checkField checks that the service's own field has a schema in each request that can hold it, and in no
// other, and that the model is told what was wrong.
func (c *talk) checkField(t *testing.T, f form, sent []string, tools, beside bool) {
	t.Helper()
	for i, raw := range sent {
		b := read(t, raw)
		_, offered, _ := c.model.wire.split(b)
		withheld := c.model.wire.withholds != nil && c.model.wire.withholds(f.schema)
		if offers := offered != ""; (b.field() != "") != ((beside || !offers) && !withheld) {
			t.Errorf("%s: request %d offers tools %v and has the schema %q", f.schema, i, offers, b.field())
		}
		if withheld && !tools && !strings.Contains(raw, "additionalProperties") {
			t.Errorf("%s: request %d says nothing of the schema", f.schema, i)
		}
		if told := strings.Contains(raw, "does not have the form"); told != (i > map[bool]int{true: 1}[tools]) {
			t.Errorf("%s: request %d tells of the fault: %v", f.schema, i, told)
		}
	}
}

// A request for any object goes in the service's mode for that, where it has one.
func TestSchema_anyObject(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		c := newTalk(t, w, newDesk(0, `""`), agent.Limits{})
		c.model.setReplies(says("```json\n", `{"a":[1]}`, "\n```"))
		got, done, err := c.outcome(t, wanting(string(providers.AnyObject())))
		if got != `{"a":[1]}` || !done || err != nil {
			t.Errorf("%q, %v, %v", got, done, err)
		}
		if b := read(t, c.model.sent()[0]); w.name == "ollama" && b.field() != `"json"` {
			t.Errorf("format %s", b.field())
		}
	})
}

// The stored conversation has the JSON value, and the next prompt shows it alone.
func TestSchema_stored(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		c := newTalk(t, w, newDesk(2, `"An"`), agent.Limits{})
		c.model.setReplies(calls("desk__find_0", "{}"), says("It is An."), says("```json\n"+`{"x":"An"}`+"\n```"))
		first := turn("Who?")
		first.Schema = json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)
		if got, done, err := c.outcome(t, first); got != `{"x":"An"}` || !done || err != nil {
			t.Fatalf("%q, %v, %v", got, done, err)
		}
		same(t, "the conversation", c.stored(t), "user: Who?", `assistant: {"x":"An"}`)
		sent := c.ask(t, "And then?", says("Nothing."))
		if strings.Contains(sent[0], "It is An.") || strings.Contains(sent[0], "does not have the form") || strings.Contains(sent[0], "```") {
			t.Errorf("the next prompt shows what was refused: %s", sent[0])
		}
	})
}
