package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"molar/agent/answer"
	"molar/internal/cli"
	"molar/internal/terminal"
	"molar/schemas"
)

// stepTools is the step that waits for servers; its text names them.
const stepTools = "6.2"

// outputVersion is the version of the JSON shapes of chat. It changes when a field
// changes its name or meaning, not when one is added.
const outputVersion = 1

// A renderer writes the events of a turn in one of the formats: the answer to
// standard output, notes to standard error.
type renderer struct {
	mu             sync.Mutex // servers' messages are concurrent with the turn
	format         string
	stdout, stderr io.Writer
	styled         *terminal.Markdown // nil unless the answer goes to a terminal
	seen           answer.Collector
	summary        chatOutput
	open           bool   // the last line of the answer has no end
	apart          bool   // the line was ended for text that is not part of the answer
	hideWaiting    func() // removes the waiting note; nil for none
}

// chatOutput is what --output-format json prints: one object.
type chatOutput struct {
	Version        int                  `json:"version"`
	TurnID         string               `json:"turn_id"`
	ConversationID string               `json:"conversation_id"`
	Assistant      string               `json:"assistant"`
	Answer         string               `json:"answer"`
	Commentary     []string             `json:"commentary,omitempty"`
	ToolCalls      []schemas.ToolCall   `json:"tool_calls"`
	ToolResults    []schemas.ToolResult `json:"tool_results"`
	Error          string               `json:"error,omitempty"`
	*answer.Done                        // finish_reason, provider, model, language, saved, usage, warnings, sources …
}

// streamLine is a line of --output-format stream-json.
type streamLine struct {
	Type     answer.Kind         `json:"type"`
	Version  int                 `json:"version,omitempty"` // on the first line
	Step     string              `json:"step,omitempty"`
	Text     string              `json:"text,omitempty"`
	Code     answer.Code         `json:"code,omitempty"`
	Call     *schemas.ToolCall   `json:"call,omitempty"`
	Server   string              `json:"server,omitempty"`
	ToolName string              `json:"toolName,omitempty"`
	Result   *schemas.ToolResult `json:"result,omitempty"`
	Sources  []schemas.Source    `json:"sources,omitempty"`
	News     *schemas.News       `json:"news,omitempty"`
	*answer.Start
	*answer.Done
}

func newRenderer(format string, stdout, stderr io.Writer) *renderer {
	return &renderer{format: format, stdout: stdout, stderr: stderr, summary: chatOutput{
		Version: outputVersion, ToolCalls: []schemas.ToolCall{}, ToolResults: []schemas.ToolResult{},
	}}
}

// newChatRenderer renders for a person when the answer goes to a terminal.
func newChatRenderer(a *cli.CLI, format string) *renderer {
	out := newRenderer(format, a.Stdout, a.Stderr)
	if f, ok := a.Stdout.(*os.File); ok && format == cli.Text && a.Colour(f) {
		out.styled = terminal.NewMarkdown(f, func() (int, int) { return terminal.Size(f) })
	}
	return out
}

// event renders one event.
func (r *renderer) event(e answer.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard()
	r.keep(e)
	switch r.format {
	case cli.StreamJSON:
		line := streamLine{
			Type: e.Kind, Step: e.Step, Text: e.Text, Code: e.Code, Call: e.Call, Server: e.Server, ToolName: e.ToolName,
			Result: e.Result, News: e.News, Start: e.Start, Done: e.Done,
		}
		line.Sources = e.Sources
		if e.Done != nil {
			line.Sources = e.Done.Sources // the outer field hides the embedded one
		}
		if e.Kind == answer.KindStart {
			line.Version = outputVersion
		}
		return r.line(line)
	case cli.JSON:
		return nil
	}
	switch e.Kind {
	case answer.KindText:
		return r.text(e.Text)
	case answer.KindCommentary, answer.KindReset:
		if r.styled != nil {
			return r.styled.SetApart()
		}
		return r.endLine()
	case answer.KindToolCall:
		if err := r.endLine(); err != nil { // after a notice, which no commentary ends
			return err
		}
	}
	if e.Kind == answer.KindStep && e.Step == stepTools && e.Text != "" {
		r.waiting(e.Text)
		return nil
	}
	if note := toolNote(e); note != "" {
		if r.styled != nil { // both may go to one screen
			if err := r.styled.Close(); err != nil {
				return err
			}
		}
		_, _ = fmt.Fprintln(r.stderr, terminal.Clean(note))
	}
	return nil
}

