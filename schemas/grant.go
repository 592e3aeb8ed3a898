package schemas

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Grant is a person's standing approval: calls of its tool to its destination run without asking.
type Grant struct {
	ID    string `json:"id"`
	Owner string `json:"-"`
	// Tool is the offered name.
	Tool string `json:"tool"`
	// From is the origin whose texts may go there; empty if the grant is about the call itself.
	From Origin `json:"from,omitempty"`
	// Width is how much of the destination is compared.
	Width Width `json:"width,omitempty"`
	// Arguments are the arguments that are compared: a JSON object of their paths and values.
	Arguments json.RawMessage `json:"arguments"`
	// ConversationID is empty if the grant applies to all of the person's conversations.
	ConversationID string    `json:"conversation_id,omitempty"`
	GivenAt        time.Time `json:"given_at"`
	// Started is when the turn began that asked for it: one of an owner who was erased since is not
	// stored.
	Started time.Time `json:"-"`
}

// A Width is how much of a destination a grant compares.
type Width string

// The widths.
const (
	// WidthExact compares all arguments that are not free text.
	WidthExact Width = ""
	// WidthHost and WidthFolder do the same, but one argument may be any address of its host, any path
	// in its folder.
	WidthHost   Width = "host"
	WidthFolder Width = "folder"
	// WidthRepository compares the owner and the repository only, WidthServer nothing.
	WidthRepository Width = "repository"
	WidthServer     Width = "server"
)

// Subject describes what the grant covers: the tool, the compared arguments, and whose text may go there.
func (g Grant) Subject() string {
	var compared map[string]string
	if json.Unmarshal(g.Arguments, &compared) != nil {
		return g.Tool
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(compared)) {
		all = append(all, name+" "+compared[name])
	}
	line := g.Tool + " with " + strings.Join(all, ", ")
	if len(all) == 0 {
		line = g.Tool + ", whatever its arguments"
	}
	if g.Width != WidthExact && g.Width != WidthServer {
		line += " (" + string(g.Width) + ")"
	}
	if g.From != "" {
		line += ", with text of " + string(g.From)
	}
	return line
}
