package anthropic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/anthropic"
)

// Each kind of error of the API, by its type, before and inside a stream.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status        int
		code, message string
		kind          providers.Kind
		window        int
		final         bool
	}{
		{400, "invalid_request_error", "messages: at least one message is required", providers.KindInvalid, 0, false},
		{400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum", providers.KindContextLength, 200_000, false},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199500 + 32000 > 200000, decrease input length or `max_tokens` and try again", providers.KindContextLength, 200_000, false},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", providers.KindQuota, 0, true},
		{401, "authentication_error", "invalid x-api-key", providers.KindAuth, 0, false},
		{402, "billing_error", "there is an issue with your payment", providers.KindQuota, 0, true},
		{403, "permission_error", "your API key does not have permission to use the resource", providers.KindAuth, 0, false},
		{404, "not_found_error", "model: m", providers.KindModelNotFound, 0, false},
		{413, "request_too_large", "Request exceeds the maximum size of 33554432 bytes", providers.KindContextLength, 0, false},
		{429, "rate_limit_error", "this request would exceed your organization's rate limit of 40,000 input tokens per minute", providers.KindQuota, 0, false},
		{500, "api_error", "Internal server error", providers.KindUnavailable, 0, false},
		{504, "timeout_error", "the request timed out", providers.KindTimeout, 0, false},
		{529, "overloaded_error", "Overloaded", providers.KindUnavailable, 0, false},
	} {
		body := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, tt.code, tt.message)
		for place, answer := range map[string]reply{
			"a refusal": {tt.status, body}, "the stream": {0, "event: error\ndata: " + body + "\n\n"}, "a whole answer": {0, body},
		} {
			s := &service{answers: []reply{answer}}
			p := s.open(t, anthropic.Config{})
			var failed error
			for _, err := range p.Stream(t.Context(), question()) {
				failed = err
			}
			e, ok := errors.AsType[*providers.Error](failed)
			if !ok || e.Kind != tt.kind || e.Window != tt.window || e.Final != tt.final || e.Status != tt.status {
				t.Errorf("%s, %s: %+v", place, tt.message, e)
			}
		}
	}
}

// A refusal that names a tool's declaration leaves that tool out; one that is about its calls does not.
func TestFaults_OfATool(t *testing.T) {
	t.Parallel()
	for message, without := range map[string]bool{
		"tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12":       true,
		"tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level": true,
		"messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1":              false,
	} {
		s := &service{answers: []reply{refused(message), says("ok")}}
		req := question()
		req.Tools = append(req.Tools, find())
		got := ask(t, s.open(t, anthropic.Config{}), req)
		if without != (got.err == nil && !strings.Contains(s.bodies[len(s.bodies)-1], "w__find")) {
			t.Errorf("%s: %v, sent %s", message, got.err, s.bodies[len(s.bodies)-1])
		}
	}
}
