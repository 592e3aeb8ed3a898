package web

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A Hints source tells the pages what they can help a person with.
type Hints struct {
	// Prompts lists what a question may name behind a slash; nil means nothing.
	Prompts func(ctx context.Context) []schemas.Prompt
	// Provider names what would answer a question now and why, or says that nothing can; nil
	// means that nobody knows.
	Provider func(ctx context.Context, q Asked) (name, model, why string, err error)
	// File tells of the config file; nil means that there can be none.
	File func() ConfigFile
}

// Asked is what a question asks for, as far as that decides who answers it. Empty fields leave
// it to the host.
type Asked struct {
	Assistant, Provider, Model string
}

// A ConfigFile is the config file as it was read last.
type ConfigFile struct {
	// Path is where it is, or would be.
	Path string
	// Faults are those of the file as it is now; the last good one is in force.
	Faults []string
	// NeedsRestart names the keys that changed and take effect when the host starts anew.
	NeedsRestart []string
	// Offer names the assistant that may call what is attached now, where the default one,
	// which was chosen when there was nothing, may not.
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

// A setupObject says how far the host has been set up.
type setupObject struct {
	Object string `json:"object"`
	// Provider would answer the next question: "offline" when there is no model, and
	// empty when not even that can.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Why      string `json:"why,omitempty"`
	// Servers counts the attached MCP servers that are not Molar's own.
	Servers int `json:"servers"`
	// What follows is told to operators alone. File is where the config file is, or would be,
	// Faults what is wrong with it as it is now, and NeedsRestart what of it waits for the next
	// start.
	File         string   `json:"file,omitempty"`
	Faults       []string `json:"faults,omitempty"`
	NeedsRestart []string `json:"needs_restart,omitempty"`
	// Offer names the assistant that may call the servers, where the default one may not.
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
