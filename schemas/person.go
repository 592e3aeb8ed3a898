package schemas

import (
	"context"
	"encoding/json"
	"maps"
)

// A Person can be reached in the middle of a tool call. Calls for one person share the pointer.
type Person struct {
	// Ask puts a server's question. It may be called by several goroutines at once and must
	// return soon after ctx ends; an error counts as [ActionCancel].
	Ask func(ctx context.Context, q Question) (Answer, error)
	// Hear takes what a server says meanwhile, and must not block; nil for nobody who listens.
	Hear func(n News)
}

// A Question is what a server wants to know from a person. Its text is the server's and not to
// be trusted.
type Question struct {
	Server  string `json:"server"`
	Message string `json:"message"`
	// Schema is a JSON Schema of a flat object: the form to fill in.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL, when set, is what the person should open instead of filling in a form, after they
	// have seen where it leads. It is an http or https address.
	URL string `json:"url,omitempty"`
}

// Filled is the content of an answer, with the default of each field of the form that it leaves
// out.
func (q Question) Filled(content map[string]json.RawMessage) map[string]json.RawMessage {
	var form struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	filled := map[string]json.RawMessage{}
	if json.Unmarshal(q.Schema, &form) == nil {
		for name, property := range form.Properties {
			if property.Default != nil {
				filled[name] = property.Default
			}
		}
	}
	maps.Copy(filled, content)
	return filled
}

// What a person can do with a question.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// An Answer is what a person did with a [Question].
type Answer struct {
	// Action is one of the Action constants.
	Action string `json:"action"`
	// Content holds the fields that the person filled in, with [ActionAccept]. A field that
	// is left out has the schema's default.
	Content map[string]json.RawMessage `json:"content,omitempty"`
}

// News is what a server says while a call of a tool runs: how far it is, or a line of its log.
// Its text is the server's and not to be trusted.
type News struct {
	Server string `json:"server"`
	// Tool is the tool's own name, where the server said to which call the news belongs.
	Tool string `json:"toolName,omitempty"`
	// Level is that of a line of the log, as in syslog: debug to emergency. Without it the
	// news is a sign of progress.
	Level string `json:"level,omitempty"`
	// Text is at most 1 KiB.
	Text string `json:"text,omitempty"`
	// Progress goes up to Total; a Total of 0 is not known.
	Progress float64 `json:"progress,omitempty"`
	Total    float64 `json:"total,omitempty"`
}
