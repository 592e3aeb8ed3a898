package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/google/uuid"

	"molar/agent"
	"molar/eval"
	"molar/eval/report"
	"molar/eval/tape"
	"molar/internal/store"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// recordTurn makes a case of a saved turn: its trace tells what the model said and
// called, the servers what their tools look like now.
func (a *app) recordTurn(ctx context.Context, f recordFlags) error {
	c, err := f.draft(a)
	if err != nil {
		return err
	}
	cfg, err := a.loadWithServers(nil, f.mcp)
	if err != nil {
		return err
	}
	raw, err := a.findTrace(ctx, cfg, f.turn)
	if err != nil {
		return err
	}
	var t agent.Trace
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	if t.Question == "" {
		return &exitError{exitUsage, fmt.Errorf("the trace of turn %q holds no text: a refused turn keeps none", f.turn)}
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	h, err := openHost(ctx, cfg, log, hostOptions{attachWait: chatAttachWait, env: a.env})
	if err != nil {
		return err
	}
	defer h.Close()
	wait, cancel := context.WithTimeout(ctx, chatAttachWait)
	defer cancel()
	if err := h.mcp.Wait(wait, nil); err != nil {
		return err
	}
	if c.Assistant == "" {
		c.Assistant = t.Assistant
	}
	earlier, missing, err := h.before(ctx, t)
	if err != nil {
		return err
	}
	if len(earlier) > 0 {
		c.Input = &eval.Input{Messages: earlier}
	}
	var b bytes.Buffer
	if err := h.tapeOf(&b, c.ID, t); err != nil {
		return err
	}
	if err := os.WriteFile(c.TapeFile(), b.Bytes(), 0o600); err != nil {
		return &exitError{exitUsage, err}
	}
	story, err := c.Story()
	if err != nil || len(story.Turns) != 1 {
		return errors.Join(err, errors.New("the trace made no whole tape"))
	}
	c.Turns = []eval.Turn{{User: t.Question, Expect: eval.Observed(story.Turns[0])}}
	if err := a.saveCase(c, redactorOf(cfg)); err != nil {
		return err
	}
	if missing != "" {
		a.say("not in the case: %s", missing)
	}
	return a.tryCase(ctx, c.File)
}

// tryCase replays a new case once, and says whether the replay comes out as the turn
// did. A difference is no fault of the command: the person decides about it.
func (a *app) tryCase(ctx context.Context, file string) error {
	cases, err := eval.Load(file)
	if err != nil {
		return evalError(err)
	}
	runner, err := a.runner(eval.Mode{}, runFlags{quiet: true})
	if err != nil {
		return err
	}
	rep, err := runner.Run(ctx, cases)
	if err != nil {
		return evalError(err)
	}
	for _, r := range rep.Cases {
		if r.Status == eval.StatusPass {
			a.say("replayed: it passes")
			continue
		}
		a.say("replayed: it differs from the turn: %s", report.Clean(r.Why))
	}
	return nil
}

// mostBefore bounds the messages that a case takes over from before its turn.
const mostBefore = 20

// before reads what was said before the turn. missing says what cannot be had.
func (h *host) before(ctx context.Context, t agent.Trace) (earlier []eval.Message, missing string, err error) {
	switch {
	case t.Memory == "stateless":
		return nil, "earlier messages that the client sent along, if any: no trace keeps them", nil
	case t.Memory != "read" || t.ConversationID == "":
		return nil, "", nil
	case h.db == nil:
		return nil, "what was said before the turn: the conversations are kept by another host", nil
	}
	messages, _, err := h.db.Messages(ctx, "", t.ConversationID, store.MessageRange{})
	if err != nil {
		return nil, "", err
	}
	for _, m := range messages {
		if m.TurnID == t.TurnID || !m.Timestamp.Before(t.Started) {
			break
		}
		earlier = append(earlier, eval.Message{Role: string(m.Role), Content: m.Content})
	}
	if over := len(earlier) - mostBefore; over > 0 {
		earlier, missing = earlier[over:], fmt.Sprintf("%d messages from the beginning of the conversation", over)
	}
	return earlier, missing, nil
}

// tapeOf writes the tape of a traced turn: what the model said, in the wire of its
// provider, so that a replay parses, judges and repairs it as the turn did.
func (h *host) tapeOf(b *bytes.Buffer, id string, t agent.Trace) error {
	header := tape.Header{
		TapeID: uuid.NewString(), Case: id, Host: hostVersion(), Recorded: t.Started.UTC().Format("2006-01-02T15:04:05Z"),
		Provider: t.Provider, Model: t.Model,
	}
	for _, p := range t.Passes {
		if p.Pass == providers.PassGuardrail || p.Pass == providers.PassLanguage {
			header.Small = p.Model
		}
	}
	w := tape.NewBuilder(b, header)
	servers := make(map[string][]tape.ToolDef)
	var order []string
	for _, tool := range h.mcp.Catalogue().Tools() {
		if _, known := servers[tool.Server]; !known {
			order = append(order, tool.Server)
		}
		servers[tool.Server] = append(servers[tool.Server], tape.ToolDef{Name: tool.ToolName, Description: tool.Description, InputSchema: tool.InputSchema})
	}
	for _, name := range order {
		w.Server(name, servers[name])
	}
	w.User(t.Question)
	results := make(map[string]tracedCall)
	model := make(map[string]bool)
	for _, p := range t.Passes {
		for _, call := range p.Calls {
			model[call.ID] = true
		}
	}
	for _, tool := range t.Tools {
		for _, call := range tool.Calls {
			results[call.ID] = tracedCall{tool.Name, call}
			if !model[call.ID] { // the assistant's own search came first
				h.tapeCall(w, 0, results[call.ID])
			}
		}
	}
	guardOf(w, t)
	for _, p := range t.Passes {
		w.Said(t.Provider, string(p.Pass), tape.Said{
			Text: p.Output, Thinking: p.Thinking, Calls: p.Calls, Finish: p.Finish, Usage: p.Usage, Error: p.Error,
		})
		for slot, call := range p.Calls {
			if done, known := results[call.ID]; known {
				h.tapeCall(w, slot+1, done)
			}
		}
	}
	w.Answer(t.Answer)
	return w.Err()
}

// guardOf writes the guardrail's decision. A judge that had decided the same before was
// not asked in this turn; in a replay it is, and says the same.
func guardOf(w *tape.Builder, t agent.Trace) {
	v := t.Verdict
	if v == nil {
		return
	}
	if v.Cached {
		answer := map[bool]string{true: "YES", false: "NO"}[v.Pass]
		w.Said(t.Provider, string(providers.PassGuardrail), tape.Said{Text: fmt.Sprintf(`{"verdict":%q,"language":%q}`, answer, t.Language)})
	}
	w.Guardrail(v.Pass && (t.Done == nil || !t.Done.Refused))
}

type tracedCall struct {
	name string
	agent.CallTrace
}

// tapeCall writes a call and what it gave. One that reached no server leaves no frame.
func (h *host) tapeCall(w *tape.Builder, slot int, c tracedCall) {
	call := schemas.ToolCall{ID: c.ID, Function: schemas.FunctionCall{Name: c.name, Arguments: c.Arguments}}
	output := json.RawMessage(c.Output)
	if !json.Valid(output) {
		text, err := json.Marshal(c.Output)
		if err != nil {
			text = []byte(`""`)
		}
		output = text
	}
	tool, known := h.mcp.Catalogue().Lookup(c.name)
	if !known || c.Status != toolhandler.StatusOK && c.Status != toolhandler.StatusToolError {
		w.Told(call, tool.Server, tool.ToolName, output)
		return
	}
	w.Call(slot, tool.Server, tool.ToolName, call, output, c.Status == toolhandler.StatusToolError)
}
