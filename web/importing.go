package web

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// Imported is the block of another host's file, or the address of a server, as the config
// file would have it.
type Imported struct {
	// Host is whose shape the block has, such as "Claude Desktop".
	Host string `json:"host"`
	// File is where the text belongs.
	File string `json:"file"`
	// YAML is the text: secrets are references to variables in it.
	YAML string `json:"yaml"`
	// Servers are the names of those in it, LeftOut of those that could not be carried over.
	Servers []string `json:"servers"`
	LeftOut []string `json:"left_out,omitempty"`
	// Variables are to be set in the environment before the file is read.
	Variables []string `json:"variables,omitempty"`
}

type importBody struct {
	// Text is what was pasted: JSON with servers, or one address.
	Text string `json:"text"`
}

type importedObject struct {
	Object string `json:"object"`
	Imported
}

// importServers answers POST /v1/servers/import: it writes nothing and starts nothing.
func (s *server) importServers(c *gin.Context) {
	var body importBody
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	found, err := s.Operations.ImportServers(body.Text)
	if err != nil {
		wire.WriteError(c.Writer, &wire.Error{Status: http.StatusBadRequest, Kind: wire.TypeInvalid, Code: "invalid_request", Param: "text", Message: err.Error()})
		return
	}
	wire.WriteJSON(c.Writer, importedObject{Object: "server.import", Imported: found})
}
