package schemas

import (
	"context"
	"encoding/json"
	"maps"
	"time"
)

// A Person can be reached during a tool call. Calls for one person share the pointer.
type Person struct {
	// Caller is who makes the calls; the zero Caller is nobody.
	Caller Caller
	// Ask asks a server's question. It must be safe for concurrent use and return soon after ctx
	// ends; an error counts as [ActionCancel].
	Ask func(ctx context.Context, q Question) (Answer, error)
	// OnNews receives a server's news and must not block; nil ignores them.
	OnNews func(n News)
}

// A Caller is the person for whom a call is made, as a server may be told.
type Caller struct {
	// ID is the owner of what the person has, and [Operator] on a host without people.
	ID     string   `json:"id"`
	Name   string   `json:"name,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Operator is the id of the one person of a host without people.
const Operator = "operator"

// A PersonLogin is a server that a person calls as themselves, and their login there.
type PersonLogin struct {
	Server string `json:"server"`
	// Connected is set if there is a login, made at Since.
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since,omitzero"`
	// Issuer is where the person logged in.
	Issuer string   `json:"issuer,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

// A Question is a server's question to a person. Its text is the server's and untrusted.
type Question struct {
	Server  string `json:"server"`
	Message string `json:"message"`
	// Schema is a JSON Schema of a flat object: the form to fill in.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL, if set, replaces the form: the person opens it after seeing where it leads. It is an
	// http or https address.
	URL string `json:"url,omitempty"`
	// Login is set if the host itself asks the person to log in at the server, at URL; the calls that
	// wait for it go on as soon as they have, and an answer is needed only to decline.
	Login bool `json:"login,omitempty"`
}

// Filled returns the content of an answer, with the form's default for each missing field.
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

// The actions of an answer.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// An Answer is a person's answer to a [Question].
type Answer struct {
	// Action is one of the Action constants.
	Action string `json:"action"`
	// Content holds the filled fields, with [ActionAccept]. A missing field has the schema's
	// default.
	Content map[string]json.RawMessage `json:"content,omitempty"`
}

// News is a server's message during a tool call: its progress, or a log line. Its text is the
// server's and untrusted.
type News struct {
	Server string `json:"server"`
	// Tool is the tool's own name, if the server named the call.
	Tool string `json:"toolName,omitempty"`
	// Level is a log line's level, as in syslog: debug to emergency. Empty means progress.
	Level string `json:"level,omitempty"`
	// Text is at most 1 KiB.
	Text string `json:"text,omitempty"`
	// Progress goes up to Total; a Total of 0 is unknown.
	Progress float64 `json:"progress,omitempty"`
	Total    float64 `json:"total,omitempty"`
}
