package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/agent"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/internal/text"
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

	size   func() (columns, rows int)
	editor *terminal.Editor // at the bottom of the screen; what is written to it stands above
	past   *terminal.History
	md     *terminal.Markdown
	keys   chan terminal.Key
	queue  []typedLine // submitted during an answer
	aside  bool        // what is asked for is not a message
	report func() error
	asks   chan approvalAsk
	wants  chan questionAsk
	notes  chan string // servers' messages about their tools
	sized  <-chan os.Signal
	grants grantStore
	log    *logbook

	found  map[string][]terminal.Proposal // for the menu of the current line
	sought map[string]bool                // what is being looked up for it
	finds  chan finding
	looks  sync.WaitGroup
	aWhile func() (context.Context, context.CancelFunc) // for one look-up

	last   *Question
	pasted []string           // what was pasted into the last line
	files  []agent.Attachment // that go with the next question
	// answering is the assistant that answered last; the conversation keeps it.
	answering string
	lastTurn  string // its id
	// reported are the warnings of missing tools that were already shown.
	reported map[string]bool
	starting []string // servers that were not ready when the session last looked

	turns sync.WaitGroup // turns that still end after Ctrl-C
}

// A typedLine is a line that waits for its turn.
type typedLine struct {
	draft terminal.Draft
	ended bool // Ctrl-D instead
}

// newSession returns a session without a host, that reads keys from its channel and writes to a terminal.
func newSession(a *cli.CLI, f Flags, con io.Writer, size func() (columns, rows int), past *terminal.History) *session {
	s := &session{
		cli: a, f: f, size: size, past: past, log: newLogbook(), reported: map[string]bool{},
		keys: make(chan terminal.Key, 256), asks: make(chan approvalAsk), wants: make(chan questionAsk), notes: make(chan string, 16),
		found: map[string][]terminal.Proposal{}, sought: map[string]bool{}, finds: make(chan finding, 16),
		report: func() error { return nil },
	}
	s.editor = terminal.NewEditor(con, size, past, s.complete)
	s.md = terminal.NewMarkdown(s.editor, s.editor.Room)
	return s
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
	con, err := terminal.OpenConsole(in, out, a.Colour(out))
	if err != nil {
		return fmt.Errorf("the terminal cannot be used for a session: %w; ask one question: molar chat \"…\"", err)
	}
	defer func() { err = errors.Join(err, con.Close()) }()
	past, unkept := terminal.OpenHistory(historyPath(a))
	s := newSession(a, f, con, con.Size, past)
	s.report = con.Report
	log, err := s.log.logger(a, cfg)
	if err != nil {
		return err
	}
	if s.h, err = host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Summaries: true, Env: a.Env, Elicit: host.AskNobody}); err != nil {
		return err
	}
	defer s.h.Close()
	defer s.turns.Wait()
	defer s.looks.Wait()
	looking, stop := context.WithCancel(ctx)
	defer stop()
	s.aWhile = func() (context.Context, context.CancelFunc) { return context.WithTimeout(looking, completeWait) }
	s.grants = s.h.DB
	if s.f.Conversation, s.answering, err = chosenConversation(ctx, s.h, f); err != nil {
		return err
	}
	sized, unwatch := terminal.Resizes()
	defer unwatch()
	s.sized = sized
	go func() { // ends with the program: a read of a terminal cannot be cancelled
		defer close(s.keys)
		_ = terminal.ReadKeys(con, func(k terminal.Key) bool { s.keys <- k; return true })
	}()
	if unkept != nil {
		s.warn(unkept.Error())
	}
	return s.loop(ctx)
}

// historyPath returns the file of what was typed; empty if there is no folder for it.
func historyPath(a *cli.CLI) string {
	dir, err := config.DataDir(a.Env)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}

// introduce prints who answers, and what the servers provide or why they do not.
func (s *session) introduce(ctx context.Context) {
	model := ""
	if route, err := s.h.Chain.Pick(ctx, s.want()); err != nil {
		defer s.warn(err.Error())
	} else {
		model = ", model " + route.Model + " (" + route.Provider.Name() + ")"
	}
	s.lines("assistant "+s.assistant()+model+"; / lists the commands", terminal.Dim)
	var ready, failed []string
	for _, status := range s.h.MCP.Status() {
		switch {
		case status.Transport == "in-process" || status.State == schemas.StateDisabled:
		case status.State == schemas.StateStarting:
			s.starting = append(s.starting, status.Name)
			ready = append(ready, status.Name+" starting")
		case status.Reason != "":
			failed = append(failed, fmt.Sprintf("%s %s: %s", status.Name, status.State.Predicate(), status.Reason))
			s.reported[fmt.Sprintf("%s%q %s: %s", missingTools, status.Name, status.State.Predicate(), status.Reason)] = true
		default:
			ready = append(ready, status.Name+" "+text.Counted(status.Tools, "tool"))
		}
	}
	if len(ready) > 0 {
		s.lines("servers: "+strings.Join(ready, ", "), terminal.Dim)
	}
	if len(failed) > 0 {
		s.warn("server " + strings.Join(failed, "; server "))
	}
}