// text writes a piece of the answer.
func (r *renderer) text(piece string) error {
	if r.styled != nil {
		return r.styled.Write(piece)
	}
	if r.apart { // one of the two line ends is already there
		piece, r.apart = strings.TrimPrefix(piece, "\n"), false
	}
	r.open = piece != "" && !strings.HasSuffix(piece, "\n")
	_, err := io.WriteString(r.stdout, terminal.Clean(piece))
	return err
}

// endLine ends the line that the answer is at, unless the answer is styled.
func (r *renderer) endLine() error {
	if !r.open {
		return nil
	}
	r.open, r.apart = false, true
	_, err := fmt.Fprintln(r.stdout)
	return err
}

// waiting shows what is waited for, after a delay.
func (r *renderer) waiting(text string) {
	told := make(chan struct{})
	timer := time.AfterFunc(quiet, func() {
		defer close(told)
		_, _ = fmt.Fprintln(r.stderr, terminal.Clean(text))
	})
	r.hideWaiting = func() {
		if !timer.Stop() {
			<-told
		}
	}
}

// heard ends the waiting note.
func (r *renderer) heard() {
	if r.hideWaiting != nil {
		r.hideWaiting()
		r.hideWaiting = nil
	}
}

// keep collects the data of the summary.
func (r *renderer) keep(e answer.Event) {
	r.seen.Add(e)
	switch e.Kind {
	case answer.KindStart:
		r.summary.TurnID, r.summary.ConversationID, r.summary.Assistant = e.Start.TurnID, e.Start.ConversationID, e.Start.Assistant
	case answer.KindToolCall:
		r.summary.ToolCalls = append(r.summary.ToolCalls, *e.Call)
	case answer.KindToolResult:
		r.summary.ToolResults = append(r.summary.ToolResults, *e.Result)
	}
}

// toolNote returns an event's note for standard error, or "".
func toolNote(e answer.Event) string {
	switch e.Kind {
	case answer.KindToolCall:
		return fmt.Sprintf("• %s %s", e.Call.Function.Name, e.Call.Function.Arguments)
	case answer.KindToolResult:
		verdict := "ok"
		if e.Result.IsError {
			verdict = "error: " + terminal.Preview(e.Result.OutputText())
		}
		return fmt.Sprintf("  %s in %s", verdict, e.Result.Duration.Round(time.Millisecond))
	case answer.KindWarning:
		return "warning: " + e.Text
	}
	return ""
}

// fail renders an error in the format, and returns it.
func (r *renderer) fail(err error) error {
	r.heard()
	if errors.Is(err, syscall.EPIPE) {
		return err
	}
	switch r.format {
	case cli.StreamJSON:
		_ = r.line(map[string]string{"type": "error", "text": err.Error()})
	case cli.JSON:
		r.summary.Answer, r.summary.Commentary, r.summary.Error = r.seen.Answer(), r.seen.Commentary, err.Error()
		_ = r.line(r.summary)
	case cli.Text:
		if r.seen.Answer() != "" || len(r.seen.Commentary) > 0 {
			_ = r.endAnswer()
		}
	}
	return err
}

func (r *renderer) endAnswer() error {
	if r.styled != nil {
		return r.styled.Close()
	}
	if r.apart {
		return nil
	}
	_, err := fmt.Fprintln(r.stdout)
	return err
}

// finish renders the end and returns the exit code.
func (r *renderer) finish() error {
	r.heard()
	done, err := r.seen.Done, error(nil)
	switch r.format {
	case cli.Text:
		err = r.endAnswer()
	case cli.JSON:
		r.summary.Answer, r.summary.Commentary, r.summary.Done = r.seen.Answer(), r.seen.Commentary, done
		err = r.line(r.summary)
	}
	switch {
	case err != nil:
		return err
	case done == nil:
		return errors.New("the turn ended without a result")
	case done.Refused:
		return cli.Exit(ExitRefused)
	case len(done.Unapproved) > 0:
		return cli.With(ExitUnapproved, fmt.Errorf("needs approval: %s", strings.Join(done.Unapproved, ", ")))
	}
	return nil
}

func (r *renderer) line(v any) error {
	enc := json.NewEncoder(r.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
