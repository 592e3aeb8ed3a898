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

// What a model refuses in the service's words is left out, or asked for in another form, in the same
// call and from then on.
func TestLearns(t *testing.T) {
	t.Parallel()
	think := func(wish schemas.Thinking) func(*providers.Request) {
		return func(r *providers.Request) { r.Thinking = wish }
	}
	sampling := func(r *providers.Request) { r.Temperature, r.TopP = new(0.5), new(0.9) }
	const adaptive, low = `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`
	for name, tt := range map[string]struct {
		set      func(*providers.Request)
		refusals []string
		// want are the fields of the last request, and asked is the number of requests.
		want map[string]string
	}{
		"adaptive thinking": {think(schemas.ThinkingLow), nil, map[string]string{"thinking": adaptive, "output_config": low}},
		"a budget": {
			think(schemas.ThinkingMedium),
			[]string{"adaptive thinking is not supported on this model"},
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":8192}`, "output_config": ""},
		},
		"a budget, in the words of a check": {
			think(schemas.ThinkingHigh),
			[]string{"thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'"},
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":16000}`},
		},
		"effort first": {
			think(schemas.ThinkingLow),
			[]string{"This model does not support the effort parameter.", "adaptive thinking is not supported on this model"},
			map[string]string{"thinking": `{"type":"enabled","budget_tokens":2048}`, "output_config": ""},
		},
		"no thinking at all": {
			think(schemas.ThinkingLow),
			[]string{"adaptive thinking is not supported on this model", "'m' does not support thinking."},
			map[string]string{"thinking": "", "output_config": ""},
		},
		"a small answer leaves no budget": {
			func(r *providers.Request) { r.Thinking, r.MaxTokens = schemas.ThinkingLow, 1000 },
			[]string{"adaptive thinking is not supported on this model"},
			map[string]string{"thinking": "", "max_tokens": "1000"},
		},
		"display": {
			think(schemas.ThinkingLow),
			[]string{"thinking.adaptive.display: Extra inputs are not permitted"},
			map[string]string{"thinking": `{"type":"adaptive"}`, "output_config": low},
		},
		"always thinking": {
			think(schemas.ThinkingOff),
			[]string{`"thinking.type.disabled" is not supported for this model.`},
			map[string]string{"thinking": "", "output_config": low},
		},
		"sampling while thinking": {
			func(r *providers.Request) { sampling(r); r.Thinking = schemas.ThinkingLow }, nil,
			map[string]string{"temperature": "", "top_p": "", "thinking": adaptive},
		},
		"sampling while thinking by itself": {
			sampling,
			[]string{"`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.", "`top_p` is deprecated for this model."},
			map[string]string{"temperature": "", "top_p": ""},
		},
		"one of both": {
			sampling,
			[]string{"`temperature` and `top_p` cannot both be specified for this model. Please use only one."},
			map[string]string{"temperature": "", "top_p": "0.9"},
		},
		"forced calls": {
			func(r *providers.Request) { r.Tools, r.ToolChoice = []schemas.ToolInfo{find()}, providers.ToolRequired },
			[]string{"Thinking may not be enabled when tool_choice forces tool use."},
			map[string]string{"tool_choice": ""},
		},
		"the answer's schema": {
			func(r *providers.Request) {
				r.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
				r.Thinking = schemas.ThinkingLow
			},
			[]string{"output_config.format: Extra inputs are not permitted"},
			map[string]string{"output_config": low},
		},
		"the longest answer": {
			func(*providers.Request) {},
			[]string{"max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022"},
			map[string]string{"max_tokens": "8192"},
		},
		"too hot": {func(r *providers.Request) { r.Temperature = new(1.5) }, nil, map[string]string{"temperature": "1"}},
		"marks": {
			func(r *providers.Request) { r.System = "Be brief." },
			[]string{"system.0.cache_control: Extra inputs are not permitted"},
			map[string]string{"system": `[{"type":"text","text":"Be brief."}]`},
		},
	} {
		s := &service{}
		for _, message := range tt.refusals {
			s.answers = append(s.answers, refused(message))
		}
		s.answers = append(s.answers, says("ok"))
		p := s.open(t, anthropic.Config{})
		req := question()
		tt.set(&req)
		for range 2 {
			if got := ask(t, p, req); got.err != nil || got.text != "ok" {
				t.Errorf("%s: %q %v", name, got.text, got.err)
			}
			for key, want := range tt.want {
				if got := field(t, s.bodies[len(s.bodies)-1], key); got != want {
					t.Errorf("%s: %s is %s, want %s", name, key, got, want)
				}
			}
		}
		if want := len(tt.refusals) + 2; len(s.bodies) != want {
			t.Errorf("%s: %d requests, want %d", name, len(s.bodies), want)
		}
	}
}

