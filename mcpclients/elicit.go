package mcpclients

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// maxQuestion bounds a server's question, in bytes.
const maxQuestion = 4 << 10

// An Elicitor puts a server's question to a person. It may be called by several
// goroutines at once and must return soon after ctx ends. An error counts as
// [schemas.ActionCancel].
type Elicitor func(ctx context.Context, q schemas.Question) (schemas.Answer, error)

// answer handles a server's requests to the host; without an elicitor only pings.
func (s *server) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *transport.WireError) {
	switch {
	case method == transport.MethodPing:
		return json.RawMessage(`{}`), nil
	case method == transport.MethodElicit && s.settings.Elicit != nil:
		defer s.progress.hold()()
		return s.elicitor().ask(ctx, s.Name(), params)
	default:
		return nil, &transport.WireError{Code: transport.CodeMethodNotFound, Message: "the client does not serve this method"}
	}
}

// elicitor returns the elicitor for the person of the calls under way. It cancels the question if
// they are for several people.
func (s *server) elicitor() Elicitor {
	switch person, ok := s.askers.only(); {
	case !ok:
		s.log.Warn("a question of an MCP server was cancelled: its calls under way are for several people")
		return func(context.Context, schemas.Question) (schemas.Answer, error) {
			return schemas.Answer{Action: schemas.ActionCancel}, nil
		}
	case person != nil && person.Ask != nil:
		return person.Ask
	default:
		return s.settings.Elicit
	}
}

// capabilities returns the client capabilities that the host declares.
func (e Elicitor) capabilities() json.RawMessage {
	if e == nil {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(`{"elicitation":{"form":{},"url":{}}}`)
}

// ask puts one question and encodes the answer.
func (e Elicitor) ask(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, *transport.WireError) {
	var q struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, &transport.WireError{Code: transport.CodeInvalidParams, Message: "the params of " + transport.MethodElicit + " cannot be read"}
	}
	question := schemas.Question{Server: server, Message: text.Shorten(text.Visible(q.Message), maxQuestion)}
	switch cmp.Or(q.Mode, "form") {
	case "form":
		question.Schema = q.Schema
	case "url":
		u, err := url.Parse(q.URL)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			return nil, &transport.WireError{Code: transport.CodeInvalidParams, Message: "the client opens http and https addresses only"}
		}
		question.URL = u.String()
	default:
		return nil, &transport.WireError{Code: transport.CodeInvalidParams, Message: "the client shows forms and addresses only"}
	}
	answer, err := e(ctx, question)
	if err != nil || ctx.Err() != nil {
		answer = schemas.Answer{Action: schemas.ActionCancel}
	}
	out := struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content,omitempty"`
	}{Action: cmp.Or(answer.Action, schemas.ActionCancel)}
	if out.Action == schemas.ActionAccept && question.URL == "" {
		out.Content = question.Filled(answer.Content)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, &transport.WireError{Code: transport.CodeInternal, Message: "the answer is not JSON"}
	}
	return raw, nil
}
