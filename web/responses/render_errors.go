package responses

import (
	"net/http"
	"strings"

	"molar/web/wire"
)

// The types of error that the standard names.
const (
	typeInvalid  = "invalid_request"
	typeNotFound = "not_found"
	typeTooMany  = "too_many_requests"
	typeServer   = "server_error"
	typeModel    = "model_error"
)

// failure returns the client's view of err, with the standard's error types.
func failure(err error) *wire.Error {
	e := *wire.Failure(err)
	switch {
	case e.Kind == wire.TypePermission:
	case e.Status == http.StatusNotFound:
		e.Kind = typeNotFound
	case e.Status == http.StatusTooManyRequests:
		e.Kind = typeTooMany
	case e.Status >= 500 && strings.HasPrefix(e.Code, "model_"):
		e.Kind = typeModel
	case e.Status >= 500:
		e.Kind = typeServer
	default:
		e.Kind = typeInvalid
	}
	switch e.Param {
	case "messages":
		e.Param = "input"
	case "molar.parent":
		e.Param = "previous_response_id"
	}
	return &e
}
