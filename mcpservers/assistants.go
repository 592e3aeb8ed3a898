package mcpservers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/schemas"
)

// name is the server's name.
const name = "assistants"

// A Question is a client's question to an assistant.
type Question struct {
	Assistant, Text string
	// ConversationID continues a conversation; empty begins one.
	ConversationID string
}

// An Answer is an assistant's answer.
type Answer struct {
	Text           string           `json:"answer"`
	ConversationID string           `json:"conversation_id,omitempty"`
	Sources        []schemas.Source `json:"sources"`
	// Refused is set if the question is outside the assistant's subject.
	Refused  bool     `json:"refused,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Unapproved are tools that needed a person's approval, and did not run.
	Unapproved []string `json:"unapproved,omitempty"`
}

// AssistantsConfig configures the server. Assistants and Ask are required.
type AssistantsConfig struct {
	Assistants []schemas.AssistantInfo
	// Ask runs a turn. The client sees its error.
	Ask     func(ctx context.Context, q Question) (Answer, error)
	Version string
	// Logger may be nil.
	Logger *slog.Logger
}

// NewAssistants returns the server.
func NewAssistants(cfg AssistantsConfig) (*Dispatcher, error) {
	if len(cfg.Assistants) == 0 || cfg.Ask == nil {
		return nil, errors.New("new assistants' server: an assistant, and what asks it, are needed")
	}
	s := server.NewMCPServer(name, cfg.Version, server.WithToolCapabilities(false))
	seen := make(map[string]string)
	for _, a := range cfg.Assistants {
		name := toolName(a.Name)
		if other, taken := seen[name]; taken {
			return nil, fmt.Errorf("new assistants' server: %q and %q would both be the tool %q; rename one", other, a.Name, name)
		}
		seen[name] = a.Name
		s.AddTool(tool(name, a), cfg.handle(a.Name))
	}
	return New(Config{Name: name, Version: cfg.Version, MCP: s, Logger: cfg.Logger})
}

func tool(name string, a schemas.AssistantInfo) mcp.Tool {
	about := a.Description
	if about == "" {
		about = "An assistant."
	}
	return mcp.NewTool(name,
		mcp.WithDescription("Ask the assistant "+a.Name+". "+about+" Returns its answer with the sources."),
		mcp.WithString("question", mcp.Required(), mcp.Description("What to ask, in the language of the answer")),
		mcp.WithString("conversation_id", mcp.Description("The conversation_id of an earlier answer, to go on with it")),
		mcp.WithOutputSchema[Answer](),
		mcp.WithDestructiveHintAnnotation(false), mcp.WithIdempotentHintAnnotation(false), mcp.WithOpenWorldHintAnnotation(true),
	)
}

// toolName returns the tool name of an assistant, whose name may have other characters.
func toolName(assistant string) string {
	const longest = 64
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, assistant)
	return name[:min(longest, len(name))]
}

func (cfg AssistantsConfig) handle(assistant string) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		q := Question{Assistant: assistant, Text: req.GetString("question", ""), ConversationID: req.GetString("conversation_id", "")}
		if strings.TrimSpace(q.Text) == "" {
			return mcp.NewToolResultError("question must be a text"), nil
		}
		answer, err := cfg.Ask(ctx, q)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if answer.Sources == nil {
			answer.Sources = []schemas.Source{} // the schema requires a list
		}
		return mcp.NewToolResultStructured(answer, answer.Text), nil
	}
}
