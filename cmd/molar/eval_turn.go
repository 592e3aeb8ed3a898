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
	"molar/eval/tape"
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
	return a.saveCase(c, redactorOf(cfg))
}

// tapeOf writes the tape of a traced turn. The model's words come from no transport,
// so they are played in the place of the offline provider.
func (h *host) tapeOf(b *bytes.Buffer, id string, t agent.Trace) error {
	w := tape.NewBuilder(b, tape.Header{
		TapeID: uuid.NewString(), Case: id, Host: hostVersion(), Recorded: t.Started.UTC().Format("2006-01-02T15:04:05Z"), Provider: "offline",
	})
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
	for _, p := range t.Passes {
		w.Local(string(p.Pass), p.Output, p.Calls)
		for slot, call := range p.Calls {
			if done, known := results[call.ID]; known {
				h.tapeCall(w, slot+1, done)
			}
		}
	}
	w.Answer(t.Answer)
	return w.Err()
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
