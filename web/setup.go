package web

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// Hints are functions whose results the pages show to help a person.
type Hints struct {
	// Prompts lists the prompts that the page offers after a slash for a question of who asks to an
	// assistant; "" is the default one. Nil means none.
	Prompts func(ctx context.Context, who schemas.Caller, assistant string) []schemas.Prompt
	// Provider returns the provider and the model that would answer a question now, and the
	// reason, or an error if none can; nil means that they are unknown.
	Provider func(ctx context.Context, q Selection) (name, model, why string, err error)
	// File returns the state of the config file; nil means that the host has none.
	File func() ConfigFile
}

// Selection holds the fields of a question that choose who answers it. The host chooses for empty
// fields.
type Selection struct {
	Assistant, Provider, Model string
}

// A ConfigFile is the config file as last read.
type ConfigFile struct {
	// Path is the path of the file, even if it does not exist.
	Path string
	// Faults are the faults of the file's current text; while there are any, the last valid text
	// is in force.
	Faults []string
	// NeedsRestart names the changed keys that take effect at a restart.
	NeedsRestart []string
	// Offer names the assistant that may call the attached servers if the default one, chosen
	// before they were attached, may not.
	Offer string
}

type promptList = list[schemas.Prompt]

// listPrompts answers GET /v1/prompts.
func (s *server) listPrompts(c *gin.Context) {
	wire.WriteJSON(c.Writer, listOf(s.promptsFor(c.Request)))
}

// A setupObject is the state of the host's setup.
type setupObject struct {
	Object string `json:"object"`
	// Provider is the provider that would answer the next question: "offline" if no model can
	// answer, and empty if no provider can.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Why      string `json:"why,omitempty"`
	// Servers counts the attached MCP servers other than Molar's own.
	Servers int `json:"servers"`
	// The fields below are for operators only; they are those of [ConfigFile].
	File         string   `json:"file,omitempty"`
	Faults       []string `json:"faults,omitempty"`
	NeedsRestart []string `json:"needs_restart,omitempty"`
	Offer        string   `json:"offer,omitempty"`
}

// getSetup answers GET /v1/setup.
func (s *server) getSetup(c *gin.Context) {
	o := setupObject{Object: "setup"}
	for _, status := range s.serversFor(c.Request) {
		if status.Transport != "in-process" && status.State != schemas.StateDisabled {
			o.Servers++
		}
	}
	if s.Hints.File != nil && httpguard.PrincipalOf(c.Request.Context()).Need(httpguard.ScopeAdmin) == nil {
		f := s.Hints.File()
		o.File, o.Faults, o.NeedsRestart, o.Offer = f.Path, f.Faults, f.NeedsRestart, f.Offer
	}
	if s.Hints.Provider != nil {
		var err error
		q := Selection{Assistant: c.Query("assistant"), Provider: c.Query("provider"), Model: c.Query("model")}
		if o.Provider, o.Model, o.Why, err = s.Hints.Provider(c.Request.Context(), q); err != nil {
			if errors.Is(err, context.Canceled) {
				return
			}
			o.Why = wire.Clip(wire.Failure(err).Message, wire.MaxMessage)
		}
	}
	wire.WriteJSON(c.Writer, o)
}
