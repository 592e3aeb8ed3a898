package chat

import (
	"net/http"
	"strings"
	"time"

	"molar/agent/answer"
	"molar/schemas"
	"molar/web/turns"
	"molar/web/wire"
)

// whole answers with one chat.completion when the turn has ended. The error is for the log; it was
// already sent to the client.
func (s *Surface) whole(w http.ResponseWriter, f *turns.Feed, a *completion) error {
	var err error
	for it := range f.Items() {
		if err = it.Err; err != nil {
			break
		}
		a.at = it.At.Milliseconds()
		a.take(it.Event)
	}
	if err == nil && a.done == nil {
		err = turns.ErrCut
	}
	err = turns.CauseOf(f.Cause(), err)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wire.WriteLimit)) // the error means a writer without deadlines
	a.headers(w.Header())
	if err != nil {
		wire.WriteError(w, a.failure(err, a.effects.Any()))
		return err
	}
	if a.done.Unsaved {
		w.Header().Set(savedHeader, "false")
	}
	wire.WriteJSON(w, a.object())
	return nil
}

// A completion collects the events of a turn into one answer.
type completion struct {
	identity
	events bool
	// at is the time of the last event, in milliseconds since the beginning of the turn.
	at      int64
	seen    answer.Collector
	calls   []toolNote
	results []toolNote
	effects turns.Effects
	done    *answer.Done
}

func (a *completion) take(ev answer.Event) {
	if a.done != nil {
		return
	}
	a.effects.Add(ev)
	a.seen.Add(ev)
	switch ev.Kind {
	case answer.KindStart:
		a.start(ev.Start)
	case answer.KindToolCall:
		a.calls = append(a.calls, toolNoteOf(ev, a.at))
	case answer.KindToolResult:
		a.results = append(a.results, toolNoteOf(ev, a.at))
	case answer.KindDone:
		a.done = ev.Done
		if a.done == nil {
			a.done = &answer.Done{}
		}
	}
}

// A Completion is OpenAI's object of a whole answer.
type Completion struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	Created     int64          `json:"created"`
	Model       string         `json:"model"`
	Fingerprint string         `json:"system_fingerprint,omitempty"`
	Choices     []choiceObject `json:"choices"`
	Usage       usageObject    `json:"usage"`
	Molar       *molarObject   `json:"molar"`
}

// A usageObject counts tokens in OpenAI's form.
type usageObject struct {
	PromptTokens      int                `json:"prompt_tokens"`
	CompletionTokens  int                `json:"completion_tokens"`
	TotalTokens       int                `json:"total_tokens"`
	PromptDetails     *promptDetails     `json:"prompt_tokens_details,omitempty"`
	CompletionDetails *completionDetails `json:"completion_tokens_details,omitempty"`
	// Cost is our own addition, under the name that OpenRouter gave it.
	Cost schemas.Cost `json:"cost,omitempty"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

func usageOf(u schemas.Usage) usageObject {
	o := usageObject{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens, Cost: u.Cost}
	if u.CachedTokens > 0 {
		o.PromptDetails = &promptDetails{u.CachedTokens}
	}
	if u.ReasoningTokens > 0 {
		o.CompletionDetails = &completionDetails{u.ReasoningTokens}
	}
	return o
}

type choiceObject struct {
	Index   int `json:"index"`
	Message struct {
		Role string `json:"role"`
		// Content is null if the message has only calls, or a refusal.
		Content *string `json:"content"`
		// Refusal is a text of the host in place of the JSON value that the client wants.
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

func (a *completion) object() Completion {
	choice := choiceObject{FinishReason: finishOf(a.done)}
	choice.Message.Role = "assistant"
	switch text := strings.ToValidUTF8(a.seen.Answer(), "\uFFFD"); {
	case a.seen.Refusal:
		choice.Message.Refusal = &text
	case text != "" || len(a.seen.ClientCalls) == 0:
		choice.Message.Content = &text
	}
	choice.Message.Reasoning = strings.ToValidUTF8(a.seen.Thinking(), "\uFFFD")
	for _, call := range a.seen.ClientCalls {
		choice.Message.ToolCalls = append(choice.Message.ToolCalls, callObject{ID: call.ID, Type: "function", Function: call.Function})
	}
	return Completion{
		ID: a.completion(), Object: "chat.completion", Created: a.created, Model: a.model,
		Fingerprint: a.conversation, Choices: []choiceObject{choice}, Usage: usageOf(a.done.Usage), Molar: a.molar(),
	}
}

// molar returns the molar object of a whole answer, with the data that a stream sends in notes. The
// calls are included for clients that ask for events.
func (a *completion) molar() *molarObject {
	m := &molarObject{ConversationID: a.conversation, TurnID: a.turn, Commentary: a.seen.Commentary, Done: *a.done}
	if a.events {
		m.AtMS, m.Calls, m.Results = a.at, a.calls, a.results
	}
	if m.Sources == nil {
		m.Sources = a.seen.Sources
	}
	if m.Warnings == nil {
		m.Warnings = a.seen.Warnings
	}
	return m
}
