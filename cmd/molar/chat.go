package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/agent"
	"molar/internal/config"
	"molar/schemas"
)

// Exit codes of chat beside those of every command.
const (
	exitRefused    = 3
	exitUnapproved = 4
)

// Bounds of chat.
const (
	// chatAttachWait is how long the turn waits for servers: a "go run" compiles.
	chatAttachWait = 60 * time.Second
	// maxPrompt is the longest prompt that is read from standard input, in bytes.
	maxPrompt = 4 << 20
	// chatGCPercent lets a process that lives for one turn collect less often: it
	// saves about 5 % of its time, for 1 MiB.
	chatGCPercent = 400
)

// chatFlags are the flags of chat.
type chatFlags struct {
	assistant    string
	conversation string
	provider     string
	model        string
	format       string
	mcp          []string
	noTools      bool
	maxRounds    int
	timeout      time.Duration
}

func newChatCmd(a *app) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [flags] PROMPT",
		Short: "Answer one question on the command line",
		Long: `Answer one question. The answer is streamed to standard output; notes on tools and
warnings go to standard error. With "-" the prompt is read from standard input.

Exit codes: 0 answered, 1 failed, 2 usage or config, 3 refused by the guardrail,
4 a tool needed approval (the answer is still printed and saved), 130 interrupted.`,
		Example: `  molar chat "How often should I brush my teeth?"
  molar chat --config examples/family/molar.yaml "Show me detail family with id 1a955fff-ce01-422f-8bb3-02ab14e8ec47"
  molar chat --mcp family="go run ./examples/family/server" --output-format json "Find the family Nguyen"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return &exitError{exitUsage, err}
			}
			prompt, err := a.prompt(args)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			cfg, err := a.loadWithServers(map[string]string{"llm.provider": f.provider}, f.mcp)
			if err != nil {
				return err
			}
			return a.chat(cmd.Context(), cfg, f, prompt)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.assistant, "assistant", "", "`name` of the assistant that answers")
	flags.StringVar(&f.conversation, "conversation", "", "`id` of the conversation to continue")
	flags.StringVar(&f.provider, "provider", "", "`name` of the provider: auto, ollama or offline")
	flags.StringVar(&f.model, "model", "", "`name` of the model")
	flags.StringVar(&f.format, "output-format", formatText, "text, json or stream-json")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.BoolVar(&f.noTools, "no-tools", false, "offer no tools to the model")
	flags.IntVar(&f.maxRounds, "max-rounds", 0, "at most so `many` rounds of tool calls")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this `duration`, such as 90s")
	return cmd
}

func (f chatFlags) check() error {
	switch f.format {
	case formatText, formatJSON, formatStream:
	default:
		return fmt.Errorf("--output-format %q: choose text, json or stream-json", f.format)
	}
	if f.maxRounds < 0 || f.timeout < 0 {
		return errors.New("--max-rounds and --timeout must not be negative")
	}
	return nil
}

// prompt is the question: the arguments, or standard input for "-".
func (a *app) prompt(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(a.stdin, maxPrompt+1))
		if err != nil {
			return "", fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if len(data) > maxPrompt {
			return "", fmt.Errorf("the prompt on standard input is longer than %d MiB; send less", maxPrompt>>20)
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New(`the prompt is missing: molar chat "…", or molar chat - to read it from standard input`)
	}
	return text, nil
}

// chat runs one turn and renders its events.
func (a *app) chat(ctx context.Context, cfg *config.Config, f chatFlags, prompt string) error {
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	debug.SetGCPercent(chatGCPercent)
	h, err := openHost(ctx, cfg, log, hostOptions{attachWait: chatAttachWait})
	if err != nil {
		return err
	}
	defer h.Close()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("no whole answer within %s", f.timeout))
		defer cancel()
	}
	out := newRenderer(f.format, a.stdout, a.stderr)
	turn := agent.Turn{
		Assistant:      f.assistant,
		ConversationID: f.conversation,
		Messages:       []schemas.Message{schemas.Text(schemas.RoleUser, prompt)},
		Provider:       f.provider,
		Model:          f.model,
		NoTools:        f.noTools,
		MaxRounds:      f.maxRounds,
	}
	var done *agent.Done
	for event, err := range h.agent.Run(ctx, turn) {
		if err == nil {
			err = out.event(event)
		}
		if err != nil {
			return chatError(ctx, out.fail(err))
		}
		if event.Done != nil {
			done = event.Done
		}
	}
	return out.finish(done)
}

// chatError finds the exit code of a turn that failed.
func chatError(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx)
	case errors.Is(err, agent.ErrNotFound), errors.Is(err, agent.ErrInvalid):
		return &exitError{exitUsage, err}
	case errors.Is(err, os.ErrClosed):
		return nil
	}
	return err
}
