package web

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// Imported is the block of another host's file, or the command or address of a server, as the
// config file would have it.
type Imported struct {
	// Host is whose shape the block has, such as "Claude Desktop"; empty for what is none.
	Host string `json:"host,omitempty"`
	// File is where the text belongs, and Place how it gets there: new is the whole file, end
	// stands behind all that is there. Below, instead and inside go by Line, which has the key
	// mcpServers: below that line, instead of it, or inside the braces that begin there.
	File  string `json:"file"`
	Place string `json:"place"`
	Line  int    `json:"line,omitempty"`
	// YAML is the text: secrets are references to variables in it.
	YAML string `json:"yaml"`
	// Servers are the names of those in it, LeftOut of those that could not be carried over.
	Servers []string `json:"servers"`
	LeftOut []string `json:"left_out,omitempty"`
	// Variables are those of the text that have no value yet; VariablesFile is where they get
	// theirs, as NAME=VALUE lines, if not in the environment.
	Variables     []string `json:"variables,omitempty"`
	VariablesFile string   `json:"variables_file,omitempty"`
}

// Places of a text in a file that has no servers yet.
const (
	PlaceNew = "new"
	PlaceEnd = "end"
)

type importBody struct {
	// Text is what was pasted: JSON with servers, a command, or one address.
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

// NewServer is a remote server to be attached.
type NewServer struct {
	// Name is made from the address when it is empty.
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Type is http, sse or message; empty finds out.
	Type string `json:"type,omitempty"`
	// Headers go with every request; they are stored, and never shown.
	Headers map[string]string `json:"headers,omitempty"`
}

// AddedServer says what was attached, and which assistant may call it where the default one
// may not.
type AddedServer struct {
	Name  string `json:"name"`
	Offer string `json:"offer,omitempty"`
}

// Lint is what is to be known of a tool before it is used.
type Lint struct {
	// Sends names the arguments by which a reader can carry text to its server.
	Sends []string `json:"sends,omitempty"`
	// Notes say what services of models do not take of its schema.
	Notes []string `json:"notes,omitempty"`
}

type addedObject struct {
	Object string `json:"object"`
	AddedServer
}

// addServer answers POST /v1/servers. Only an operator with a key adds a server, since any
// process of the machine reaches a port without keys; and no request starts a program.
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
	done, err := s.Operations.AddServer(context.WithoutCancel(c.Request.Context()), body.NewServer)
	if err != nil {
		s.operationError(c, "add a server", err)
		return
	}
	wire.WriteJSON(c.Writer, addedObject{Object: "server", AddedServer: done})
}

// removeServer answers DELETE /v1/servers/{name}, of one that was added so.
func (s *server) removeServer(c *gin.Context) {
	if err := s.Operations.RemoveServer(context.WithoutCancel(c.Request.Context()), c.Param("name")); err != nil {
		s.operationError(c, "remove a server", err)
		return
	}
	wire.WriteJSON(c.Writer, changedObject{ID: c.Param("name"), Object: "server.deleted", Deleted: true})
}
