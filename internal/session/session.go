package session

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

	"molar/agent"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/schemas"
)

// promptMark is the prompt for a person's input.
const promptMark = "> "

// missingTools is the prefix of a turn's warning that a server's tools are missing.
const missingTools = "tools are missing: server "

// errLeave ends a session, errBack cancels a line.
var (
	errLeave = errors.New("leave")
	errBack  = errors.New("back")
)

// A session is chat in a terminal. Everything happens on the goroutine of loop: keys,
// events of a turn and questions for approval come to it through channels.
type session struct {
	cli *cli.CLI
	h   *host.Host
	f   Flags // assistant, model, conversation: the settings of the next turn

	con    io.Writer
	size   func() (columns, rows int)
	editor *terminal.Editor
	past   *terminal.History
	md     *terminal.Markdown
	keys   chan terminal.Key
	ahead  []terminal.Key // typed during an answer
	asks   chan approvalAsk
	wants  chan questionAsk
	notes  chan string // servers' messages about their tools
	sized  <-chan os.Signal
	grants grantStore
	status string // the line shown while something runs
	last   *Question
	pasted []string           // what was pasted into the last line
	files  []agent.Attachment // that go with the next question
	// answering is the assistant that answered last; the conversation keeps it.
	answering string
	lastTurn  string // its id
	// reported are the warnings of missing tools that were already shown. listed reports whether
	// the list of commands was.
	reported map[string]bool
	listed   bool

	turns sync.WaitGroup // turns that still end after Ctrl-C
}

// converse runs a session: chat without a prompt.
func converse(ctx context.Context, a *cli.CLI, f Flags) (err error) {
	in, out := a.Stdin.(*os.File), a.Stdout.(*os.File)
	switch {
	case a.Dumb():
		return cli.Usage(errors.New(`TERM is "dumb", and a session moves the cursor; ask one question at a time: molar chat "…"`))
	case f.Format != cli.Text:
		return cli.Usage(errors.New("--output-format is for one question: molar chat [flags] PROMPT"))
	}
	cfg, err := a.LoadWithServers(map[string]string{"llm.provider": f.Provider}, f.MCP)
	if err != nil {
		return err
	}
	log, err := sessionLogger(a, cfg)
	if err != nil {
		return err
	}
	s := &session{cli: a, f: f, reported: map[string]bool{}, keys: make(chan terminal.Key, 256), asks: make(chan approvalAsk), wants: make(chan questionAsk), notes: make(chan string, 16)}
	if s.h, err = host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Summaries: true, Env: a.Env, Elicit: host.AskNobody}); err != nil {
		return err
	}
	defer s.h.Close()
	defer s.turns.Wait()
	s.grants = s.h.DB
	if s.f.Conversation, s.answering, err = chosenConversation(ctx, s.h, f); err != nil {
		return err
	}
	con, err := terminal.OpenConsole(in, out, a.Colour(out))
	if err != nil {
		return fmt.Errorf("the terminal cannot be used for a session: %w; ask one question: molar chat \"…\"", err)
	}
	defer func() { err = errors.Join(err, con.Close()) }()
	s.attachConsole(con, con.Size)
	sized, unwatch := terminal.Resizes()
	defer unwatch()
	s.sized = sized
	go func() { // ends with the program: a read of a terminal cannot be cancelled
		defer close(s.keys)
		_ = terminal.ReadKeys(con, func(k terminal.Key) bool { s.keys <- k; return true })
	}()
	return s.loop(ctx)
}

// sessionLogger is silent unless a level is set: events report what a person needs to know,
// and log lines would tear the answer apart.
func sessionLogger(a *cli.CLI, cfg *config.Config) (*slog.Logger, error) {
	if cfg.Telemetry.LogLevel == "" || cli.IsTerminal(a.Stderr) && a.LogLevel == "" {
		return slog.New(slog.DiscardHandler), nil
	}
	return a.Logger(cfg.Telemetry, slog.LevelError)
}

