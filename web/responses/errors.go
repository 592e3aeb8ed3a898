package responses

import (
	"net/http"
	"strconv"

	"molar/web/wire"
)

func writeError(w http.ResponseWriter, err error) { wire.WriteError(w, failure(err)) }

// noPrevious is the error for continuing a response that is not stored.
func noPrevious(id string) *wire.Error {
	e := wire.Invalid("previous_response_id", "there is no response %q to continue: it was not stored, was deleted, or is too old", wire.Clip(id, 100))
	e.Code = "previous_response_not_found"
	return e
}

// noConversation is the error for continuing a conversation that the owner does not have.
func noConversation(id string) *wire.Error {
	return &wire.Error{
		Status: http.StatusNotFound, Kind: typeNotFound, Code: "conversation_not_found", Param: "conversation",
		Message: "there is no conversation " + strconv.Quote(wire.Clip(id, 100)) + ": create one with POST /v1/conversations, or leave conversation out",
	}
}

func noResponse() *wire.Error {
	return &wire.Error{
		Status: http.StatusNotFound, Kind: typeNotFound, Code: "response_not_found", Param: "response_id",
		Message: "there is no response of that id: it was not stored, was deleted, or is too old",
	}
}
