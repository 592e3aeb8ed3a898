package web

import (
	"net/http"
	"strings"
	"time"

	"molar/agent"
	"molar/schemas"
)

// whole answers with one chat.completion once the turn has ended. The error is for
// the log; the client has been told.
func (s *server) whole(w http.ResponseWriter, f *feed, a *completion) error {
	err := error(nil)
	f.each(func(it item) bool {
		if err = it.err; err == nil {
			a.at = it.at.Milliseconds()
			a.take(it.event)
		}
		return err == nil
	})
	if err == nil && a.done == nil {
		err = errCut
	}
	err = causeOf(f.cause(), err)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines has none
	if err != nil {
		e := failureOf(err)
		if a.toolRan {
			e = e.afterTurnTool()
		}
		writeError(w, e)
		return err
	}
	w.Header().Set(turnIDHeader, a.turn)
	writeJSON(w, a.object())
	return nil
}

// A completion gathers a turn into one answer.
type completion struct {
	identity
	events bool
	// at is when the last event was said, in milliseconds after the turn's begin.
	at      int64
	text    strings.Builder
	thought strings.Builder
	theirs  []schemas.ToolCall
	calls   []toolNote
	results []toolNote
	sources []schemas.Source
	warned  []string
	toolRan bool
	done    *agent.Done
}

func (a *completion) take(ev agent.Event) {
	if a.done != nil {
		return
	}
	a.toolRan = a.toolRan || isTool(ev)
	switch ev.Kind {
	case agent.EventStart:
		a.start(ev.Start)
	case agent.EventText:
		a.text.WriteString(ev.Text)
	case agent.EventThinking:
		a.thought.WriteString(ev.Text)
	case agent.EventClientCalls:
		a.theirs = ev.Calls
	case agent.EventToolCall:
		a.calls = append(a.calls, toolNoteOf(ev, a.at))
	case agent.EventToolResult:
		a.results = append(a.results, toolNoteOf(ev, a.at))
	case agent.EventSources:
		a.sources = ev.Sources
	case agent.EventWarning:
		a.warned = append(a.warned, ev.Text)
	case agent.EventDone:
		a.done = ev.Done
		if a.done == nil {
			a.done = &agent.Done{}
		}
	}
}

type completionObject struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	Created     int64          `json:"created"`
	Model       string         `json:"model"`
	Fingerprint string         `json:"system_fingerprint,omitempty"`
	Choices     []choiceObject `json:"choices"`
	Usage       schemas.Usage  `json:"usage"`
	Molar       *molarObject   `json:"molar,omitempty"`
}

type choiceObject struct {
	Index   int `json:"index"`
	Message struct {
		Role string `json:"role"`
		// Content is null when the message is calls only.
		Content   *string      `json:"content"`
		Refusal   *string      `json:"refusal"`
		Reasoning string       `json:"reasoning_content,omitempty"`
		ToolCalls []callObject `json:"tool_calls,omitempty"`
	} `json:"message"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

// A callObject is a call that the client runs.
type callObject struct {
	ID       string               `json:"id"`
	Type     string               `json:"type"`
	Function schemas.FunctionCall `json:"function"`
}

func (a *completion) object() completionObject {
	choice := choiceObject{FinishReason: finishOf(a.done)}
	choice.Message.Role = "assistant"
	if text := strings.ToValidUTF8(a.text.String(), "\uFFFD"); text != "" || len(a.theirs) == 0 {
		choice.Message.Content = &text
	}
	choice.Message.Reasoning = strings.ToValidUTF8(a.thought.String(), "\uFFFD")
	for _, call := range a.theirs {
		choice.Message.ToolCalls = append(choice.Message.ToolCalls, callObject{ID: call.ID, Type: "function", Function: call.Function})
	}
	o := completionObject{
		ID: a.completion(), Object: "chat.completion", Created: a.created, Model: a.model,
		Fingerprint: a.conversation, Choices: []choiceObject{choice}, Usage: a.done.Usage,
	}
	if a.events {
		o.Molar = a.molar()
	}
	return o
}

// molar is the object of a whole answer: what a stream gives in notes.
func (a *completion) molar() *molarObject {
	m := &molarObject{ConversationID: a.conversation, TurnID: a.turn, AtMS: a.at, Calls: a.calls, Results: a.results, Done: *a.done}
	if m.Sources == nil {
		m.Sources = a.sources
	}
	if m.Warnings == nil {
		m.Warnings = a.warned
	}
	return m
}
