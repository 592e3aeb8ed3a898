package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// Reloaded says what reading the config file anew has changed. Servers are named as
// in the file.
type Reloaded struct {
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Restarted []string `json:"restarted"`
	// Updated servers have new rules and went on running.
	Updated []string `json:"updated"`
	// NeedsRestart names the keys that changed too and take effect only when the
	// host starts anew.
	NeedsRestart []string `json:"needs_restart"`
}

// A BrokenConfigError is the error of a reload that changed nothing, as something is
// wrong with the file.
type BrokenConfigError struct {
	// Faults are sentences, each with its place in the file. They quote no secrets.
	Faults []string
}

// Error joins the faults, one a line.
func (e *BrokenConfigError) Error() string { return strings.Join(e.Faults, "\n") }

// reloadServers reads the config file anew. A client that goes away does not stop
// it half-way.
func (s *server) reloadServers(c *gin.Context) {
	done, err := s.Reload(context.WithoutCancel(c.Request.Context()))
	if broken, ok := errors.AsType[*BrokenConfigError](err); ok {
		writeError(c.Writer, &apiError{
			status: http.StatusBadRequest, kind: typeInvalid, code: "config_invalid", faults: broken.Faults,
			message: "the config file has faults, so the last good one stays in force: " + strings.Join(broken.Faults, "; "),
		})
		return
	}
	if err != nil {
		s.Logger.Error("reload failed", "error", err, "request_id", requestID(c.Writer))
		writeError(c.Writer, failureOf(err))
		return
	}
	for _, names := range []*[]string{&done.Added, &done.Removed, &done.Restarted, &done.Updated, &done.NeedsRestart} {
		if *names == nil {
			*names = []string{} // clients range over it
		}
	}
	writeJSON(c.Writer, struct {
		Object string `json:"object"`
		Reloaded
	}{"servers.reload", done})
}
