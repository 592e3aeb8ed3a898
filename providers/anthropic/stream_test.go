package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/anthropic"
	"molar/schemas"
)

// events returns a stream in the service's form: pairs of type and data.
func events(pairs ...string) reply {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		data := ""
		if pairs[i+1] != "" {
			data = "," + pairs[i+1]
		}
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", pairs[i], pairs[i], data)
	}
	return reply{body: b.String()}
}

// An answer with all kinds of blocks is read whole; blocks and events of other kinds pass by.
func TestStream(t *testing.T) {
	t.Parallel()
	s := &service{answers: []reply{events(
		"message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":1}}`,
		"content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`,
		"ping", "",
		"content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}`,
		"content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"m."}`,
		"content_block_delta", `"index":0,"delta":{"type":"signature_delta","signature":"a/b+"}`,
		"content_block_stop", `"index":0`,
		"content_block_start", `"index":1,"content_block":{"type":"redacted_thinking","data":"hid=="}`,
		"content_block_stop", `"index":1`,
		"content_block_start", `"index":2,"content_block":{"type":"text","text":"I "}`,
		"content_block_delta", `"index":2,"delta":{"type":"text_delta","text":"look."}`,
		"content_block_delta", `"index":2,"delta":{"type":"citations_delta","citation":{}}`,
		"content_block_stop", `"index":2`,
		"content_block_start", `"index":3,"content_block":{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}`,
		"content_block_delta", `"index":3,"delta":{"type":"input_json_delta","partial_json":"{\"query\":1}"}`,
		"content_block_stop", `"index":3`,
		"content_block_start", `"index":4,"content_block":{"type":"tool_use","id":"toolu_1","name":"w__find","input":{}}`,
		"content_block_delta", `"index":4,"delta":{"type":"input_json_delta","partial_json":""}`,
		"content_block_delta", `"index":4,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Hu"}`,
		"content_block_delta", `"index":4,"delta":{"type":"input_json_delta","partial_json":"ế\"}"}`,
		"content_block_stop", `"index":4`,
		"content_block_start", `"index":5,"content_block":{"type":"tool_use","id":"toolu_2","name":"w__find","input":{"city":"whole"}}`,
		"content_block_stop", `"index":5`,
		"content_block_start", `"index":6,"content_block":{"type":"tool_use","id":"toolu_3","name":"w__find","input":{}}`,
		"content_block_stop", `"index":6`,
		"something_new", `"index":7`,
		"message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":40,"output_tokens_details":{"thinking_tokens":9}}`,
		"message_stop", "",
	)}}
	req := question()
	req.Tools = []schemas.ToolInfo{find()}
	got := ask(t, s.open(t, anthropic.Config{}), req)
	var calls []string
	for _, p := range got.parts {
		if p.Call != nil {
			calls = append(calls, p.Call.Function.Arguments)
		}
	}
	if diff := cmp.Diff([]string{`{"city":"Huế"}`, `{"city":"whole"}`, `{}`}, calls); diff != "" || got.text != "I look." || got.thinking != "Hmm." || got.finish != providers.FinishToolCalls || got.err != nil {
		t.Errorf("%+v %s", got, diff)
	}
	want := &schemas.Usage{PromptTokens: 60, CompletionTokens: 40, TotalTokens: 100, CachedTokens: 30, ReasoningTokens: 9}
	if diff := cmp.Diff(want, got.usage); diff != "" {
		t.Error(diff)
	}
	const state = `{"id":"toolu_1","thoughts":[{"block":{"type":"thinking","thinking":"Hmm.","signature":"a/b+"}},{"block":{"type":"redacted_thinking","data":"hid=="}}]}`
	if diff := cmp.Diff(state, string(got.parts[1].State.Data)); diff != "" {
		t.Error(diff)
	}
	if h := s.headers[0]; h.Get("X-Api-Key") != "sk-ant-test" || h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Authorization") != "" {
		t.Errorf("headers %v", h)
	}
}

// Each stop reason has its consequence, also where nothing was said.
func TestStream_StopReasons(t *testing.T) {
	t.Parallel()
	const text, call = `{"type":"text","text":"a"}`, `{"type":"tool_use","id":"toolu_1","name":"w__find","input":{}}`
	for _, tt := range []struct {
		reason, block string
		finish        providers.FinishReason
		kind          providers.Kind
		asked         int
	}{
		{"end_turn", text, providers.FinishStop, "", 1},
		{"stop_sequence", text, providers.FinishStop, "", 1},
		{"tool_use", call, providers.FinishToolCalls, "", 1},
		{"end_turn", call, providers.FinishToolCalls, "", 1},
		{"max_tokens", text, providers.FinishLength, "", 1},
		{"max_tokens", call, providers.FinishLength, "", 1},
		{"max_tokens", "", providers.FinishLength, "", 1},
		{"refusal", text, providers.FinishContentFilter, "", 1},
		{"refusal", "", providers.FinishContentFilter, "", 1},
		{"refusal", call, providers.FinishContentFilter, "", 1},
		{"model_context_window_exceeded", text, providers.FinishLength, "", 1},
		{"model_context_window_exceeded", "", "", providers.KindContextLength, 1},
		{"pause_turn", text, providers.FinishStop, "", 2},
		{"pause_turn", "", "", providers.KindProtocol, 2},
		{"something_new", text, providers.FinishStop, "", 1},
		{"something_new", "", "", providers.KindProtocol, 3},
		{"end_turn", "", "", providers.KindProtocol, 3},
	} {
		s := &service{answers: []reply{whole(tt.reason, tt.block)}}
		if tt.block == "" {
			s.answers = []reply{whole(tt.reason)}
		}
		req := question()
		req.Tools = []schemas.ToolInfo{find()}
		got := ask(t, s.open(t, anthropic.Config{}), req)
		if got.finish != tt.finish || providers.KindOf(got.err) != tt.kind || len(s.bodies) != tt.asked {
			t.Errorf("%s with %q: %q %v after %d requests", tt.reason, tt.block, got.finish, got.err, len(s.bodies))
		}
		if strings.Contains(tt.block, "tool_use") != (got.finish == providers.FinishToolCalls) && len(got.parts) > 0 {
			t.Errorf("%s: half a call runs: %+v", tt.reason, got.parts)
		}
	}
}
