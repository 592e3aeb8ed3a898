package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// Bounds of what is stored.
const (
	pauseKeepFor = time.Hour
	maxSize      = 8 << 20 // bytes
)

// PauseClient names the client where results name their server. It has a space, so that it can be
// no server's name.
const PauseClient = "the client"

// PauseStore keeps turns that wait for the results of the client's own tools.
type PauseStore interface {
	KeepTurn(ctx context.Context, p schemas.PauseRecord) error
	// GetKeptTurn returns the turn stored under a call id of the owner, and false if there is none.
	GetKeptTurn(ctx context.Context, owner, callID string) (json.RawMessage, bool, error)
}

// A PausedTurn is a turn that waits for the client's tools.
type PausedTurn struct {
	PausedIdentity
	PausedQuestion
	PausedPrompt
	PausedWork
}

// PausedIdentity identifies the turn.
type PausedIdentity struct {
	TurnID         string  `json:"turn_id"`
	ConversationID string  `json:"conversation_id"`
	Parent         *string `json:"parent,omitempty"`
	Assistant      string  `json:"assistant"`
	Stateless      bool    `json:"stateless,omitempty"`
	ReadOnly       bool    `json:"read_only,omitempty"`
	Key            string  `json:"key"`
}

// PausedQuestion is its question.
type PausedQuestion struct {
	Question schemas.Message `json:"question"`
	Typed    string          `json:"typed"`
	Language string          `json:"language"`
	Notice   string          `json:"notice,omitempty"`
	Subject  string          `json:"subject,omitempty"`
	// Words are those that the person typed, From the origins of its other texts.
	Words string           `json:"words,omitempty"`
	From  []schemas.Origin `json:"from,omitempty"`
	// Read holds its texts and files that others wrote, what code had looked up for it, and the origins of
	// all else that the prompt held.
	Read []toolhandler.Reading `json:"read,omitempty"`
	// Dropped are the calls that it did not approve; the person has not been told yet.
	Dropped []schemas.Part `json:"dropped,omitempty"`
}

// PausedPrompt is the prompt up to the client's calls.
type PausedPrompt struct {
	System    string              `json:"system"`
	Messages  []schemas.Message   `json:"messages"`
	Compacted *schemas.Compaction `json:"compacted,omitempty"`
	Passages  []string            `json:"passages,omitempty"`
}

// PausedWork is the result so far.
type PausedWork struct {
	// Rounds end with the one that has the client's calls; it holds the results of the servers'
	// tools called in the same round.
	Rounds      []schemas.Round      `json:"rounds"`
	Found       []schemas.ToolResult `json:"found,omitempty"`
	Looked      prompts.Looked       `json:"looked,omitempty"`
	Grounded    []schemas.Source     `json:"grounded,omitempty"`
	ServersRead []string             `json:"servers_read,omitempty"`
	ToolCalls   int                  `json:"tool_calls"`
	// Answer is the text shown so far.
	Answer string `json:"answer,omitempty"`
}

// Keep stores a turn of the owner under the ids of its calls, for an hour.
func Keep(ctx context.Context, store PauseStore, owner string, calls []schemas.ToolCall, t PausedTurn, now time.Time) error {
	if last := len(t.Rounds) - 1; last > 0 { // the messages hold what the model saw of the others
		t.Rounds = append(withoutMedia(t.Rounds[:last]), t.Rounds[last])
	}
	state, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if len(state) > maxSize {
		return fmt.Errorf("it has %d bytes, %d are kept", len(state), maxSize)
	}
	ids := make([]string, len(calls))
	for i, call := range calls {
		ids[i] = call.ID
	}
	return store.KeepTurn(ctx, schemas.PauseRecord{
		Owner: owner, ConversationID: t.ConversationID, CallIDs: ids, State: state, Expires: now.Add(pauseKeepFor),
	})
}

// Find returns the owner's turn that waits for the call; nil if none is stored.
func Find(ctx context.Context, store PauseStore, owner, callID string) (*PausedTurn, error) {
	state, ok, err := store.GetKeptTurn(ctx, owner, callID)
	if err != nil {
		return nil, err
	}
	var t PausedTurn
	if !ok || json.Unmarshal(state, &t) != nil || len(t.Rounds) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	return &t, nil
}

// Complete gives the last round the results of the client's tools, in call order. The error names a
// call without a result.
func (t *PausedTurn) Complete(given []schemas.ToolResult) error {
	last := &t.Rounds[len(t.Rounds)-1]
	known := append(slices.Clone(last.Results), given...)
	var results []schemas.ToolResult
	for _, call := range last.Said.Calls() {
		i := slices.IndexFunc(known, func(r schemas.ToolResult) bool { return r.ID == call.ID })
		if i < 0 {
			return fmt.Errorf("the call %q of %q has no result; send a message of role tool for it", call.ID, call.Function.Name)
		}
		result := known[i]
		if result.Server == "" {
			result.Server = PauseClient
		}
		results = append(results, result)
	}
	last.Results = results
	t.ToolCalls += len(given)
	return nil
}

// Show appends the results of the last round to the prompt, as show returns them.
func (t *PausedTurn) Show(show func(schemas.ToolResult) schemas.ToolResult) {
	last := &t.Rounds[len(t.Rounds)-1]
	for i, r := range last.Results {
		last.Results[i] = show(r)
	}
	t.Messages = append(t.Messages, prompts.Results(last.Results, 0))
}

// afterQuestion returns what a client sent after its last question, for a turn that is no longer
// stored: calls of its own tools, and their results.
func (a *Agent) afterQuestion(ctx context.Context, w *task) []schemas.Message {
	sent := w.turn.Messages
	last := len(sent) - 1
	for last >= 0 && sent[last].Role != schemas.RoleUser {
		last--
	}
	var messages []schemas.Message
	for _, m := range sent[last+1:] {
		if m.Role != schemas.RoleTool {
			messages = append(messages, m)
			continue
		}
		var results []schemas.ToolResult
		for _, part := range m.Parts {
			if part.Result != nil {
				result := *part.Result
				result.Server = PauseClient
				results = append(results, w.results.Hold(result, a.resultBytes(ctx, w, len(m.Parts))))
			}
		}
		messages = append(messages, prompts.Results(results, 0))
	}
	return messages
}
