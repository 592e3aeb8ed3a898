package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"molar/agent"
	"molar/internal/terminal"
	"molar/schemas"
)

// The output formats of chat.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

// stepTools is the step that waits for servers; it says for which.
const stepTools = "6.2"

// outputVersion is the version of the JSON shapes of chat. It changes when a field
// changes its name or meaning, not when one is added.
const outputVersion = 1

// A renderer writes the events of a turn in one of the formats: the answer to
// standard output, notes to standard error.
type renderer struct {
	format         string
	stdout, stderr io.Writer
	styled         *terminal.Markdown // nil unless the answer goes to a terminal
	answer         strings.Builder
	summary        chatOutput
	unwait         func() // takes a note of what is waited for back; nil for none
}

// chatOutput is what --output-format json prints: one object.
type chatOutput struct {
	Version        int                  `json:"version"`
	TurnID         string               `json:"turn_id"`
	ConversationID string               `json:"conversation_id"`
	Assistant      string               `json:"assistant"`
	Answer         string               `json:"answer"`
	ToolCalls      []schemas.ToolCall   `json:"tool_calls"`
	ToolResults    []schemas.ToolResult `json:"tool_results"`
	Error          string               `json:"error,omitempty"`
	*agent.Done                         // finish_reason, provider, model, language, saved, usage, warnings, sources …
}

// streamLine is a line of --output-format stream-json.
type streamLine struct {
	Type     agent.EventKind     `json:"type"`
	Version  int                 `json:"version,omitempty"` // on the first line
	Step     string              `json:"step,omitempty"`
	Text     string              `json:"text,omitempty"`
	Call     *schemas.ToolCall   `json:"call,omitempty"`
	Server   string              `json:"server,omitempty"`
	ToolName string              `json:"toolName,omitempty"`
	Result   *schemas.ToolResult `json:"result,omitempty"`
	Sources  []schemas.Source    `json:"sources,omitempty"`
	*agent.Start
	*agent.Done
}

func newRenderer(format string, stdout, stderr io.Writer) *renderer {
	return &renderer{format: format, stdout: stdout, stderr: stderr, summary: chatOutput{
		Version: outputVersion, ToolCalls: []schemas.ToolCall{}, ToolResults: []schemas.ToolResult{},
	}}
}

// event renders one event.
func (r *renderer) event(e agent.Event) error {
	r.heard()
	r.keep(e)
	switch r.format {
	case formatStream:
		line := streamLine{
			Type: e.Kind, Step: e.Step, Text: e.Text, Call: e.Call, Server: e.Server, ToolName: e.ToolName,
			Result: e.Result, Start: e.Start, Done: e.Done,
		}
		line.Sources = e.Sources
		if e.Done != nil {
			line.Sources = e.Done.Sources // the outer field hides the embedded one
		}
		if e.Kind == agent.EventStart {
			line.Version = outputVersion
		}
		return r.line(line)
	case formatJSON:
		return nil
	}
	if e.Kind == agent.EventText {
		if r.styled != nil {
			return r.styled.Write(e.Text)
		}
		_, err := io.WriteString(r.stdout, terminal.Clean(e.Text))
		return err
	}
	if e.Kind == agent.EventStep && e.Step == stepTools && e.Text != "" {
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

// waiting tells what is waited for, unless something comes at once.
func (r *renderer) waiting(text string) {
	told := make(chan struct{})
	timer := time.AfterFunc(quiet, func() {
		defer close(told)
		_, _ = fmt.Fprintln(r.stderr, terminal.Clean(text))
	})
	r.unwait = func() {
		if !timer.Stop() {
			<-told
		}
	}
}

// heard ends the wait for something.
func (r *renderer) heard() {
	if r.unwait != nil {
		r.unwait()
		r.unwait = nil
	}
}

// keep collects what the summary holds.
func (r *renderer) keep(e agent.Event) {
	switch e.Kind {
	case agent.EventStart:
		r.summary.TurnID, r.summary.ConversationID, r.summary.Assistant = e.Start.TurnID, e.Start.ConversationID, e.Start.Assistant
	case agent.EventText:
		r.answer.WriteString(e.Text)
	case agent.EventToolCall:
		r.summary.ToolCalls = append(r.summary.ToolCalls, *e.Call)
	case agent.EventToolResult:
		r.summary.ToolResults = append(r.summary.ToolResults, *e.Result)
	}
}

// toolNote is the note on standard error that an event is worth, or "".
func toolNote(e agent.Event) string {
	switch e.Kind {
	case agent.EventToolCall:
		return fmt.Sprintf("• %s %s", e.Call.Function.Name, e.Call.Function.Arguments)
	case agent.EventToolResult:
		verdict := "ok"
		if e.Result.IsError {
			verdict = "error: " + preview(e.Result.OutputText())
		}
		return fmt.Sprintf("  %s in %s", verdict, e.Result.Duration.Round(time.Millisecond))
	case agent.EventWarning:
		return "warning: " + e.Text
	}
	return ""
}

// preview is the start of a text, on one line.
func preview(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// fail renders an error in the format, and returns it.
func (r *renderer) fail(err error) error {
	r.heard()
	if errors.Is(err, syscall.EPIPE) {
		return err
	}
	switch r.format {
	case formatStream:
		_ = r.line(map[string]string{"type": "error", "text": err.Error()})
	case formatJSON:
		r.summary.Answer, r.summary.Error = r.answer.String(), err.Error()
		_ = r.line(r.summary)
	case formatText:
		if r.answer.Len() > 0 {
			_ = r.endAnswer()
		}
	}
	return err
}

func (r *renderer) endAnswer() error {
	if r.styled != nil {
		return r.styled.Close()
	}
	_, err := fmt.Fprintln(r.stdout)
	return err
}

// finish renders the end and finds the exit code.
func (r *renderer) finish(done *agent.Done) error {
	r.heard()
	var err error
	switch r.format {
	case formatText:
		err = r.endAnswer()
	case formatJSON:
		r.summary.Answer, r.summary.Done = r.answer.String(), done
		err = r.line(r.summary)
	}
	switch {
	case err != nil:
		return err
	case done == nil:
		return errors.New("the turn ended without a result")
	case done.Refused:
		return &exitError{exitRefused, nil}
	case len(done.Unapproved) > 0:
		return &exitError{exitUnapproved, fmt.Errorf("needs approval: %s", strings.Join(done.Unapproved, ", "))}
	}
	return nil
}

func (r *renderer) line(v any) error {
	enc := json.NewEncoder(r.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
