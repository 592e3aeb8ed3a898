package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/chat"
	"molar/web/wire"
)

// readyLimit is the time limit of the readiness check.
const readyLimit = 5 * time.Second

// A list is OpenAI's form of a list.
type list[T any] struct {
	Object string `json:"object"`
	Data   []T    `json:"data"`
}

func listOf[T any](data []T) list[T] {
	if data == nil {
		data = []T{} // clients iterate over it
	}
	return list[T]{Object: "list", Data: data}
}

type modelObject struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
	// Molar says what answers behind the assistant.
	Molar *modelRoute `json:"molar,omitempty"`
}

// A modelRoute holds the endpoints that may answer for an assistant.
type modelRoute struct {
	// Providers are their names in the order of fall-over.
	Providers []string `json:"providers"`
	// Model is the assistant's model; empty for that of the endpoint.
	Model string `json:"model,omitempty"`
}

func (s *server) models(r *http.Request) []modelObject {
	var models []modelObject
	for _, m := range s.modelsFor(r) {
		o := modelObject{
			ID: m.Name, Object: "model", Created: s.started.Unix(),
			OwnedBy: "molar", Description: m.Description,
		}
		if len(m.Providers) > 0 {
			o.Molar = &modelRoute{Providers: m.Providers, Model: m.Model}
		}
		models = append(models, o)
	}
	return models
}

// modelsFor returns the assistants that the client of a request may use.
func (s *server) modelsFor(r *http.Request) []schemas.AssistantInfo {
	rights := httpguard.PrincipalOf(r.Context()).Rights
	return slices.DeleteFunc(s.Models(), func(a schemas.AssistantInfo) bool { return !rights.Assistant(a.Name) })
}

func (s *server) listModels(c *gin.Context) {
	wire.WriteJSON(c.Writer, listOf(s.models(c.Request)))
}

func (s *server) getModel(c *gin.Context) {
	for _, m := range s.models(c.Request) {
		if m.ID == c.Param("id") {
			wire.WriteJSON(c.Writer, m)
			return
		}
	}
	wire.WriteError(c.Writer, &wire.Error{
		Status: http.StatusNotFound, Kind: wire.TypeInvalid, Code: "model_not_found", Param: "model",
		Message: "there is no model of that name; GET /v1/models lists them",
	})
}

// getTurn answers with the trace of a turn: the recorded one, or the beginning of one for a turn
// that still runs or has no trace.
func (s *server) getTurn(c *gin.Context) {
	owner, id := s.Owner(c.Request), strings.TrimPrefix(c.Param("id"), chat.IDPrefix)
	t, runs, err := s.turns.Find(c.Request.Context(), owner, id)
	if err == nil && runs && !t.IsOver() {
		wire.WriteJSON(c.Writer, t.SoFar(s.Now()))
		return
	}
	another, reviews, err := s.ofAnother(c.Request, id)
	if err == nil && reviews {
		owner = another.Owner
		err = s.recordFirst(c.Request, id, "read")
	}
	var trace json.RawMessage
	var found bool
	if err == nil {
		trace, found, err = s.Traces.Trace(c.Request.Context(), owner, id)
	}
	if err == nil && found && reviews {
		trace, err = s.nameTrace(c.Request.Context(), another, trace)
	}
	if err == nil && found {
		trace, err = s.traceWithMade(c.Request, id, trace)
	}
	if err != nil {
		s.storeError(c, "turn", err)
		return
	}
	if !found && runs { // it has ended without a trace, and can still be followed
		wire.WriteJSON(c.Writer, t.SoFar(s.Now()))
		return
	}
	if !found {
		wire.WriteError(c.Writer, wire.NotFound("turn"))
		return
	}
	wire.WriteBody(c.Writer, http.StatusOK, trace)
}

func (s *server) health(c *gin.Context) {
	wire.WriteJSON(c.Writer, map[string]string{"status": "ok", "version": s.Version})
}

func (s *server) ready(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyLimit)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		wire.WriteError(c.Writer, &wire.Error{
			Status: http.StatusServiceUnavailable, Kind: wire.TypeServer,
			Code: "not_ready", Message: "not ready: " + err.Error(),
		})
		return
	}
	ready := map[string]string{"status": "ready"}
	if s.Access.OIDC != nil && s.Access.OIDC.Fault() != nil {
		ready["degraded"] = "the identity provider does not answer: people who are signed in stay so, and nobody else can sign in"
	}
	wire.WriteJSON(c.Writer, ready)
}
