package web

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/web/wire"
)

// Imported is a text for the config file, made from another host's config block or from the command
// or address of a server.
type Imported struct {
	// Host is the program whose format the pasted block has, such as "Codex"; empty for a command, an
	// address, and the format that many have.
	Host string `json:"host,omitempty"`
	// File is the path of the config file, and Place where in it the text belongs: "new" means
	// that it is the whole file, "end" after the last line. "below", "instead" and "inside"
	// refer to Line, which has the key mcpServers: below that line, in place of it, or inside
	// the braces that begin there.
	File  string `json:"file"`
	Place string `json:"place"`
	Line  int    `json:"line,omitempty"`
	// YAML is the text. It has references to variables in place of secrets.
	YAML string `json:"yaml"`
	// Servers are the names of the servers in the text, LeftOut of those that could not be
	// converted.
	Servers []string `json:"servers"`
	LeftOut []string `json:"left_out,omitempty"`
	// Variables are the variables in the text that have no value yet. VariablesFile is the file
	// in which to set them, as NAME=VALUE lines, if not in the environment.
	Variables     []string `json:"variables,omitempty"`
	VariablesFile string   `json:"variables_file,omitempty"`
}

// Places of a text in a config file.
const (
	PlaceNew = "new"
	PlaceEnd = "end"
)

type importBody struct {
	// Text is the pasted text: JSON with servers, a command, or one address.
	Text string `json:"text"`
}

type importedObject struct {
	Object string `json:"object"`
	Imported
}

// importServers answers POST /v1/servers/import. It neither writes a file nor starts a program.
func (s *server) importServers(c *gin.Context) {
	var body importBody
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	imported, err := s.Operations.ImportServers(body.Text)
	if err != nil {
		wire.WriteError(c.Writer, &wire.Error{Status: http.StatusBadRequest, Kind: wire.TypeInvalid, Code: "invalid_request", Param: "text", Message: err.Error()})
		return
	}
	wire.WriteJSON(c.Writer, importedObject{Object: "server.import", Imported: imported})
}

// NewServer is a remote server to attach.
type NewServer struct {
	// Name is derived from the address when empty.
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Type is http, sse or message; it is detected if empty.
	Type string `json:"type,omitempty"`
	// Headers are sent with every request to the server. They are stored, and no answer contains
	// them.
	Headers map[string]string `json:"headers,omitempty"`
}

// AddedServer is a server that was attached.
type AddedServer struct {
	Name string `json:"name"`
	// Offer names an assistant that may call it, if the default one may not.
	Offer string `json:"offer,omitempty"`
}

// Lint has remarks about a tool for the person who decides whether to use it.
type Lint struct {
	// Arguments say what each argument is for.
	Arguments []agent.Argument `json:"arguments,omitempty"`
	// Notes describe the parts of its schema that providers do not accept.
	Notes []string `json:"notes,omitempty"`
}

type addedObject struct {
	Object string `json:"object"`
	AddedServer
}

// addServer answers POST /v1/servers. It requires an operator's key, since any process of the
// machine can use a port without keys, and refuses commands, since no request starts a program.
func (s *server) addServer(c *gin.Context) {
	var body struct {
		NewServer
		Command any `json:"command"`
	}
	err := wire.ReadBody(c.Request, &body)
	switch {
	case !s.Access.Keys.On():
		err = &wire.Error{
			Status: http.StatusForbidden, Kind: wire.TypePermission, Code: "admin_key_required",
			Message: "a server is added over the API with an admin key alone, and this host has no keys: write the server into the config file, or run molar keys create NAME --scope chat,admin",
		}
	case err != nil:
		err = wire.Failure(err)
	case body.Command != nil:
		err = wire.Invalid("command", "a command is never taken over the API: write it into the config file")
	}
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	added, err := s.Operations.AddServer(context.WithoutCancel(c.Request.Context()), body.NewServer)
	if err != nil {
		s.operationError(c, "add a server", err)
		return
	}
	wire.WriteJSON(c.Writer, addedObject{Object: "server", AddedServer: added})
}

// removeServer answers DELETE /v1/servers/{name}, for servers added over HTTP.
func (s *server) removeServer(c *gin.Context) {
	if err := s.Operations.RemoveServer(context.WithoutCancel(c.Request.Context()), c.Param("name")); err != nil {
		s.operationError(c, "remove a server", err)
		return
	}
	wire.WriteJSON(c.Writer, changedObject{ID: c.Param("name"), Object: "server.deleted", Deleted: true})
}
