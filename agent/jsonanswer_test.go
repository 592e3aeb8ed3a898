package agent_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// person is the schema of most tests.
const person = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"kind":{"enum":["a","b"]},` +
	`"home":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},"required":["name"],"additionalProperties":false}`

// structured is a model that takes a schema in the ways of a service.
type structured struct {
	*fakeModel
	beside, enforces bool
}

func (s structured) SchemaBesideTools(string, json.RawMessage) bool { return s.beside }
func (s structured) EnforcesSchema(string, json.RawMessage) bool    { return s.enforces }

// wanting is a question whose answer must match a schema.
func wanting(schema string) agent.Turn {
	turn := ask("Who?")
	turn.Schema = json.RawMessage(schema)
	return turn
}

// jsonBench is a bench with a reading tool, whose model takes a schema in the ways of a service.
func jsonBench(t *testing.T, beside, tools bool, scripts ...script) *bench {
	t.Helper()
	b := newBench(scripts...)
	b.route.Provider = structured{fakeModel: b.model, beside: beside}
	as := schemas.Assistant{}
	if tools {
		b.tools.add("s", "t", `{"found":1}`)
		as.Tools = []string{"*"}
	}
	return b.with(t, as)
}

// An answer that does not match is asked for once more with what is wrong, and only a match is shown and
// saved. No answer that does not match is a success.
func TestRun_schema(t *testing.T) {
	const good = `{"name":"An"}`
	cut := func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		_ = yield(providers.Chunk{Text: `{"name":"A`}, nil) && yield(providers.Chunk{Finish: providers.FinishLength}, nil)
	}
	tests := []struct {
		name, schema string
		scripts      []script
		// want is the answer, empty if the turn fails; told is part of what the model is told after its
		// first answer.
		want, told string
	}{
		{"at once", person, []script{says(good)}, good, ""},
		{"in pieces", person, []script{says(`{"na`, `me":`, `"An"}`)}, good, ""},
		{"white space around", person, []script{says("\n\n " + good + "\n")}, good, ""},
		{"fenced", person, []script{says("```json\n" + good + "\n```\n")}, good, ""},
		{"fenced without a label", person, []script{says("```\n" + good + "\n```")}, good, ""},
		{"fenced as something else", person, []script{says("```yaml\n" + good + "\n```"), says(good)}, good, "invalid character"},
		{"prose", person, []script{says("It is An."), says(good)}, good, "invalid character 'I'"},
		{"prose before", person, []script{says("Sure! Here is your JSON: " + good), says(good)}, good, "invalid character 'S'"},
		{"prose after", person, []script{says(good + "\nAnything else?"), says(good)}, good, "invalid character after top-level value"},
		{"two values", person, []script{says(good + good), says(good)}, good, "after top-level value"},
		{"truncated", person, []script{says(`{"name":"A`), says(good)}, good, "unexpected EOF"},
		{"a missing property", person, []script{says(`{"age":1}`), says(good)}, good, "missing property 'name'"},
		{"a wrong type", person, []script{says(`{"name":"An","age":"old"}`), says(good)}, good, "at /age: got string, want integer"},
		{"not of the enum", person, []script{says(`{"name":"An","kind":"c"}`), says(good)}, good, "at /kind: value must be one of 'a', 'b'"},
		{"one property more", person, []script{says(`{"name":"An","x":1}`), says(good)}, good, "additional properties 'x' not allowed"},
		{"nested", person, []script{says(`{"name":"An","home":{}}`), says(`{"name":"An","home":{"city":"Huế"}}`)}, `{"name":"An","home":{"city":"Huế"}}`, "at /home: missing property 'city'"},
		{"a list", `{"type":"array","items":{"type":"integer"}}`, []script{says(`["1"]`), says(`[1,2]`)}, `[1,2]`, "at /0: got string, want integer"},
		{"a number", `{"type":"integer"}`, []script{says("seven"), says("12345678901234567890")}, "12345678901234567890", "invalid character 's'"},
		{"any object", string(providers.AnyObject()), []script{says(`[1]`), says(`{"x":[1]}`)}, `{"x":[1]}`, "got array, want object"},
		{"a definition", `{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}`, []script{says(`{"n":"1"}`), says(`{"n":1}`)}, `{"n":1}`, "at /n"},
		{"wrong twice", person, []script{says("It is An."), says("```json\n{\"nom\":\"An\"}\n```")}, "", "invalid character"},
		{"prose for ever", person, []script{says("It is An.")}, "", "invalid character"},
		{"nothing the second time", person, []script{says("It is An."), says("")}, "", "invalid character"},
		{"cut", person, []script{cut}, `{"name":"A`, ""},
	}
	for _, beside := range []bool{true, false} {
		for _, tools := range []bool{false, true} {
			for _, tt := range tests {
				scripts := slices.Clone(tt.scripts)
				if tools {
					scripts = append([]script{calls("Let me look.", "s__t", "{}")}, scripts...)
				}
				b := jsonBench(t, beside, tools, scripts...)
				p := b.play(t, wanting(tt.schema))
				at := tt.name
				if tools {
					at += ", after a call"
				}
				if !beside {
					at += ", not beside tools"
				}
				empty := providers.KindOf(p.err) == providers.KindIncomplete && strings.HasPrefix(tt.name, "nothing")
				switch {
				case tt.want == "":
					if p.done != nil || p.text != "" || !empty && !errors.Is(p.err, agent.ErrSchema) {
						t.Errorf("%s: %q, done %+v, %v", at, p.text, p.done, p.err)
					}
				case p.err != nil || p.text != tt.want || len(p.commentary) > 0:
					t.Errorf("%s: %q, commentary %q, %v", at, p.text, p.commentary, p.err)
				case len(b.memory.saved) != 1 || b.memory.saved[0].Answer != tt.want:
					t.Errorf("%s: saved %+v", at, b.memory.saved)
				case tt.name == "cut" != (p.done.Finish == providers.FinishLength):
					t.Errorf("%s: finish %q", at, p.done.Finish)
				}
				b.checkRequests(t, at, tt.schema, tt.told, beside, tools)
			}
		}
	}
}