// A refusal of one prompt, one tool's schema or one answer's schema says nothing of the model: the next request
// is like the first.
func TestLearns_NotFromOnePrompt(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"messages.0.content.0.thinking: Input should be a valid string",
		"messages.0: `temperature` of the patient is not allowed here",
		"tools.0.custom.input_schema.properties.effort: type is not supported",
		"output_config.format.schema: For 'integer' type, property 'minimum' is not supported",
	} {
		s := &service{answers: []reply{refused(message), says("ok")}}
		p := s.open(t, anthropic.Config{})
		req := question()
		req.Thinking, req.Schema = schemas.ThinkingLow, json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
		req.Tools = []schemas.ToolInfo{{Name: "w__other", InputSchema: json.RawMessage(`{}`)}}
		for range 2 {
			ask(t, p, req)
		}
		last := s.bodies[len(s.bodies)-1]
		for _, name := range []string{"thinking", "output_config"} {
			if got, was := field(t, last, name), field(t, s.bodies[0], name); got != was || was == "" {
				t.Errorf("%s: %s is %s, was %s", message, name, got, was)
			}
		}
	}
}

const oneThought = `{"id":"toolu_1","thoughts":[{"block":{"type":"thinking","thinking":"a","signature":"s"}}]}`

// inTurn returns a request in the middle of a turn, whose call has the state.
func inTurn(state string) providers.Request {
	req := question()
	req.Messages = append(req.Messages, answered(callPart("1", "w__find", `{}`, state)), results(resultPart("1", `"one"`, false)))
	return req
}

// Thoughts that the service refuses are left out of that request. If it offers to drop those of a changed
// prompt, that is asked for from then on.
func TestThoughts_Refused(t *testing.T) {
	t.Parallel()
	const bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
	for name, tt := range map[string]struct {
		says   string
		sent   []bool // whether each request holds the thought
		beta   string // of the last request
		blocks string // thinking of the last request
	}{
		"a signature":  {"messages.1.content.0: Invalid `signature` in `thinking` block", []bool{true, false, true}, "", ""},
		"changed":      {"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", []bool{true, false, true}, "", ""},
		"another turn": {bound, []bool{true, true, true}, "thinking-binding-controls-2026-08-01", `{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`},
	} {
		s := &service{answers: []reply{refused(tt.says), says("ok")}}
		p := s.open(t, anthropic.Config{})
		for range 2 {
			if got := ask(t, p, inTurn(oneThought)); got.err != nil {
				t.Errorf("%s: %v", name, got.err)
			}
		}
		var sent []bool
		for _, b := range s.bodies {
			sent = append(sent, strings.Contains(b, `"signature":"s"`))
		}
		last := len(s.bodies) - 1
		if diff := cmp.Diff(tt.sent, sent); diff != "" || s.headers[last].Get("Anthropic-Beta") != tt.beta || field(t, s.bodies[last], "thinking") != tt.blocks {
			t.Errorf("%s: %s %v, thinking %s", name, diff, s.headers[last], field(t, s.bodies[last], "thinking"))
		}
	}
}

// A model with a budget wants the turn's thoughts. Within a turn whose calls have none, because another
// provider made them, it does not think; a model that decides for itself may.
func TestThoughts_AnotherProvidersCalls(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ refusal, state, want string }{
		"a budget, its own calls":    {"adaptive thinking is not supported on this model", oneThought, `{"type":"enabled","budget_tokens":2048}`},
		"a budget, another's calls":  {"adaptive thinking is not supported on this model", "", ""},
		"adaptive, another's calls":  {"", "", `{"type":"adaptive","display":"summarized"}`},
		"a budget, refused thoughts": {"adaptive thinking is not supported on this model\nInvalid `signature` in `thinking` block", oneThought, ""},
	} {
		s := &service{}
		for message := range strings.SplitSeq(tt.refusal, "\n") {
			if message != "" {
				s.answers = append(s.answers, refused(message))
			}
		}
		s.answers = append(s.answers, says("ok"))
		req := inTurn(tt.state)
		req.Thinking = schemas.ThinkingLow
		if got := ask(t, s.open(t, anthropic.Config{}), req); got.err != nil {
			t.Errorf("%s: %v", name, got.err)
		}
		if got := field(t, s.bodies[len(s.bodies)-1], "thinking"); got != tt.want {
			t.Errorf("%s: thinking %s, want %s", name, got, tt.want)
		}
	}
}

// A prompt that leaves less room than the answer may take gets a shorter answer, in that call only.
func TestRoom(t *testing.T) {
	t.Parallel()
	s := &service{answers: []reply{refused("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again"), says("ok")}}
	p := s.open(t, anthropic.Config{})
	for range 2 {
		if got := ask(t, p, question()); got.err != nil {
			t.Fatal(got.err)
		}
	}
	var sent []string
	for _, b := range s.bodies {
		sent = append(sent, field(t, b, "max_tokens"))
	}
	if diff := cmp.Diff([]string{"32000", "10000", "32000"}, sent); diff != "" {
		t.Error(diff)
	}
}
