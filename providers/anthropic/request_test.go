package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/anthropic"
	"molar/schemas"
)

func callPart(id, name, args, state string) schemas.Part {
	p := schemas.Part{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: name, Arguments: args}}}
	if state != "" {
		p.State = &schemas.ProviderState{Provider: "anthropic", Data: json.RawMessage(state)}
	}
	return p
}

func resultPart(id, output string, failed bool) schemas.Part {
	return schemas.Part{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: id, ToolName: "find", Output: json.RawMessage(output), IsError: failed}}
}

func said(text string) schemas.Part { return schemas.Part{Kind: schemas.PartText, Text: text} }

func answered(parts ...schemas.Part) schemas.Message {
	return schemas.Message{Role: schemas.RoleAssistant, Parts: parts}
}

func results(parts ...schemas.Part) schemas.Message {
	return schemas.Message{Role: schemas.RoleTool, Parts: parts}
}

const plainMark = `,"cache_control":{"type":"ephemeral"}`

// Each history becomes messages that the service accepts: from the user first and last, in turns,
// with the results of all calls directly behind them.
func TestMessages(t *testing.T) {
	t.Parallel()
	user := func(text string) schemas.Message { return schemas.Text(schemas.RoleUser, text) }
	const thoughts = `{"id":"toolu_1","thoughts":[{"block":{"type":"thinking","thinking":"a<b","signature":"s/+="}},{"at":5,"block":{"type":"redacted_thinking","data":"x"}}]}`
	for name, tt := range map[string]struct {
		messages []schemas.Message
		want     string
	}{
		"a turn with thoughts": {
			[]schemas.Message{
				user("q"), answered(said("Look."), callPart("1", "w__find", `{"n":9007199254740993}`, thoughts), callPart("2", "w__find", ``, `{"id":"toolu_2"}`)),
				results(resultPart("2", `"two"`, true), resultPart("1", `"one"`, false)),
			},
			`[{"role":"user","content":[{"type":"text","text":"q"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"a<b","signature":"s/+="},{"type":"text","text":"Look."},{"type":"redacted_thinking","data":"x"},` +
				`{"type":"tool_use","id":"toolu_1","name":"w__find","input":{"n":9007199254740993}},{"type":"tool_use","id":"toolu_2","name":"w__find","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"two"}],"is_error":true}]}]`,
		},
		"an earlier turn": {
			[]schemas.Message{user("q"), answered(callPart("1", "w__find", `{}`, thoughts)), results(resultPart("1", `"one"`, false)), answered(said("It is one.")), user("again")},
			`[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"w__find","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"}]}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"It is one."}]},{"role":"user","content":[{"type":"text","text":"again"}]}]`,
		},
		"a call without a result, and a result without a call": {
			[]schemas.Message{user("q"), answered(callPart("1", "w__find", `nonsense`, "")), results(resultPart("7", `"stray"`, false)), user("again")},
			`[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"w__find","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"This call was not carried out."}],"is_error":true},{"type":"text","text":"stray"},{"type":"text","text":"again"}]}]`,
		},
		"another's ids": {
			[]schemas.Message{user("q"), answered(callPart("call:1.ü", "w__find", `{}`, ""), callPart("call:1.ü", "w__find", `{}`, ""))},
			`[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"call_1__","name":"w__find","input":{}},{"type":"tool_use","id":"call_1__-2","name":"w__find","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1__","content":[{"type":"text","text":"This call was not carried out."}],"is_error":true},{"type":"tool_result","tool_use_id":"call_1__-2","content":[{"type":"text","text":"This call was not carried out."}],"is_error":true}]}]`,
		},
		"an empty result": {
			[]schemas.Message{user("q"), answered(callPart("1", "w__find", `{}`, "")), results(resultPart("1", `""`, false))},
			`[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"w__find","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]`,
		},
		"blank texts, two questions, an answer at both ends": {
			[]schemas.Message{answered(said("Hello.")), user(" \n"), user("a"), user("b"), answered(said("Yes.")), answered(said("And."))},
			`[{"role":"user","content":[{"type":"text","text":"(The conversation begins with an answer.)"}]},{"role":"assistant","content":[{"type":"text","text":"Hello."}]},` +
				`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":[{"type":"text","text":"Yes."},{"type":"text","text":"And."}]},` +
				`{"role":"user","content":[{"type":"text","text":"Please go on."}]}]`,
		},
	} {
		s := &service{answers: []reply{says("ok")}}
		req := question()
		req.Messages = tt.messages
		if got := ask(t, s.open(t, anthropic.Config{}), req); got.err != nil {
			t.Errorf("%s: %v", name, got.err)
			continue
		}
		if diff := cmp.Diff(tt.want, strings.ReplaceAll(field(t, s.bodies[0], "messages"), plainMark, "")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Another endpoint's state is not sent.
func TestMessages_ForeignState(t *testing.T) {
	t.Parallel()
	s := &service{answers: []reply{says("ok")}}
	req := question()
	req.Messages = append(req.Messages, answered(callPart("1", "w__find", `{}`, `{"id":"toolu_1","thoughts":[{"block":{"type":"thinking"}}]}`)), results(resultPart("1", `"one"`, false)))
	if got := ask(t, s.open(t, anthropic.Config{Name: "claude"}), req); got.err != nil || strings.Contains(s.bodies[0], "toolu_1") || strings.Contains(s.bodies[0], `"thinking"`) {
		t.Errorf("%v, sent %s", got.err, s.bodies[0])
	}
}

// What the next request repeats is marked for the cache: tools, instructions, everything before the
// last question, and all of it. Each mark is on the block that stood at that place before.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	const mark = "…"
	s := &service{answers: []reply{says("ok")}}
	p := s.open(t, anthropic.Config{})
	marked := func(req providers.Request) string {
		t.Helper()
		req.System, req.Tools = "Be brief.", []schemas.ToolInfo{{Name: "w__a", InputSchema: json.RawMessage(`{}`)}, find()}
		if got := ask(t, p, req); got.err != nil {
			t.Fatal(got.err)
		}
		body := s.bodies[len(s.bodies)-1]
		all := field(t, body, "tools") + field(t, body, "system") + field(t, body, "messages")
		return strings.ReplaceAll(strings.NewReplacer(`,"cache_control":{"type":"ephemeral"}`, mark).Replace(all), `"type":`, "")
	}
	const tools = `[{"name":"w__a","input_schema":{"object","properties":{}}},{"name":"w__find","input_schema":{"object","properties":{"city":{"string"}}}` + mark + `}]`
	const system = `[{"text","text":"Be brief."` + mark + `}]`
	req := question()
	if diff := cmp.Diff(tools+system+`[{"role":"user","content":[{"text","text":"q"`+mark+`}]}]`, marked(req)); diff != "" {
		t.Errorf("the first turn: %s", diff)
	}
	req.Messages = append(req.Messages, answered(said("a")), schemas.Text(schemas.RoleUser, "q2"))
	const history = `[{"role":"user","content":[{"text","text":"q"}]},{"role":"assistant","content":[{"text","text":"a"` + mark + `}]},`
	if diff := cmp.Diff(tools+system+history+`{"role":"user","content":[{"text","text":"q2"`+mark+`}]}]`, marked(req)); diff != "" {
		t.Errorf("the second turn: %s", diff)
	}
	req.Messages = append(req.Messages, answered(callPart("1", "w__find", `{}`, "")), results(resultPart("1", `"one"`, false)))
	if diff := cmp.Diff(tools+system+history+`{"role":"user","content":[{"text","text":"q2"}]},{"role":"assistant","content":[{"tool_use","id":"1","name":"w__find","input":{}}]},`+
		`{"role":"user","content":[{"tool_result","tool_use_id":"1","content":[{"text","text":"one"}]`+mark+`}]}]`, marked(req)); diff != "" {
		t.Errorf("its second round: %s", diff)
	}
	req = question()
	req.Pass = providers.PassGuardrail
	if got := marked(req); strings.Count(got, mark) != 2 || !strings.HasPrefix(got, tools+system) {
		t.Errorf("the small model: %s", got)
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(*providers.Request)
		want string
	}{
		"free":                     {func(*providers.Request) {}, ""},
		"forced":                   {func(r *providers.Request) { r.ToolChoice = providers.ToolRequired }, `{"type":"any"}`},
		"forbidden":                {func(r *providers.Request) { r.ForbidCalls = true }, `{"type":"none"}`},
		"forced, while it thinks":  {func(r *providers.Request) { r.ToolChoice, r.Thinking = providers.ToolRequired, schemas.ThinkingLow }, ""},
		"forced, and not to think": {func(r *providers.Request) { r.ToolChoice, r.Thinking = providers.ToolRequired, schemas.ThinkingOff }, `{"type":"any"}`},
		"without tools":            {func(r *providers.Request) { r.Tools, r.ForbidCalls = nil, true }, ""},
	} {
		s := &service{answers: []reply{says("ok")}}
		req := question()
		req.Tools = []schemas.ToolInfo{find()}
		tt.set(&req)
		if got := ask(t, s.open(t, anthropic.Config{}), req); got.err != nil || field(t, s.bodies[0], "tool_choice") != tt.want {
			t.Errorf("%s: %v, sent %s", name, got.err, field(t, s.bodies[0], "tool_choice"))
		}
	}
}

// The service refuses calls in the history of a request without tools: what was called is declared
// then, and may not be called, even if the model takes no choice of tools.
func TestTools_OfTheHistory(t *testing.T) {
	t.Parallel()
	history := []schemas.Message{
		schemas.Text(schemas.RoleUser, "q"), answered(callPart("1", "w__find", `{}`, ""), callPart("2", "w__find", `{}`, ""), callPart("3", "w__a", `{}`, "")),
		results(resultPart("1", `"one"`, false), resultPart("2", `"two"`, false), resultPart("3", `"three"`, false)),
	}
	const declared = `[{"name":"w__find","input_schema":{"type":"object"}},{"name":"w__a","input_schema":{"type":"object"}}]`
	for name, tt := range map[string]struct {
		answers       []reply
		tools, choice string
	}{
		"declared":                      {nil, declared, `{"type":"none"}`},
		"declared, without tool_choice": {[]reply{refused("tool_choice: Extra inputs are not permitted")}, declared, ""},
	} {
		s := &service{answers: append(tt.answers, says("ok"))}
		req := question()
		req.Messages = history
		got := ask(t, s.open(t, anthropic.Config{}), req)
		last := s.bodies[len(s.bodies)-1]
		if tools := strings.ReplaceAll(field(t, last, "tools"), plainMark, ""); got.err != nil || tools != tt.tools || field(t, last, "tool_choice") != tt.choice {
			t.Errorf("%s: %v, sent %s and %s", name, got.err, tools, field(t, last, "tool_choice"))
		}
	}
	s := &service{answers: []reply{refused("tool_choice: Extra inputs are not permitted"), says("ok")}}
	req := question()
	req.Messages, req.Tools, req.ForbidCalls = history, []schemas.ToolInfo{find()}, true
	if got := ask(t, s.open(t, anthropic.Config{}), req); got.err != nil || !strings.Contains(field(t, s.bodies[1], "tools"), `"w__find"`) {
		t.Errorf("forbidden: %v, sent %s", got.err, field(t, s.bodies[1], "tools"))
	}
}

// A schema of the answer is sent beside tools too, closed as the service wants it. What it cannot keep is
// not sent.
func TestSchema(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":2}},"required":["a"]}`: `{"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"string","description":"at least 2 characters"}},"required":["a"],"additionalProperties":false}}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                            "",
	} {
		s := &service{answers: []reply{says("{}")}}
		p := s.open(t, anthropic.Config{})
		req := question()
		req.Tools, req.Schema = []schemas.ToolInfo{find()}, json.RawMessage(in)
		if got := ask(t, p, req); got.err != nil || field(t, s.bodies[0], "output_config") != want {
			t.Errorf("%v, sent %s, want %s", got.err, field(t, s.bodies[0], "output_config"), want)
		}
		if got := providers.SchemaBesideTools(p, "m", req.Schema); got != (want != "") {
			t.Errorf("it takes %s beside tools: %v", in, got)
		}
	}
}
