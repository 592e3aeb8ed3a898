package session

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"molar/agent"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/providers/chain"
	"molar/schemas"
)

// Exit codes of chat in addition to those of every command.
const (
	ExitRefused    = 3
	ExitUnapproved = 4
)

// Flags are the flags of chat.
type Flags struct {
	Assistant    string
	Conversation string
	Provider     string
	Model        string
	Format       string
	MCP          []string
	NoTools      bool
	Without      []string
	Yes          bool
	MaxRounds    int
	Timeout      time.Duration
	// files are the paths of the question's files.
	Files []string
	// Resume is the ID of a conversation, or [ResumeChoose].
	Resume string
	// GoOn continues the latest conversation, List lists them.
	GoOn, List bool
}

func (f Flags) check() error {
	switch f.Format {
	case cli.Text, cli.JSON, cli.StreamJSON:
	default:
		return fmt.Errorf("--output-format %q: choose text, json or stream-json", f.Format)
	}
	chosen := 0
	for _, set := range []bool{f.Conversation != "", f.Resume != "", f.GoOn, f.List} {
		if set {
			chosen++
		}
	}
	switch {
	case f.MaxRounds < 0 || f.Timeout < 0:
		return errors.New("--max-rounds and --timeout must not be negative")
	case chosen > 1:
		return errors.New("choose one of --conversation, --resume, --continue and --list")
	}
	return nil
}

// Start lists, talks or answers, depending on the arguments and the standard streams. The
// error has the exit code: of a refusal, of a call that was not approved, of wrong flags.
func Start(ctx context.Context, a *cli.CLI, f Flags, args []string) error {
	if err := f.check(); err != nil {
		return cli.Usage(err)
	}
	if f.List {
		return listConversations(ctx, a, f.Format)
	}
	if f.Resume == ResumeChoose && len(args) > 0 && looksLikeID(args[0]) {
		f.Resume, args = args[0], args[1:]
	}
	if len(args) == 0 && len(f.Files) == 0 && cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stdout) {
		return converse(ctx, a, f)
	}
	if f.Resume == ResumeChoose {
		return cli.Usage(errors.New("--resume needs an ID here; molar chat --list shows them, and --continue takes the latest"))
	}
	files, err := files(f.Files)
	if err != nil {
		return cli.Usage(err)
	}
	asked, err := read(ctx, a, args)
	if err == nil && len(asked.Pasted) == 0 { // the prompt is an argument
		asked, err = typedFiles(a, asked)
	}
	asked.Attached = append(files, asked.Attached...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return cli.Usage(err)
	}
	cfg, err := a.LoadWithServers(map[string]string{"llm.provider": f.Provider}, f.MCP)
	if err != nil {
		return err
	}
	return chat(ctx, a, cfg, f, asked)
}

// chat opens a host and answers one question.
func chat(ctx context.Context, a *cli.CLI, cfg *config.Config, f Flags, asked Question) (err error) {
	log := slog.New(slog.DiscardHandler)
	if a.LogLevel != "" || cfg.Telemetry.LogLevel != "" { // otherwise events report warnings, once
		if log, err = a.Logger(cfg.Telemetry, slog.LevelWarn); err != nil {
			return err
		}
	}
	cli.CollectLess()
	person := newReader(a, bufio.NewReader(a.Stdin))
	h, err := host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Env: a.Env, Elicit: person.elicitor()})
	if err != nil {
		return err
	}
	defer h.Close()
	if f.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.Timeout, fmt.Errorf("no whole answer within %s", f.Timeout))
		defer cancel()
	}
	var answering string
	if f.Conversation, answering, err = chosenConversation(ctx, h, f); err != nil {
		return err
	}
	if f.Format == cli.Text {
		noteModel(ctx, a, h, cmp.Or(f.Assistant, answering, h.Config.Default), f)
	}
	return answerOne(ctx, a, h, f, asked, person)
}

// noteModel tells which model stands in where nobody named one and the service does not have the usual
// one.
func noteModel(ctx context.Context, a *cli.CLI, h *host.Host, assistant string, f Flags) {
	as, _ := h.Config.Assistants.Get(assistant)
	if cmp.Or(f.Model, as.Model) != "" {
		return
	}
	route, err := h.Chain.Pick(ctx, chain.Want{Provider: cmp.Or(f.Provider, as.Provider)})
	if err != nil || route.Offline { // the turn tells it
		return
	}
	if e, ok := h.Config.LLM.Endpoint(route.Provider.Name()); ok && e.Model == "" && e.Service.Model != "" && e.Service.Model != route.Model {
		a.Note("%s", terminal.Clean("note: "+route.Model+" answers, as "+e.Service.Model+" is not there; choose one with "+e.Setting+".model"))
	}
}

// Answer asks a question typed at a terminal in an open host, and renders the turn as chat does. in
// is the person's input, for approvals. The error has the exit code of chat.
func Answer(ctx context.Context, a *cli.CLI, h *host.Host, in *bufio.Reader, question string) error {
	asked, err := Question{Prompt: question}.WithFiles()
	if err != nil {
		return cli.Usage(err)
	}
	return answerOne(ctx, a, h, Flags{Format: cli.Text}, asked, newReader(a, in))
}

// answerOne runs one turn and renders its events.
func answerOne(ctx context.Context, a *cli.CLI, h *host.Host, f Flags, asked Question, person *reader) error {
	ignoreBrokenPipe()
	out := newChatRenderer(a, f.Format)
	person.out = out
	turn := f.turn(asked)
	turn.Approver, turn.Person = approver(a, f, person.in), person
	for event, err := range h.Runner().Run(ctx, turn) {
		if err == nil {
			err = out.event(event)
		}
		if err != nil {
			return chatError(ctx, out.fail(err))
		}
	}
	return chatError(ctx, out.finish())
}

// turn returns the turn for a question, with all flags applied.
func (f Flags) turn(asked Question) agent.Turn {
	return agent.Turn{
		Caller:      operator(),
		Assistant:   f.Assistant,
		Place:       agent.Place{ConversationID: f.Conversation, Parent: asked.Parent},
		Messages:    []schemas.Message{{Role: schemas.RoleUser, Parts: schemas.PastedParts(asked.Prompt, asked.Pasted)}},
		Attachments: asked.Attached,
		ModelChoice: agent.ModelChoice{Provider: f.Provider, Model: f.Model},
		ServerTools: agent.ServerTools{NoTools: f.NoTools, Without: slices.Concat(f.Without, asked.Without), MaxRounds: f.MaxRounds},
	}
}

// chatError returns the failed turn's error with its exit code.
func chatError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return cli.Exit(cli.Failure) // the reader is gone: print nothing
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx)
	case errors.Is(err, agent.ErrNotFound), errors.Is(err, agent.ErrInvalid):
		return cli.Usage(err)
	}
	return err
}

// ignoreBrokenPipe turns a closed pipe into a write error, so that the turn is ended and saved
// as interrupted like any other. Unlike an ignored signal, one with a listener is not
// inherited by the servers.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// operator is who asks in a terminal.
func operator() schemas.Caller { return schemas.Caller{ID: schemas.Operator} }
