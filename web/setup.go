package web

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// Hints is what the pages show to help a person.
type Hints struct {
	// Prompts lists what a question may name after a slash; nil means nothing.
	Prompts func(ctx context.Context) []schemas.Prompt
	// Provider returns what would answer a question now and why, or an error if nothing can;
	// nil means unknown.
	Provider func(ctx context.Context, q Asked) (name, model, why string, err error)
	// File returns the state of the config file; nil means that there cannot be one.
	File func() ConfigFile
}

// Asked holds the fields of a question that decide who answers it. Empty fields leave it to
// the host.
type Asked struct {
	Assistant, Provider, Model string
}

// A ConfigFile is the config file as last read.
type ConfigFile struct {
	// Path is where it is, or would be.
	Path string
	// Faults are those of the file as it is now; the last valid one is in force.
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
	var prompts []schemas.Prompt
	if s.Hints.Prompts != nil {
		prompts = s.Hints.Prompts(c.Request.Context())
	}
	wire.WriteJSON(c.Writer, listOf(prompts))
}

// A setupObject is the state of the host's setup.
type setupObject struct {
	Object string `json:"object"`
	// Provider would answer the next question: "offline" without a model, and empty if not
	// even that can.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Why      string `json:"why,omitempty"`
	// Servers counts the attached MCP servers other than Molar's own.
	Servers int `json:"servers"`
	// Only operators get the fields below. File is where the config file is, or would be,
	// Faults are the errors in its current text, and NeedsRestart are its changes that wait
	// for a restart.
	File         string   `json:"file,omitempty"`
	Faults       []string `json:"faults,omitempty"`
	NeedsRestart []string `json:"needs_restart,omitempty"`
	// Offer names the assistant that may call the servers, if the default one may not.
	Offer string `json:"offer,omitempty"`
}

// getSetup answers GET /v1/setup.
func (s *server) getSetup(c *gin.Context) {
	o := setupObject{Object: "setup"}
	for _, status := range s.Servers.Status() {
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
		q := Asked{Assistant: c.Query("assistant"), Provider: c.Query("provider"), Model: c.Query("model")}
		if o.Provider, o.Model, o.Why, err = s.Hints.Provider(c.Request.Context(), q); err != nil {
			if errors.Is(err, context.Canceled) {
				return
			}
			o.Why = wire.Clip(wire.Failure(err).Message, wire.MaxMessage)
		}
	}
	wire.WriteJSON(c.Writer, o)
}