// checkRequests checks which requests had the schema and tools, and what the model was told of its first
// answer.
func (b *bench) checkRequests(t *testing.T, at, schema, told string, beside, tools bool) {
	t.Helper()
	answers := b.model.requests
	if tools {
		answers = answers[1:]
	}
	for i, req := range b.model.requests {
		first := tools && i <= 1
		if has := string(req.Schema) == schema; has != (beside || !first) {
			t.Errorf("%s: request %d has the schema %s", at, i, req.Schema)
		}
		if offers := len(req.Tools) > 0 && !req.ForbidCalls; offers != first {
			t.Errorf("%s: request %d offers tools: %v", at, i, offers)
		}
		if len(req.Schema) > 0 && len(req.Tools) > 0 && !beside {
			t.Errorf("%s: request %d has a schema beside tools", at, i)
		}
	}
	for i, req := range answers {
		last := req.Messages[len(req.Messages)-1]
		if i == 1 && (!strings.Contains(last.FullText(), told) || req.Messages[len(req.Messages)-2].Role != schemas.RoleAssistant) {
			t.Errorf("%s: asked again with %q, want %q", at, last.FullText(), told)
		}
	}
	most := 2
	if tools && !beside { // the first request could not hold the schema
		most = 3
	}
	if again := len(answers) > 1; again != (told != "") || len(answers) > most {
		t.Errorf("%s: %d answers were asked for", at, len(answers))
	}
}

// The prompt names the schema only where the service does not show it to the model.
func TestRun_schema_inThePrompt(t *testing.T) {
	for _, beside := range []bool{true, false} {
		b := jsonBench(t, beside, false, says(`{"name":"An"}`))
		b.play(t, wanting(person))
		req := b.model.requests[0]
		question := req.Messages[len(req.Messages)-1].FullText()
		if strings.Contains(req.System, "JSON") || strings.Contains(question, person) == beside || !strings.Contains(question, "one valid JSON value only") {
			t.Errorf("beside tools %v: system %q, question %q", beside, req.System, question)
		}
	}
}

