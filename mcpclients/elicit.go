package mcpclients

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"time"
)

const (
	methodElicit = "elicitation/create"

	codeInvalidParams = -32602

	// personTimeout is how long a server's question waits for a person. Over
	// streamable HTTP it is shorter: the answer must be on its way within 30 s.
	personTimeout     = 10 * time.Minute
	personTimeoutHTTP = 25 * time.Second
	// maxQuestion is how many bytes of a server's question are shown.
	maxQuestion = 4 << 10
)

// What a person can do with a server's question.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// An Elicitor puts a server's question to a person. It may be called by several
// goroutines at once and must return soon after ctx ends. An error counts as
// [ActionCancel].
type Elicitor func(ctx context.Context, q Question) (Answer, error)

// A Question is what a server wants to know from a person. Its text is the
// server's and not to be trusted.
type Question struct {
	Server  string
	Message string
	// Schema is a JSON Schema of a flat object: the form to fill in.
	Schema json.RawMessage
}

// An Answer is what a person did with a [Question].
type Answer struct {
	// Action is one of the Action constants.
	Action string
	// Content holds the fields that the person filled in, with [ActionAccept]. The
	// manager adds the schema's default for each field that is left out.
	Content map[string]json.RawMessage
}

// An answerer answers the requests that a server makes of the host.
type answerer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *wireError)

// answers returns the answerer for one server; without an elicitor it serves pings
// only.
func (e Elicitor) answers(server string) answerer {
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *wireError) {
		switch {
		case method == methodPing:
			return json.RawMessage(`{}`), nil
		case method == methodElicit && e != nil:
			return e.ask(ctx, server, params)
		default:
			return nil, &wireError{Code: codeMethodNotFound, Message: "the client does not serve this method"}
		}
	}
}

// capabilities is what the host tells a server that it can do.
func (e Elicitor) capabilities() json.RawMessage {
	if e == nil {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(`{"elicitation":{}}`)
}

// ask puts one question and encodes what came of it.
func (e Elicitor) ask(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, *wireError) {
	var q struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, &wireError{Code: codeInvalidParams, Message: "the params of " + methodElicit + " cannot be read"}
	}
	if cmp.Or(q.Mode, "form") != "form" {
		return nil, &wireError{Code: codeInvalidParams, Message: "the client shows forms only"}
	}
	answer, err := e(ctx, Question{Server: server, Message: cutText(visible(q.Message), maxQuestion), Schema: q.Schema})
	if err != nil || ctx.Err() != nil {
		answer = Answer{Action: ActionCancel}
	}
	out := struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content,omitempty"`
	}{Action: cmp.Or(answer.Action, ActionCancel)}
	if out.Action == ActionAccept {
		out.Content = withDefaults(q.Schema, answer.Content)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, &wireError{Code: codeInternal, Message: "the answer is not JSON"}
	}
	return raw, nil
}

// withDefaults adds the default of each property of schema that content leaves out.
func withDefaults(schema json.RawMessage, content map[string]json.RawMessage) map[string]json.RawMessage {
	var form struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	filled := map[string]json.RawMessage{}
	if json.Unmarshal(schema, &form) == nil {
		for name, property := range form.Properties {
			if property.Default != nil {
				filled[name] = property.Default
			}
		}
	}
	maps.Copy(filled, content)
	return filled
}
