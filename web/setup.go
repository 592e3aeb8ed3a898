package web

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A Hints source tells the chat page what it can help a person with.
type Hints struct {
	// Prompts lists what a question may name behind a slash; nil means nothing.
	Prompts func(ctx context.Context) []schemas.Prompt
	// Provider names what would answer now and why, or says that nothing can; nil means
	// that nobody knows.
	Provider func(ctx context.Context) (name, model, why string, err error)
	// File is where the config file is, or would be.
	File string
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
	// File is where the config file is, or would be; only operators are told.
	File string `json:"file,omitempty"`
}

// getSetup answers GET /v1/setup.
func (s *server) getSetup(c *gin.Context) {
	o := setupObject{Object: "setup"}
	for _, status := range s.Servers.Status() {
		if status.Transport != "in-process" && status.State != schemas.StateDisabled {
			o.Servers++
		}
	}
	if httpguard.PrincipalOf(c.Request.Context()).Need(httpguard.ScopeAdmin) == nil {
		o.File = s.Hints.File
	}
	if s.Hints.Provider != nil {
		var err error
		if o.Provider, o.Model, o.Why, err = s.Hints.Provider(c.Request.Context()); err != nil {
			if errors.Is(err, context.Canceled) {
				return
			}
			o.Why = wire.Clip(wire.Failure(err).Message, wire.MaxMessage)
		}
	}
	wire.WriteJSON(c.Writer, o)
}