// What the service enforces is shown as it arrives, once no call can follow it; anything else is held.
func TestRun_schema_held(t *testing.T) {
	const pieces = 3
	for _, tt := range []struct {
		name            string
		enforces, tools bool
		change          func(*agent.Turn)
		want            int
	}{
		{"enforced", true, false, func(*agent.Turn) {}, pieces},
		{"not enforced", false, false, func(*agent.Turn) {}, 1},
		{"a call may follow", true, true, func(*agent.Turn) {}, 1},
		{"another process may continue it", true, false, func(turn *agent.Turn) { turn.GoesOn = true }, 1},
	} {
		b := jsonBench(t, true, tt.tools, says(`{"na`, `me":`, `"An"}`))
		b.route.Provider = structured{b.model, true, tt.enforces}
		as := schemas.Assistant{}
		if tt.tools {
			as.Tools = []string{"*"}
		}
		turn := wanting(person)
		tt.change(&turn)
		p := b.with(t, as).play(t, turn)
		shown := 0
		for _, ev := range p.events {
			if ev.Kind == answer.KindText {
				shown++
			}
		}
		if p.err != nil || p.text != `{"name":"An"}` || shown != tt.want {
			t.Errorf("%s: %q in %d pieces, want %d: %v", tt.name, p.text, shown, tt.want, p.err)
		}
	}
}

// A service that enforces a schema and yet breaks it, or a fallback that does not enforce it, makes no
// success.
func TestRun_schema_notEnforcedAfterAll(t *testing.T) {
	switched := func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		_ = yield(providers.Chunk{Text: "It is An.", Switched: &providers.Switch{Provider: "other", Why: "busy"}}, nil) &&
			yield(providers.Chunk{Finish: providers.FinishStop}, nil)
	}
	retracts := func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		_ = yield(providers.Chunk{Text: "Hm."}, nil) && yield(providers.Chunk{Retract: true}, nil) &&
			yield(providers.Chunk{Text: `{"name":"An"}`}, nil) && yield(providers.Chunk{Finish: providers.FinishStop}, nil)
	}
	for name, tt := range map[string]struct {
		scripts []script
		want    string
	}{
		"it breaks it":           {[]script{says(`{"nom":"An"}`)}, ""},
		"it takes text back":     {[]script{retracts}, ""},
		"a fallback answers":     {[]script{switched, says(`{"name":"An"}`)}, `{"name":"An"}`},
		"a fallback breaks it":   {[]script{switched, switched}, ""},
		"it withholds its words": {[]script{says("")}, ""},
	} {
		b := newBench(tt.scripts...)
		b.route.Provider = structured{b.model, true, true}
		p := b.with(t, schemas.Assistant{}).play(t, wanting(person))
		if good := p.err == nil && p.done != nil; good != (tt.want != "") || good && p.text != tt.want {
			t.Errorf("%s: %q, %+v, %v", name, p.text, p.done, p.err)
		}
	}
}

// A text of the host in place of the JSON value says that it is one.
func TestRun_schema_refusals(t *testing.T) {
	for name, tt := range map[string]struct {
		question string
		change   func(*bench)
		want     string
	}{
		"the guardrail":    {"Who won the football world cup in 2014?", func(*bench) {}, "Sorry"},
		"its outage":       {"Who is it?", func(b *bench) { b.model.judge = breaks("") }, ""},
		"an emergency":     {"tooth pain so bad I want to kill myself", func(*bench) {}, "**You matter"},
		"a passed verdict": {"What helps against caries?", func(b *bench) { b.model.judge = says("YES") }, "{}"},
	} {
		b := dentalBench(says(`{}`))
		b.model.judge = says("NO")
		tt.change(b)
		turn := ask(tt.question)
		turn.Schema = providers.AnyObject()
		p := b.with(t, dental()).play(t, turn)
		if p.err != nil {
			t.Errorf("%s: %v", name, p.err)
			continue
		}
		for _, ev := range p.events {
			if ev.Kind == answer.KindText && ev.Refusal == (ev.Text == "{}") {
				t.Errorf("%s: %q, refusal %v", name, ev.Text, ev.Refusal)
			}
		}
		if !strings.Contains(p.text, tt.want) {
			t.Errorf("%s: %q", name, p.text)
		}
	}
}

