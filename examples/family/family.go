// Package family is a small MCP server that finds families and their members in an embedded data
// set. It shows what a tool needs to be used well by a model: typed arguments, a description on
// each, structured results and errors that say what to do next. It does not depend on the host.
package family

import (
	"context"
	"errors"
	"io"

	"github.com/mark3labs/mcp-go/server"
)

// Serve serves MCP on the given streams until the client closes its end or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	families, err := loadFamilies()
	if err != nil {
		return err
	}
	s := server.NewMCPServer("family", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions("Find a family with search_family, then read its members with get_family_details."))
	addTools(s, families)
	err = server.NewStdioServer(s).Listen(ctx, in, out)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
