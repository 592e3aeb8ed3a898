package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"syscall"
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
	yes          bool
	maxRounds    int
	timeout      time.Duration
	record       string
	resume       string
	goOn         bool
	list         bool
}

const chatHelp = `Answer one question, or talk: without a prompt, in a terminal, chat is a session.

One question. The answer goes to standard output; notes on tools and warnings go to
standard error. Text that is piped in beside a prompt is context for it; without a
prompt, or with "-" alone, it is the prompt. With a prompt, and nobody at a terminal,
chat waits 5 s for the first byte of a pipe; "-" before the prompt makes it wait for as
long as it takes.

A session. /help lists its commands; Tab completes commands, prompts of servers and
@server:uri, which puts a resource into the question. A line that ends in "\", or
Ctrl-J, goes on in the next line. Ctrl-R searches what was typed before, Ctrl-C stops
an answer, Ctrl-D ends the session.

Output formats: text; json, one object at the end; stream-json, one object a line for
each event. Both carry "version": 1.

Exit codes: 0 answered, 1 failed, 2 usage or config, 3 refused by the guardrail,
4 a tool needed approval (the answer is still printed and saved), 130 interrupted.`

func newChatCmd(a *app) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [flags] [-] [PROMPT]",
		Short: "Answer one question on the command line, or talk in a terminal",
		Long:  chatHelp,
		Example: `  molar chat
  molar chat "How often should I brush my teeth?"
  git diff | molar chat --assistant general "Summarise this change"
  molar chat --continue "And in the evening?"
  molar chat --mcp family="go run ./examples/family/server" --output-format json "Find the family Nguyen"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") && f.resume == "" {
				return &exitError{exitUsage, errors.New("--resume= has no ID; molar chat --list shows them")}
			}
			if err := f.check(); err != nil {
				return &exitError{exitUsage, err}
			}
			return a.startChat(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.assistant, "assistant", "", "`name` of the assistant that answers")
	flags.StringVar(&f.conversation, "conversation", "", "`id` of the conversation to continue, or of a new one")
	flags.StringVar(&f.resume, "resume", "", "continue the stored conversation `ID`; without one, choose from a list")
	flags.Lookup("resume").NoOptDefVal = resumeChoose
	flags.BoolVar(&f.goOn, "continue", false, "continue the latest conversation")
	flags.BoolVar(&f.list, "list", false, "list the stored conversations")
	flags.StringVar(&f.provider, "provider", "", "`name` of the provider: auto, gemini, openai, ollama or offline")
	flags.StringVar(&f.model, "model", "", "`name` of the model")
	flags.StringVar(&f.format, "output-format", formatText, "text, json or stream-json")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.BoolVar(&f.yes, "yes", false, "approve every tool call without asking")
	flags.BoolVar(&f.noTools, "no-tools", false, "offer no tools to the model")
	flags.IntVar(&f.maxRounds, "max-rounds", 0, "at most so `many` rounds of tool calls")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up on an answer after this `duration`, such as 90s")
	flags.StringVar(&f.record, "record", "", "write a tape of the turn to this new `file`, for molar eval")
	completeChat(a, cmd)
	return cmd
}

func (f chatFlags) check() error {
	switch f.format {
	case formatText, formatJSON, formatStream:
	default:
		return fmt.Errorf("--output-format %q: choose text, json or stream-json", f.format)
	}
	chosen := 0
	for _, set := range []bool{f.conversation != "", f.resume != "", f.goOn, f.list} {
		if set {
			chosen++
		}
	}
	switch {
	case f.maxRounds < 0 || f.timeout < 0:
		return errors.New("--max-rounds and --timeout must not be negative")
	case chosen > 1:
		return errors.New("choose one of --conversation, --resume, --continue and --list")
	}
	return nil
}

// startChat lists, talks or answers, as the arguments and the standard streams say.
func (a *app) startChat(ctx context.Context, f chatFlags, args []string) error {
	if f.list {
		return a.listConversations(ctx, f.format)
	}
	if f.resume == resumeChoose && len(args) > 0 && looksLikeID(args[0]) {
		f.resume, args = args[0], args[1:]
	}
	if len(args) == 0 && isTerminal(a.stdin) && isTerminal(a.stdout) {
		return a.talk(ctx, f)
	}
	if f.resume == resumeChoose {
		return &exitError{exitUsage, errors.New("--resume needs an ID here; molar chat --list shows them, and --continue takes the latest")}
	}
	asked, err := a.readQuestion(ctx, args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	cfg, err := a.loadWithServers(map[string]string{"llm.provider": f.provider}, f.mcp)
	if err != nil {
		return err
	}
	return a.chat(ctx, cfg, f, asked)
}

// chat runs one turn and renders its events.
func (a *app) chat(ctx context.Context, cfg *config.Config, f chatFlags, asked question) (err error) {
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	debug.SetGCPercent(chatGCPercent)
	ignoreBrokenPipe()
	edges, recorded, err := record(f.record, cfg, f.provider, f.model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recorded()) }()
	h, err := openHost(ctx, cfg, log, hostOptions{attachWait: chatAttachWait, env: a.env, edges: edges})
	if err != nil {
		return err
	}
	defer h.Close()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("no whole answer within %s", f.timeout))
		defer cancel()
	}
	if f.conversation, err = h.chosenConversation(ctx, f); err != nil {
		return err
	}
	out := a.newChatRenderer(f.format)
	turn := f.turn(asked)
	turn.Approver = a.approver(f)
	var done *agent.Done
	for event, err := range h.runner().Run(ctx, turn) {
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
	return chatError(ctx, out.finish(done))
}

// turn is a question with all that the flags say of it.
func (f chatFlags) turn(asked question) agent.Turn {
	return agent.Turn{
		Assistant:      f.assistant,
		ConversationID: f.conversation,
		Messages:       []schemas.Message{schemas.Text(schemas.RoleUser, asked.prompt)},
		Attachments:    asked.attached,
		Provider:       f.provider,
		Model:          f.model,
		NoTools:        f.noTools,
		MaxRounds:      f.maxRounds,
	}
}

// chatError finds the exit code of a turn that failed.
func chatError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return &exitError{exitFailure, nil} // nobody reads any more: there is nothing to say
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx)
	case errors.Is(err, agent.ErrNotFound), errors.Is(err, agent.ErrInvalid):
		return &exitError{exitUsage, err}
	}
	return err
}