// The stored answer of a key is given as what it was.
func TestRun_schema_repeated(t *testing.T) {
	for stored, refusal := range map[string]bool{`{"name":"An"}`: false, "**You matter": true} {
		b := newBench(says("x"))
		b.memory.opening.Finished = &schemas.Finished{Answer: stored}
		p := b.with(t, schemas.Assistant{}).play(t, wanting(person))
		if p.err != nil || p.text != stored || p.events[len(p.events)-2].Refusal != refusal {
			t.Errorf("%q: %q, %+v, %v", stored, p.text, p.events, p.err)
		}
	}
}

// What a call of the client follows is no answer, and no turn offline has one. A schema that cannot be
// used is the client's fault.
func TestRun_schema_withoutAnAnswer(t *testing.T) {
	b := newBench(calls("Let me look.", "lookup", "{}"))
	turn := wanting(person)
	turn.ClientTools = []schemas.ToolInfo{{Name: "lookup", InputSchema: []byte(`{"type":"object"}`)}}
	if p := b.with(t, schemas.Assistant{}).play(t, turn); p.err != nil || len(p.done.Calls) != 1 || p.text != "" {
		t.Errorf("a call of the client: %q, %+v, %v", p.text, p.done, p.err)
	}
	b = newBench(says("x"))
	b.route.Offline = true
	if p := b.with(t, schemas.Assistant{}).play(t, wanting(person)); providers.KindOf(p.err) != providers.KindUnavailable || len(b.model.requests) > 0 {
		t.Errorf("offline: %q, %v, %d calls", p.text, p.err, len(b.model.requests))
	}
	for _, schema := range []string{`{"type":"zz"}`, `{"$ref":"https://elsewhere.example/x.json"}`, `{"$ref":"file:///etc/passwd"}`, `[`} {
		b := newBench(says("x"))
		if p := b.with(t, schemas.Assistant{}).play(t, wanting(schema)); !errors.Is(p.err, agent.ErrInvalid) || len(b.model.requests) > 0 || len(p.events) > 0 {
			t.Errorf("%s: %v", schema, p.err)
		}
	}
}

// The two-pass flow ends in a pass with the schema, whether the service takes it beside tools or not.
func TestRun_schema_twoPass(t *testing.T) {
	for _, beside := range []bool{true, false} {
		b := newBench(calls("", "s__t", "{}"), says(`{"name":"An"}`))
		b.route.Provider = structured{fakeModel: b.model, beside: beside}
		b.tools.add("s", "t", `{"found":1}`)
		p := b.with(t, schemas.Assistant{Tools: []string{"*"}, Flow: schemas.FlowTwoPass}).play(t, wanting(person))
		last := b.model.requests[len(b.model.requests)-1]
		got := []any{p.text, p.err, len(b.model.requests), string(last.Schema), len(last.Tools) > 0, last.ForbidCalls}
		if diff := cmp.Diff([]any{`{"name":"An"}`, error(nil), 2, person, beside, beside}, got); diff != "" {
			t.Errorf("beside tools %v: %s", beside, diff)
		}
	}
}

// The schema of a client reads as text of the client: the answer is watched. That of any object has none.
func TestRun_schema_armsTheWatch(t *testing.T) {
	for _, schema := range []string{`{"type":"object","properties":{"advice":{"type":"string","description":"about football"}}}`, string(providers.AnyObject())} {
		b := newBench(says(`{"advice":"`+offTopicText+`"}`)).with(t, schemas.Assistant{Topic: "dental"})
		b.model.judge = refuses("Football")
		turn := ask("What helps against caries?")
		turn.Schema = json.RawMessage(schema)
		p := b.play(t, turn)
		if watched := p.err == nil && p.text == "" && p.done.Finish == providers.FinishContentFilter; watched != strings.Contains(schema, "football") {
			t.Errorf("%s: %q, %+v, %v", schema, p.text, p.done, p.err)
		}
	}
}

// What is checked is what the client gets: a filter that takes a part of the value away is no success.
func TestRun_schema_filtered(t *testing.T) {
	const secret = "The duke of the northern valleys keeps seventeen silver foxes behind the old windmill and feeds them on Tuesdays."
	quotes := says(`{"name":"` + secret + `"}`)
	b := newBench(quotes, quotes).with(t, schemas.Assistant{SystemPrompt: secret})
	if p := b.play(t, wanting(person)); p.done != nil && !json.Valid([]byte(p.text)) || strings.Contains(p.text, "foxes") {
		t.Errorf("%q, %v", p.text, p.err)
	}
}
