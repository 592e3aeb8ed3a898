// Command server is a small MCP server over stdio that finds families and their
// members in an embedded data set. It shows what a tool needs to be used well by a
// model: typed arguments, a description on each, structured results and errors that
// say what to do next. It does not depend on the host.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "family server:", err)
		os.Exit(1)
	}
}

// run serves MCP on the given streams until the client closes its end or ctx ends.
func run(ctx context.Context, in io.Reader, out io.Writer) error {
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
