// Command effects is an MCP server on standard input and output whose tools have an effect that
// can be counted: each call of book appends a line to the file that is its argument. A test that
// reads the file can count how often a tool ran, whatever the client was told. The command must
// stay this small.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: effects FILE")
		os.Exit(2)
	}
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(path string) error {
	s := server.NewMCPServer("effects", "1.0.0")
	book := mcp.NewTool("book", mcp.WithDescription("Books a room"), mcp.WithDestructiveHintAnnotation(false), mcp.WithString("room", mcp.Description("The room")),
		mcp.WithBoolean("slowly", mcp.Description("Whether to answer two seconds later")))
	s.AddTool(book, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		room := req.GetString("room", "any")
		if err := appendLine(path, room); err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if req.GetBool("slowly", false) {
			<-time.After(2 * time.Second)
		}
		return mcp.NewToolResultText("booked " + room), nil
	})
	return server.ServeStdio(s)
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		return err
	}
	return f.Close()
}
