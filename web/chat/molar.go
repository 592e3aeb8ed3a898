package chat

import (
	"encoding/json"
	"time"

	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// The molar object is our addition to OpenAI's objects. In a stream, each note is one molar object
// with a type, sent to clients that ask for events. A whole answer has one molar object for all.
// at_ms is the time of the event in milliseconds since the beginning of the turn.

// A textNote is a step, a warning or commentary. Code and Server let clients identify a warning; Lasting is
// set on one about the state of the host, as in [answer.Event].
type textNote struct {
	Type    string      `json:"type,omitempty"`
	Code    answer.Code `json:"code,omitempty"`
	Server  string      `json:"server,omitempty"`
	Lasting bool        `json:"lasting,omitempty"`
	AtMS    int64       `json:"at_ms,omitempty"`
	Step    string      `json:"step,omitempty"`
	Text    string      `json:"text"`
	// HTML is the HTML of commentary, for clients that ask for HTML.
	HTML string `json:"html,omitempty"`
}

// A toolNote is the start of a tool call, or its result.
type toolNote struct {
	Type     string              `json:"type,omitempty"`
	AtMS     int64               `json:"at_ms,omitempty"`
	Call     *schemas.ToolCall   `json:"call,omitempty"`
	Server   string              `json:"server,omitempty"`
	ToolName string              `json:"toolName,omitempty"`
	Result   *schemas.ToolResult `json:"result,omitempty"`
	// DecidedBy names the approver of a call that needed one; Refused is set if they said no.
	DecidedBy string `json:"decided_by,omitempty"`
	Refused   bool   `json:"refused,omitempty"`
	// DurationMS is how long the call took, in milliseconds.
	DurationMS int64 `json:"duration_ms,omitempty"`
}

// An approvalNote is a pending approval.
type approvalNote struct {
	Type string `json:"type"`
	*answer.Approval
}

// A questionNote is a server's pending question.
type questionNote struct {
	Type string `json:"type"`
	*answer.PendingQuestion
}

// A newsNote is a server's message during a tool call.
type newsNote struct {
	Type string `json:"type"`
	*schemas.News
}

type sourcesNote struct {
	Type    string           `json:"type"`
	AtMS    int64            `json:"at_ms,omitempty"`
	Sources []schemas.Source `json:"sources"`
}

// A molarObject summarises a turn: the last note of a stream, and the object of a whole
// answer.
type molarObject struct {
	Type           string `json:"type,omitempty"`
	AtMS           int64  `json:"at_ms,omitempty"`
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
	// Commentary are the texts that the model wrote before calls.
	Commentary []string   `json:"commentary,omitempty"`
	Calls      []toolNote `json:"calls,omitempty"`
	Results    []toolNote `json:"results,omitempty"`
	answer.Done
}

func toolNoteOf(ev answer.Event, at int64) toolNote {
	n := toolNote{AtMS: at, Call: ev.Call, Server: ev.Server, ToolName: ev.ToolName, Result: ev.Result, DecidedBy: ev.DecidedBy, Refused: ev.Refused}
	if ev.Result != nil {
		n.DurationMS = ev.Result.TookMS()
		if len(ev.Result.Output) > 0 && !json.Valid(ev.Result.Output) {
			r := *ev.Result
			r.Output = wire.AppendString(nil, string(r.Output)) // invalid JSON would make the whole answer fail
			n.Result = &r
		}
	}
	return n
}

// noteOf returns the molar object of a stream event, or nil if the event has none. html is the HTML
// of its text.
func noteOf(ev answer.Event, id identity, after time.Duration, html string) []byte {
	var note any
	at := after.Milliseconds()
	switch ev.Kind {
	case answer.KindStep, answer.KindWarning, answer.KindCommentary, answer.KindReset:
		note = textNote{Type: string(ev.Kind), Code: ev.Code, Server: ev.Server, Lasting: ev.Lasting, AtMS: at, Step: ev.Step, Text: ev.Text, HTML: html}
	case answer.KindToolCall, answer.KindToolResult:
		n := toolNoteOf(ev, at)
		n.Type = string(ev.Kind)
		note = n
	case answer.KindApproval:
		note = approvalNote{Type: string(ev.Kind), Approval: ev.Approval}
	case answer.KindQuestion:
		note = questionNote{Type: string(ev.Kind), PendingQuestion: ev.Asked}
	case answer.KindProgress, answer.KindLog:
		note = newsNote{Type: string(ev.Kind), News: ev.News}
	case answer.KindSources:
		note = sourcesNote{Type: string(ev.Kind), AtMS: at, Sources: ev.Sources}
	case answer.KindDone:
		note = molarObject{Type: string(ev.Kind), AtMS: at, ConversationID: id.conversation, TurnID: id.turn, Done: *ev.Done}
	default:
		return nil
	}
	b, err := json.Marshal(note)
	if err != nil {
		return nil // the answer is complete without the note
	}
	return b
}