func (s *session) attachConsole(con io.Writer, size func() (int, int)) {
	path := ""
	if dir, err := config.DataDir(s.cli.Env); err == nil {
		path = filepath.Join(dir, "history")
	}
	var note error
	s.past, note = terminal.OpenHistory(path)
	s.con, s.size = con, size
	s.editor = terminal.NewEditor(con, size, s.past, s.complete)
	s.md = terminal.NewMarkdown(con, size)
	s.lines("molar "+cli.Version()+", assistant "+s.assistant()+"; /help lists the commands, Ctrl-D ends", terminal.Dim)
	if note != nil {
		s.warn(note.Error())
	}
}

// introduce prints which model answers, and what the servers provide or why they do not.
func (s *session) introduce(ctx context.Context) {
	if route, err := s.h.Chain.Pick(ctx, s.want()); err != nil {
		s.warn(err.Error())
	} else {
		s.lines("model "+route.Model+" ("+route.Provider.Name()+"); "+route.Why, terminal.Dim)
	}
	var ready []string
	for _, status := range s.h.MCP.Status() {
		switch {
		case status.Transport == "in-process" || status.State == schemas.StateDisabled:
		case status.Reason != "" && status.State != schemas.StateStarting:
			s.warn("server " + host.ServerLine(status))
			s.reported[fmt.Sprintf("%s%q %s: %s", missingTools, status.Name, status.State.Predicate(), status.Reason)] = true
		default:
			ready = append(ready, host.ServerLine(status))
		}
	}
	if len(ready) > 0 {
		s.lines("servers: "+strings.Join(ready, "; "), terminal.Dim)
	}
}

// loop reads lines and runs them until the person leaves or ctx ends.
func (s *session) loop(ctx context.Context) error {
	s.introduce(ctx)
	err := s.begin(ctx)
	for err == nil {
		var line string
		if line, err = s.readLine(ctx, promptMark); err == nil {
			err = s.do(ctx, line)
		}
	}
	if errors.Is(err, errLeave) {
		if s.f.Conversation != "" {
			// Not wrapped, so that it can be copied whole.
			s.say("%s", terminal.Dim(terminal.Clean("continue with: molar chat "+s.again()+"--resume "+quoted(s.f.Conversation))))
		}
		return nil
	}
	return err
}

// again returns the flags without which another store would be used, or another assistant
// would answer: one that was chosen, and that the conversation does not have yet.
func (s *session) again() string {
	flags := ""
	if s.cli.ConfigFile != "" {
		flags = "--config " + quoted(s.cli.ConfigFile) + " "
	}
	if s.f.Assistant != "" && s.f.Assistant != s.answering {
		flags += "--assistant " + quoted(s.f.Assistant) + " "
	}
	return flags
}

// quoted returns a word quoted for a shell.
func quoted(word string) string {
	if !strings.ContainsAny(word, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// begin shows the end of a resumed conversation.
func (s *session) begin(ctx context.Context) error {
	if s.f.Resume == ResumeChoose {
		assistant := s.f.Assistant
		defer func() { s.f.Assistant = assistant }() // a flag overrides the conversation
		return s.choose(ctx)
	}
	if s.f.Conversation != "" && (s.f.GoOn || s.f.Resume != "") {
		messages, err := s.h.Stored(ctx, s.f.Conversation)
		if err != nil {
			return err
		}
		return s.show(messages, resumeShown)
	}
	return nil
}

// do runs one line. Its errors are shown, and the session continues.
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

// readLine reads a line. It fails with errLeave at Ctrl-D, and if the terminal is gone; with
// errBack at Ctrl-C, unless it is the session's own prompt.
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
		if typed == "" && key.Text == "/" && !s.listed {
			s.menu()
			s.listed = true
		}
		switch s.editor.Key(key) {
		case terminal.Submitted:
			err := s.editor.Leave()
			s.pasted = s.editor.Pasted()
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

// menu lists the completions of a slash at the start of a line.
func (s *session) menu() {
	s.editor.Erase()
	var names []string
	for _, c := range s.commands() {
		names = append(names, "/"+c.name)
	}
	s.lines(strings.Join(names, "  ")+"  and prompts of servers; Tab completes", terminal.Dim)
}

// nextKey waits for a key. A resized window gives a key without meaning, so that the line is
// repainted.
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

// say writes lines. Foreign text in args must be cleaned.
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
	if s.f.Assistant != "" {
		return terminal.Clean(s.f.Assistant)
	}
	if s.answering != "" {
		return terminal.Clean(s.answering)
	}
	return s.h.Config.Default
}
