package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// Reloaded is what rereading the config file changed. Servers are named as in the file.
type Reloaded struct {
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Restarted []string `json:"restarted"`
	// Updated servers have new rules and kept running.
	Updated []string `json:"updated"`
	// NeedsRestart names the other changed keys, which take effect only at a restart.
	NeedsRestart []string `json:"needs_restart"`
	// Offer names the assistant that may call these servers, if the default one, chosen before
	// there were any, may not.
	Offer string `json:"offer,omitempty"`
}

// A BrokenConfigError is the error of a reload that changed nothing because the file is
// invalid.
type BrokenConfigError struct {
	// Faults are sentences, each with its place in the file. They quote no secrets.
	Faults []string
}

// Error joins the faults, one a line.
func (e *BrokenConfigError) Error() string { return strings.Join(e.Faults, "\n") }

// reloadServers rereads the config file. A client that disconnects does not stop it half-way.
func (s *server) reloadServers(c *gin.Context) {
	done, err := s.Reload(context.WithoutCancel(c.Request.Context()))
	if broken, ok := errors.AsType[*BrokenConfigError](err); ok {
		wire.WriteError(c.Writer, &wire.Error{
			Status: http.StatusBadRequest, Kind: wire.TypeInvalid, Code: "config_invalid", Faults: broken.Faults,
			Message: "the config file has faults, so the last good one stays in force: " + strings.Join(broken.Faults, "; "),
		})
		return
	}
	if err != nil {
		s.Logger.Error("reload failed", "error", err, "request_id", wire.RequestID(c.Writer))
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	for _, names := range []*[]string{&done.Added, &done.Removed, &done.Restarted, &done.Updated, &done.NeedsRestart} {
		if *names == nil {
			*names = []string{} // clients range over it
		}
	}
	wire.WriteJSON(c.Writer, struct {
		Object string `json:"object"`
		Reloaded
	}{"servers.reload", done})
}
