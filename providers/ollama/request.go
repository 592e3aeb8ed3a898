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
	"molar/providers/wire"
	"molar/schemas/lower"
)

// chatRequest is the body of /api/chat. Its tools replace the package's, which would be rebuilt
// for every request.
type chatRequest struct {
	api.ChatRequest
	Tools []json.RawMessage `json:"-"`

	window     int // num_ctx; 0 leaves it to the server
	most       int // the largest allowed window
	thinkForms []any
	headers    map[string]string
	extra      json.RawMessage
}

// imageBytes is an image's share in the estimated length of a prompt.
const imageBytes = 4500

// prepare checks the request against the model and builds the body.
func (c *call) prepare(ctx context.Context) (*chatRequest, error) {
	p := c.p
	if c.req.Model == "" {
		return nil, p.faults.Fail(providers.KindInvalid, "", errors.New("no model is named"))
	}
	info, err := p.info(ctx, c.req.Model)
	if err != nil {
		return nil, err
	}
	req := p.thinkers.Shape(c.req).With(p.tuning)
	if !req.ForbidCalls {
		c.set = p.lessons.Tools.Set(req.Tools, req.After)
	}
	if len(c.set) > 0 && (!info.tools || req.ToolChoice == providers.ToolRequired) {
		if c.form, err = newForm(c.set, req.ToolChoice == providers.ToolRequired); err != nil {
			return nil, c.fail(providers.KindInvalid, err)
		}
		req.System = strings.TrimSpace(req.System + "\n\n" + c.form.prompt)
	}
	messages, err := p.messages(req, c.set, info)
	if err != nil {
		return nil, err
	}
	if !info.vision && hasImages(messages) {
		return nil, c.fail(providers.KindInvalid, errors.New("this model cannot see images"))
	}
	chat := &chatRequest{most: p.most(info), headers: req.Headers, extra: req.ExtraBody}
	chat.ChatRequest = api.ChatRequest{
		Model: req.Model, Messages: messages, KeepAlive: p.keepAlive,
		Stream: new(true), Truncate: new(false), Shift: new(false),
	}
	if err := c.answerForm(chat, req); err != nil {
		return nil, err
	}
	chat.thinkForms = info.think(req.Thinking)
	if refused := p.lessons.Refused(req.Model, paramThink); refused < len(chat.thinkForms) {
		chat.Think = &api.ThinkValue{Value: chat.thinkForms[refused]}
	}
	chat.window = p.window(ctx, req.Model, info, &need{prompt: chat.promptBytes() / bytesPerToken, answer: req.MaxTokens, after: req.After})
	chat.Options = options(req)
	if isUnreadable(req.After) {
		chat.repair()
	}
	return chat, nil
}

// answerForm adds the tools to the body, or the form of the answer.
func (c *call) answerForm(chat *chatRequest, req providers.Request) (err error) {
	switch {
	case c.form != nil:
		chat.Format = c.form.schema
	case len(c.set) > 0:
		chat.Tools = c.set.Wire()
	case bytes.Equal(req.Schema, providers.AnyObject()):
		chat.Format = json.RawMessage(`"json"`)
	case len(req.Schema) > 0:
		if chat.Format, err = lower.ForFormat(req.Schema); err != nil {
			return c.fail(providers.KindInvalid, err)
		}
	}
	return nil
}

// options returns the model's parameters except the window.
func options(req providers.Request) map[string]any {
	opts := map[string]any{}
	if req.Temperature != nil {
		opts["temperature"] = *req.Temperature
	}
	if req.TopP != nil {
		opts["top_p"] = *req.TopP
	}
	if req.Seed != nil {
		opts["seed"] = *req.Seed
	}
	if req.MaxTokens > 0 {
		opts["num_predict"] = req.MaxTokens
	}
	if len(req.Stop) > 0 {
		opts["stop"] = req.Stop
	}
	return opts
}

// promptBytes estimates the length of the rendered prompt.
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

// repair describes the fault of the last try to the model.
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

// encode returns the body. It inserts the tools as they are, since encoding/json would check and
// copy each of them again for every request, and there may be a hundred.
func (r *chatRequest) encode() ([]byte, error) {
	var body bytes.Buffer
	body.Grow(r.promptBytes() + len(r.Tools) + 512)
	if err := json.NewEncoder(&body).Encode(r); err != nil {
		return nil, err
	}
	body.Truncate(body.Len() - len("\n"))
	if len(r.Tools) == 0 {
		return body.Bytes(), nil
	}
	body.Truncate(body.Len() - len("}"))
	body.WriteString(`,"tools":[`)
	for i, tool := range r.Tools {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(tool)
	}
	body.WriteString("]}")
	return body.Bytes(), nil
}

// post sends the request.
func (p *Provider) post(ctx context.Context, r *chatRequest) (*http.Response, error) {
	if r.window > 0 {
		r.Options["num_ctx"] = r.window
	}
	body, err := r.encode()
	if err != nil {
		return nil, err
	}
	if body, err = wire.Merge(body, r.extra); err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, r.Model, err)
	}
	req, forget, err := wire.NewPost(ctx, p.chat, body)
	if err != nil {
		return nil, err
	}
	defer forget()
	req.Header.Set("Accept", "application/x-ndjson")
	return p.do(req, r.headers)
}

// do sends a request with further headers, which override others.
func (p *Provider) do(req *http.Request, headers map[string]string) (*http.Response, error) {
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	return p.http.Do(req)
}
