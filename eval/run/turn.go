package run

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
	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/host/observe"
	"molar/internal/host/running"
	"molar/internal/store"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// recordTurn makes a case of a saved turn: its trace tells what the model said and
// called, the servers what their tools look like now.
func (a *Commands) recordTurn(ctx context.Context, f RecordFlags) error {
	c, err := f.draft(a)
	if err != nil {
		return err
	}
	cfg, err := a.LoadWithServers(nil, f.MCP)
	if err != nil {
		return err
	}
	raw, err := running.Trace(ctx, a.CLI, cfg, f.Turn)
	if err != nil {
		return err
	}
	var t agent.Trace
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	if t.Question == "" {
		return cli.Usage(fmt.Errorf("the trace of turn %q holds no text: a refused turn keeps none", f.Turn))
	}
	if t.Error != "" && !f.AllowFailure {
		return a.whole(c.ID, []string{fmt.Sprintf("turn %s ended as %s: %s", f.Turn, t.Status, t.Error)})
	}
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Env: a.Env})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Attached(ctx); err != nil && !f.AllowFailure {
		return a.whole(c.ID, []string{err.Error()})
	}
	told := evidence{Trace: t}
	if told.earlier, told.missing, err = before(ctx, h, t); err != nil {
		return err
	}
	seen, err := told.write(h, &c)
	if err != nil {
		return err
	}
	a.sayTold([]tape.Seen{seen})
	c.Turns = []eval.Turn{{User: t.Question, Expect: eval.Observed(seen)}}
	if err := a.saveCase(c, observe.Redactor(cfg)); err != nil {
		return err
	}
	if told.missing != "" {
		a.Say("not in the case: %s", told.missing)
	}
	switch r, err := a.tryCase(ctx, c.File); {
	case err != nil:
		return err
	case r.Status == eval.StatusPass:
		a.Say("replayed: it passes")
	default: // a difference is no fault of the command: the person decides about it
		a.Say("replayed: it differs from the turn: %s", report.Clean(r.Why))
	}
	return nil
}

// Evidence is what is known of a turn that was saved.
type evidence struct {
	agent.Trace
	// earlier is what was said before; missing says what of it cannot be had.
	earlier []eval.Message
	missing string
	said    schemas.Feedback
	// wires are the tapes of the turns of the conversation, this one last, where they were kept.
	wires [][]tape.Record
}

// write makes the tape of a case, and puts into the case what went before the turn.
func (e *evidence) write(h *host.Host, c *eval.Case) (tape.Seen, error) {
	if c.Assistant == "" {
		c.Assistant = e.Assistant
	}
	if len(e.earlier) > 0 {
		c.Input = &eval.Input{Messages: e.earlier}
	}
	var b bytes.Buffer
	if err := tapeOf(h, &b, c.ID, e.Trace); err != nil {
		return tape.Seen{}, err
	}
	if err := os.WriteFile(c.TapeFile(), b.Bytes(), 0o600); err != nil {
		return tape.Seen{}, cli.Usage(err)
	}
	story, err := c.Story()
	if err != nil || len(story.Turns) != 1 {
		return tape.Seen{}, errors.Join(err, errors.New("the trace made no whole tape"))
	}
	return story.Turns[0], nil
}

// tryCase replays a new case once.
func (a *Commands) tryCase(ctx context.Context, file string) (eval.CaseResult, error) {
	cases, err := eval.Load(file)
	if err != nil {
		return eval.CaseResult{}, evalError(err)
	}
	runner, err := a.runner(eval.Mode{}, Flags{Quiet: true})
	if err != nil {
		return eval.CaseResult{}, err
	}
	r, err := runner.Case(ctx, &cases[0])
	if err != nil {
		return r, evalError(err)
	}
	return r, nil
}

// mostBefore bounds the messages that a case takes over from before its turn.
const mostBefore = 20

// before reads what was said before the turn. missing says what cannot be had.
func before(ctx context.Context, h *host.Host, t agent.Trace) (earlier []eval.Message, missing string, err error) {
	switch {
	case t.Memory == "stateless":
		return nil, "earlier messages that the client sent along, if any: no trace keeps them", nil
	case t.Memory != "read" || t.ConversationID == "":
		return nil, "", nil
	case h.DB == nil:
		return nil, "what was said before the turn: the conversations are kept by another host", nil
	}
	messages, _, err := h.DB.Messages(ctx, "", t.ConversationID, store.MessageRange{})
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
func tapeOf(h *host.Host, b *bytes.Buffer, id string, t agent.Trace) error {
	header := tape.Header{
		TapeID: uuid.NewString(), Case: id, Host: cli.Version(), Recorded: t.Started.UTC().Format("2006-01-02T15:04:05Z"),
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
	for _, tool := range h.MCP.Catalogue().Tools() {
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
				tapeCall(h, w, 0, results[call.ID])
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
				tapeCall(h, w, slot+1, done)
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
func tapeCall(h *host.Host, w *tape.Builder, slot int, c tracedCall) {
	call := schemas.ToolCall{ID: c.ID, Function: schemas.FunctionCall{Name: c.name, Arguments: c.Arguments}}
	output := json.RawMessage(c.Output)
	if !json.Valid(output) {
		text, err := json.Marshal(c.Output)
		if err != nil {
			text = []byte(`""`)
		}
		output = text
	}
	tool, known := h.MCP.Catalogue().Lookup(c.name)
	if !known || c.Status != toolhandler.StatusOK && c.Status != toolhandler.StatusToolError {
		w.Told(call, tool.Server, tool.ToolName, output)
		return
	}
	w.Call(slot, tool.Server, tool.ToolName, call, output, c.Status == toolhandler.StatusToolError)
}
