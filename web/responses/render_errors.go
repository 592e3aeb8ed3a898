package responses

import (
	"net/http"
	"strings"

	"molar/web/wire"
)

// The types of error that the standard names.
const (
	TypeInvalid  = "invalid_request"
	TypeNotFound = "not_found"
	TypeTooMany  = "too_many_requests"
	TypeServer   = "server_error"
	TypeModel    = "model_error"
)

// Failure returns the client's view of err, with the standard's error types.
func Failure(err error) *wire.Error {
	e := *wire.Failure(err)
	switch {
	case e.Kind == wire.TypePermission:
	case e.Status == http.StatusNotFound:
		e.Kind = TypeNotFound
	case e.Status == http.StatusTooManyRequests:
		e.Kind = TypeTooMany
	case e.Status >= 500 && strings.HasPrefix(e.Code, "model_"):
		e.Kind = TypeModel
	case e.Status >= 500:
		e.Kind = TypeServer
	default:
		e.Kind = TypeInvalid
	}
	switch e.Param {
	case "messages":
		e.Param = "input"
	case "molar.parent":
		e.Param = "previous_response_id"
	}
	return &e
}
