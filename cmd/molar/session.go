package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"molar/internal/config"
	"molar/internal/terminal"
)

// promptMark stands before what a person types.
const promptMark = "> "

// errLeave ends a session that a person leaves, errBack a line that was asked for.
var (
	errLeave = errors.New("leave")
	errBack  = errors.New("back")
)

// A session is chat in a terminal. Everything happens on the goroutine of loop: keys,
// events of a turn and questions for approval come to it through channels.
type session struct {
	app *app
	h   *host
	f   chatFlags // assistant, model, conversation: what the next turn takes

	con    io.Writer
	size   func() (columns, rows int)
	editor *terminal.Editor
	past   *terminal.History
	md     *terminal.Markdown
	keys   chan terminal.Key
	ahead  []terminal.Key // typed during an answer
	asks   chan approvalAsk
	notes  chan string // progress of tools
	sized  <-chan os.Signal
	always map[string]bool
	status string // the line that is shown while something runs
	last   *question

	turns sync.WaitGroup // turns that still end after Ctrl-C
}

// talk is chat without a prompt.
func (a *app) talk(ctx context.Context, f chatFlags) (err error) {
	in, out := a.stdin.(*os.File), a.stdout.(*os.File)
	switch {
	case a.dumb():
		return &exitError{exitUsage, errors.New(`TERM is "dumb", and a session moves the cursor; ask one question at a time: molar chat "…"`)}
	case f.format != formatText || f.record != "":
		return &exitError{exitUsage, errors.New("--output-format and --record are for one question: molar chat [flags] PROMPT")}
	}
	cfg, err := a.loadWithServers(map[string]string{"llm.provider": f.provider}, f.mcp)
	if err != nil {
		return err
	}
	log, err := a.sessionLogger(cfg)
	if err != nil {
		return err
	}
	s := &session{app: a, f: f, keys: make(chan terminal.Key, 256), asks: make(chan approvalAsk), notes: make(chan string, 16), always: map[string]bool{}}
	watch := &wire{progress: s.progressed}
	if s.h, err = openHost(ctx, cfg, log, hostOptions{attachWait: chatAttachWait, summaries: true, env: a.env, wrap: watch.dial}); err != nil {
		return err
	}
	defer s.h.Close()
	defer s.turns.Wait()
	if s.f.conversation, err = s.h.chosenConversation(ctx, f); err != nil {
		return err
	}
	con, err := terminal.OpenConsole(in, out, a.colour(out))
	if err != nil {
		return fmt.Errorf("the terminal cannot be used for a session: %w; ask one question: molar chat \"…\"", err)
	}
	defer func() { err = errors.Join(err, con.Close()) }()
	s.attachConsole(con, con.Size)
	sized, unwatch := terminal.Resizes()
	defer unwatch()
	s.sized = sized
	go func() { // ends with the program: a read of a terminal cannot be broken off
		defer close(s.keys)
		_ = terminal.ReadKeys(con, func(k terminal.Key) bool { s.keys <- k; return true })
	}()
	return s.loop(ctx)
}

// sessionLogger is silent unless a level is asked for: what a person needs to know is
// told by events, and log lines would tear the answer apart.
func (a *app) sessionLogger(cfg *config.Config) (*slog.Logger, error) {
	if cfg.Telemetry.LogLevel == "" || isTerminal(a.stderr) && a.logLevel == "" {
		return slog.New(slog.DiscardHandler), nil
	}
	return a.logger(cfg.Telemetry, slog.LevelError)
}

func (s *session) attachConsole(con io.Writer, size func() (int, int)) {
	path := ""
	if dir, err := config.DataDir(s.app.env); err == nil {
		path = filepath.Join(dir, "history")
	}
	var note error
	s.past, note = terminal.OpenHistory(path)
	s.con, s.size = con, size
	s.editor = terminal.NewEditor(con, size, s.past, s.complete)
	s.md = terminal.NewMarkdown(con, size)
	s.lines("molar "+hostVersion()+", assistant "+s.assistant()+"; /help lists the commands, Ctrl-D ends", terminal.Dim)
	if note != nil {
		s.warn(note.Error())
	}
}

