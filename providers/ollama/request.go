package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/schemas/lower"
)

// chatRequest is the body of /api/chat. Its tools stand in for the package's own,
// which would be built anew for every request.
type chatRequest struct {
	api.ChatRequest
	Tools []json.RawMessage `json:"tools,omitempty"`

	window int // num_ctx
	limit  int // the longest that the model takes, 0 when unknown
}

// imageBytes is what an image counts for in the estimate of a prompt.
const imageBytes = 4500

// prepare checks the request against the model and builds the body.
func (c *call) prepare(ctx context.Context) (*chatRequest, error) {
	p, req := c.p, c.req
	if req.Model == "" {
		return nil, p.fail(providers.KindInvalid, "", errors.New("no model is named"))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.firstByte, errNoOutput)
	defer cancel()
	info, err := p.info(ctx, req.Model)
	if err != nil {
		return nil, err
	}
	if req.ToolChoice != providers.ToolNone {
		c.set = p.tools.lower(req.Tools, p.log)
	}
	c.form = nil
	if len(c.set) > 0 && (!info.tools || req.ToolChoice == providers.ToolRequired) {
		if c.form, err = newForm(c.set, req.ToolChoice == providers.ToolRequired); err != nil {
			return nil, p.fail(providers.KindInvalid, req.Model, err)
		}
		req.System = strings.TrimSpace(req.System + "\n\n" + c.form.prompt)
	}
	messages, err := p.messages(req, c.set, !info.tools)
	if err != nil {
		return nil, err
	}
	if !info.vision && hasImages(messages) {
		return nil, p.fail(providers.KindInvalid, req.Model, errors.New("this model cannot see images"))
	}
	chat := &chatRequest{limit: info.context}
	chat.ChatRequest = api.ChatRequest{
		Model: req.Model, Messages: messages, KeepAlive: p.keepAlive,
		Stream: new(true), Truncate: new(false), Shift: new(false),
	}
	if info.thinking {
		chat.Think = &api.ThinkValue{Value: p.think}
	}
	switch {
	case c.form != nil:
		chat.Format = c.form.schema
	case len(c.set) > 0:
		chat.Tools = c.set.wire()
	case len(req.Schema) > 0:
		if chat.Format, err = lower.ForFormat(req.Schema); err != nil {
			return nil, p.fail(providers.KindInvalid, req.Model, err)
		}
	}
	chat.window = p.windows.fit(fullName(req.Model), estimate(chat.promptBytes(), req.MaxTokens), chat.limit)
	chat.Options = options(req)
	return chat, nil
}

// options are the model's parameters but for the window.
func options(req providers.Request) map[string]any {
	opts := map[string]any{}
	if req.Temperature != nil {
		opts["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		opts["num_predict"] = req.MaxTokens
	}
	if len(req.Stop) > 0 {
		opts["stop"] = req.Stop
	}
	return opts
}

// promptBytes is about the length of the prompt that the server will render.
func (r *chatRequest) promptBytes() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Content) + len(m.Thinking) + 32 + imageBytes*len(m.Images)
		for _, call := range m.ToolCalls {
			n += len(call.Function.Name) + len(call.Function.Arguments.String()) + 32
		}
	}
	for _, t := range r.Tools {
		n += len(t)
	}
	return n
}

// enlarge doubles the window, if the model has a larger one.
func (c *call) enlarge(r *chatRequest) bool {
	size := c.p.windows.fit(fullName(c.req.Model), 2*r.window, r.limit)
	grown := size > r.window
	r.window = size
	return grown
}

// repair tells the model what was wrong with its last try.
func (r *chatRequest) repair() {
	r.Messages = append(r.Messages, api.Message{Role: "user", Content: "(Your last tool call could not be read. " +
		"Write it again: the tool's name, and its arguments as one complete JSON object.)"})
}

func hasImages(messages []api.Message) bool {
	for _, m := range messages {
		if len(m.Images) > 0 {
			return true
		}
	}
	return false
}

// post sends the request.
func (p *Provider) post(ctx context.Context, r *chatRequest) (*http.Response, error) {
	r.Options["num_ctx"] = r.window
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base.JoinPath("/api/chat").String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/x-ndjson")
	return p.http.Do(req)
}
