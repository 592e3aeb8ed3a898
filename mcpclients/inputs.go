package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"molar/internal/text"
	"molar/mcpclients/transport"
)

// maxInputRounds bounds how often one request is sent again with answers.
const maxInputRounds = 10

// inputs handles a server that cannot send requests to the host. The server answers a request with
// questions, and the client sends the request again with the answers. This is safe, because the
// server has not acted on the first request.
type inputs struct {
	transport.Conn
	answer transport.Answerer
}

// Inner returns the wrapped connection.
func (c *inputs) Inner() transport.Conn { return c.Conn }

// An inputRequired is an answer that asks for input.
type inputRequired struct {
	ResultType string `json:"resultType"`
	Requests   map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	State json.RawMessage `json:"requestState"`
}

func (c *inputs) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	next := params
	for range maxInputRounds {
		raw, err := c.Conn.Request(ctx, method, next)
		if err != nil || !bytes.Contains(raw, []byte("input_required")) {
			return raw, err
		}
		var need inputRequired
		if json.Unmarshal(raw, &need) != nil || need.ResultType != "input_required" {
			return raw, nil
		}
		if next, err = c.withAnswers(ctx, method, params, &need); err != nil {
			return nil, err
		}
	}
	return nil, &transport.RPCError{Method: method, Code: transport.CodeInternal, Message: fmt.Sprintf("the server asked %d times for more input: end the call", maxInputRounds)}
}

// withAnswers returns params with the answers to the server's questions, and its state unchanged.
func (c *inputs) withAnswers(ctx context.Context, method string, params json.RawMessage, need *inputRequired) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if !transport.IsNull(params) {
		if err := json.Unmarshal(params, &fields); err != nil {
			return nil, fmt.Errorf("params of %s: not a JSON object", method)
		}
	}
	answers := map[string]json.RawMessage{}
	for id, question := range need.Requests {
		answer, refused := c.answer(ctx, question.Method, question.Params)
		if refused != nil {
			return nil, &transport.RPCError{Method: method, Code: refused.Code, Message: fmt.Sprintf(
				"the server wants %q answered first, which this host does not do: %s", text.Shorten(text.Visible(question.Method), 80), refused.Message)}
		}
		answers[id] = answer
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	fields["inputResponses"] = raw
	if need.State != nil {
		fields["requestState"] = need.State
	}
	return json.Marshal(fields)
}