// loop reads lines and does what they say until the person leaves or ctx ends.
func (s *session) loop(ctx context.Context) error {
	err := s.begin(ctx)
	for err == nil {
		var line string
		if line, err = s.readLine(ctx, promptMark); err == nil {
			err = s.do(ctx, line)
		}
	}
	if errors.Is(err, errLeave) {
		if s.f.conversation != "" {
			s.lines("continue with: molar chat --resume "+s.f.conversation, terminal.Dim)
		}
		return nil
	}
	return err
}

// begin shows where a resumed conversation stands.
func (s *session) begin(ctx context.Context) error {
	if s.f.resume == resumeChoose {
		return s.choose(ctx)
	}
	if s.f.conversation != "" && (s.f.goOn || s.f.resume != "") {
		return s.show(ctx, s.f.conversation, resumeShown)
	}
	return nil
}

// do runs one line. What goes wrong with it is told, and the session goes on.
func (s *session) do(ctx context.Context, line string) error {
	text := strings.TrimSpace(line)
	if text == "" {
		return nil
	}
	if err := s.past.Add(text); err != nil {
		s.warn("what was typed could not be remembered: " + err.Error())
	}
	known, err := s.command(ctx, text)
	if !known && err == nil {
		err = s.ask(ctx, text)
	}
	switch {
	case err == nil, errors.Is(err, errLeave):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.fault(err)
	return nil
}

// readLine lets the person type. It fails with errLeave at Ctrl-D, and when the
// terminal has gone; with errBack at Ctrl-C, unless it is the session's own prompt.
func (s *session) readLine(ctx context.Context, prompt string) (string, error) {
	s.editor.SetPrompt(prompt)
	for {
		if len(s.ahead) == 0 && len(s.keys) == 0 {
			if err := s.editor.Paint(); err != nil {
				return "", err
			}
		}
		key, err := s.nextKey(ctx)
		if err != nil {
			s.editor.Erase()
			return "", err
		}
		typed := s.editor.Text()
		switch s.editor.Key(key) {
		case terminal.Submitted:
			err := s.editor.Leave()
			return s.editor.Take(), err
		case terminal.Ended:
			s.editor.Erase()
			return "", errLeave
		case terminal.Interrupted:
			s.editor.Erase()
			if prompt != promptMark {
				return "", errBack
			}
			if typed == "" {
				s.say("%s", terminal.Dim("Ctrl-D ends the session"))
			}
		}
		if key.Code == terminal.KeyClear {
			s.editor.Erase()
			_, _ = io.WriteString(s.con, "\x1b[2J\x1b[H")
		}
	}
}

// nextKey waits for a key. A new size of the window is one that means nothing, so that
// the line is painted anew.
func (s *session) nextKey(ctx context.Context) (terminal.Key, error) {
	if len(s.ahead) > 0 {
		key := s.ahead[0]
		s.ahead = s.ahead[1:]
		return key, nil
	}
	select {
	case key, ok := <-s.keys:
		if !ok {
			return key, errLeave
		}
		return key, nil
	case <-s.sized:
		return terminal.Key{Code: terminal.KeyNone}, nil
	case <-ctx.Done():
		return terminal.Key{}, ctx.Err()
	}
}

// say writes lines. Foreign text in args must be clean.
func (s *session) say(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\r\n")
	_, _ = io.WriteString(s.con, text+"\r\n")
}

func (s *session) warn(text string) { s.lines("warning: "+text, terminal.Dim) }

func (s *session) fault(err error) { s.lines("molar: "+err.Error(), terminal.Bold) }

// lines writes foreign text, cleaned and broken at the width of the screen.
func (s *session) lines(text string, style func(string) string) {
	columns, _ := s.size()
	for line := range strings.SplitSeq(terminal.Clean(text), "\n") {
		for _, row := range terminal.Wrap(line, columns) {
			s.say("%s", style(row))
		}
	}
}

func (s *session) assistant() string {
	if s.f.assistant != "" {
		return terminal.Clean(s.f.assistant)
	}
	return s.h.cfg.Default
}
