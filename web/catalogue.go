package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// readyLimit is how long the readiness check may take.
const readyLimit = 5 * time.Second

// A list is OpenAI's form of a list.
type list[T any] struct {
	Object string `json:"object"`
	Data   []T    `json:"data"`
}

func listOf[T any](data []T) list[T] {
	if data == nil {
		data = []T{} // clients range over it
	}
	return list[T]{Object: "list", Data: data}
}

type modelObject struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
}

func (s *server) models() []modelObject {
	var models []modelObject
	for _, m := range s.Models() {
		models = append(models, modelObject{
			ID: m.ID, Object: "model", Created: s.started.Unix(),
			OwnedBy: "molar", Description: m.Description,
		})
	}
	return models
}

func (s *server) listModels(c *gin.Context) {
	writeJSON(c.Writer, listOf(s.models()))
}

func (s *server) getModel(c *gin.Context) {
	for _, m := range s.models() {
		if m.ID == c.Param("id") {
			writeJSON(c.Writer, m)
			return
		}
	}
	writeError(c.Writer, &apiError{
		status: http.StatusNotFound, kind: typeInvalid, code: "model_not_found", param: "model",
		message: "there is no model of that name; GET /v1/models lists them",
	})
}

// getTurn gives the trace of a turn as it was recorded, or what is known of one that
// runs here.
func (s *server) getTurn(c *gin.Context) {
	owner, id := s.Owner(c.Request), strings.TrimPrefix(c.Param("id"), completionPrefix)
	if t, here := s.Turns.find(owner, id); here && !t.isOver() {
		writeJSON(c.Writer, t.soFar(s.Now()))
		return
	}
	trace, found, err := s.Traces.Trace(c.Request.Context(), owner, id)
	if err != nil {
		s.storeError(c, "turn", err)
		return
	}
	if !found {
		writeError(c.Writer, notFound("turn"))
		return
	}
	writeBody(c.Writer, http.StatusOK, trace)
}

func (s *server) health(c *gin.Context) {
	writeJSON(c.Writer, map[string]string{"status": "ok", "version": s.Version})
}

func (s *server) ready(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyLimit)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		writeError(c.Writer, &apiError{
			status: http.StatusServiceUnavailable, kind: typeServer,
			code: "not_ready", message: "not ready: " + err.Error(),
		})
		return
	}
	writeJSON(c.Writer, map[string]string{"status": "ready"})
}
