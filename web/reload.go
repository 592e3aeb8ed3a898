package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// Reloaded has the changes that rereading the config file made. Servers are named as in the file.
type Reloaded struct {
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Restarted []string `json:"restarted"`
	// Updated are the servers that have new rules and were not restarted.
	Updated []string `json:"updated"`
	// NeedsRestart are the other changed keys, which take effect only at a restart of the host.
	NeedsRestart []string `json:"needs_restart"`
	// Offer names an assistant that may call these servers, if the default one, which was chosen
	// before any server was attached, may not.
	Offer string `json:"offer,omitempty"`
}

// A BrokenConfigError is the error of a reload that changed nothing because the file is
// invalid.
type BrokenConfigError struct {
	// Faults are sentences, each with its place in the file. They contain no secrets.
	Faults []string
}

// Error returns the faults, one on each line.
func (e *BrokenConfigError) Error() string { return strings.Join(e.Faults, "\n") }

// reloadServers rereads the config file. It completes even if the client disconnects.
func (s *server) reloadServers(c *gin.Context) {
	changes, err := s.Reload(context.WithoutCancel(c.Request.Context()))
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
	for _, names := range []*[]string{&changes.Added, &changes.Removed, &changes.Restarted, &changes.Updated, &changes.NeedsRestart} {
		if *names == nil {
			*names = []string{} // clients iterate over it
		}
	}
	wire.WriteJSON(c.Writer, struct {
		Object string `json:"object"`
		Reloaded
	}{"servers.reload", changes})
}