// tellReady says once which servers have become ready, or failed, since the session began.
func (s *session) tellReady() {
	var still []string
	for _, status := range s.h.MCP.Status() {
		switch {
		case !slices.Contains(s.starting, status.Name):
		case status.State == schemas.StateStarting:
			still = append(still, status.Name)
		case status.State == schemas.StateReady || status.State == schemas.StateDegraded:
			s.lines(status.Name+" ready: "+text.Counted(status.Tools, "tool"), terminal.Dim)
		default:
			s.warn("server " + host.ServerLine(status))
			s.reported[fmt.Sprintf("%s%q %s: %s", missingTools, status.Name, status.State.Predicate(), status.Reason)] = true
		}
	}
	s.starting = still
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

// readLine reads a line: the first that was typed during an answer, or one that is typed now. It fails
// with errLeave at Ctrl-D, and if the terminal is gone; with errBack at Ctrl-C, unless it is the
// session's own prompt.
func (s *session) readLine(ctx context.Context, prompt string) (string, error) {
	s.editor.SetPrompt(prompt)
	s.editor.SetBusy(false)
	s.editor.SetStatus("")
	if !s.aside && len(s.queue) > 0 {
		return s.next()
	}
	for {
		if len(s.starting) > 0 && !s.aside {
			s.tellReady()
		}
		if len(s.keys) == 0 {
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
			return s.take()
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
			s.wipe()
		}
	}
}

// take leaves the editor's text on the screen and returns it.
func (s *session) take() (string, error) {
	err := s.editor.Leave()
	s.pasted = s.editor.Pasted()
	clear(s.found)
	return s.editor.Take(), err
}

// next returns the first line that was typed during an answer, as if it were typed now. What is not
// submitted yet stays in the editor.
func (s *session) next() (string, error) {
	line := s.queue[0]
	s.queue = s.queue[1:]
	if line.ended {
		s.editor.Erase()
		return "", errLeave
	}
	typing := s.editor.PutAside()
	defer s.editor.Restore(typing)
	s.editor.Restore(line.draft)
	return s.take()
}

// typeAhead applies a key that was pressed during an answer. A line that it submits is queued.
func (s *session) typeAhead(key terminal.Key) {
	switch s.editor.Key(key) {
	case terminal.Submitted:
		if len(s.queue) < maxQueue {
			s.queue = append(s.queue, typedLine{draft: s.editor.PutAside()})
			s.editor.SetStatus(s.waiting())
		}
	case terminal.Ended:
		s.queue = append(s.queue, typedLine{ended: true})
	}
}

// waiting names the lines that are queued, for the status line.
func (s *session) waiting() string {
	var lines []string
	for _, line := range s.queue {
		if !line.ended {
			lines = append(lines, flat(line.draft.String()))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "  then: " + strings.Join(lines, " | ")
}

// readyEvery is how often the session looks whether servers that start are ready.
const readyEvery = 500 * time.Millisecond

// nextKey waits for a key. A resized window, or something found for the menu, gives a key without
// meaning, so that the line is repainted.
func (s *session) nextKey(ctx context.Context) (terminal.Key, error) {
	var ready <-chan time.Time
	if len(s.starting) > 0 && !s.aside {
		timer := time.NewTimer(readyEvery)
		defer timer.Stop()
		ready = timer.C
	}
	again := terminal.Key{Code: terminal.KeyNone}
	select {
	case key, ok := <-s.keys:
		if !ok {
			return key, errLeave
		}
		if key.Code == terminal.KeyReported {
			return again, s.report()
		}
		return key, nil
	case f := <-s.finds:
		s.keep(f)
		return again, nil
	case <-s.sized:
		return again, nil
	case <-ready:
		return again, nil
	case <-ctx.Done():
		return terminal.Key{}, ctx.Err()
	}
}

// wipe clears the screen.
func (s *session) wipe() { _, _ = io.WriteString(s.editor, "\x1b[2J\x1b[H") }

// say writes lines. Foreign text in args must be cleaned.
func (s *session) say(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\r\n")
	_, _ = io.WriteString(s.editor, text+"\r\n")
}

func (s *session) warn(text string) { s.notice(terminal.Warning, "warning", text) }

func (s *session) fault(err error) { s.notice(terminal.Failure, "error", err.Error()) }

// notice writes foreign text in the look of its kind.
func (s *session) notice(kind terminal.Notice, label, text string) {
	columns, _ := s.size()
	for _, row := range kind.Rows(label, text, columns) {
		s.say("%s", row)
	}
}

// lines writes foreign text, cleaned and broken at the width of the screen.
func (s *session) lines(foreign string, style func(string) string) {
	columns, _ := s.size()
	for line := range strings.SplitSeq(terminal.Clean(foreign), "\n") {
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
