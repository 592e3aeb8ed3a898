package run

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"molar/agent/answer"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// tapeOf makes a tape from the trace of a turn: the model's output in the wire format of its
// provider, so that a replay parses, judges and repairs it as the turn did.
func tapeOf(h *host.Host, id string, t answer.Trace) ([]byte, error) {
	var b bytes.Buffer
	header := tape.Header{
		TapeID: uuid.NewString(), Case: id, Host: cli.Version(), Recorded: t.Started.UTC().Format("2006-01-02T15:04:05Z"),
		Route: tape.Route{Provider: t.Provider, Model: t.Model, Service: serviceOf(h, t.Provider)},
	}
	for _, p := range t.Passes {
		switch {
		case !p.Pass.IsSmall():
		case p.Provider == "":
			header.Small = p.Model
		default:
			header.Judge = &tape.Route{Provider: p.Provider, Small: p.Model, Service: serviceOf(h, p.Provider)}
		}
	}
	w := tape.NewBuilder(&b, header)
	servers := make(map[string][]tape.Tool)
	for _, tool := range h.MCP.Catalogue().Tools() {
		servers[tool.Server] = append(servers[tool.Server], tape.Tool{
			Name: tool.ToolName, Title: tool.Title, Description: tool.Description, InputSchema: tool.InputSchema,
			OutputSchema: tool.OutputSchema, Annotations: tape.Annotations{ToolAnnotations: tool.Annotations},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
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
			if !model[call.ID] { // a search by code, not called by the model
				writeCall(h, w, 0, results[call.ID])
			}
		}
	}
	writeVerdict(w, header.Speaks(), t)
	for _, p := range t.Passes {
		output := tape.WireAnswer{Text: p.Output, Thinking: p.Thinking, Finish: string(p.Finish), Prompt: p.Usage.PromptTokens, Completion: p.Usage.CompletionTokens}
		for _, c := range p.Calls {
			output.Calls = append(output.Calls, tape.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		speaks := header.Speaks()
		if p.Provider != "" {
			speaks = cmp.Or(serviceOf(h, p.Provider), p.Provider)
		}
		w.ModelAnswer(speaks, string(p.Pass), output, p.Error)
		for slot, call := range p.Calls {
			if done, known := results[call.ID]; known {
				writeCall(h, w, slot+1, done)
			}
		}
	}
	w.Answer(t.Answer)
	return b.Bytes(), w.Err()
}

// serviceOf returns the service of an endpoint that has a name of its own; else "".
func serviceOf(h *host.Host, endpoint string) string {
	return host.TapeRoute(h.Config, tape.Route{Provider: endpoint}).Service
}

// writeVerdict writes the guardrail's decision. If the verdict was cached, no judge was called
// in this turn; a replay calls one, so the tape gets its answer.
func writeVerdict(w *tape.Builder, speaks string, t answer.Trace) {
	v := t.Verdict
	if v == nil {
		return
	}
	if v.Cached {
		answer := map[bool]string{true: "YES", false: "NO"}[v.Pass]
		w.ModelAnswer(speaks, string(providers.PassGuardrail), tape.WireAnswer{Text: fmt.Sprintf(`{"verdict":%q,"language":%q}`, answer, t.Language)}, "")
	}
	w.Guardrail(v.Pass && (t.Done == nil || !t.Done.Refused))
}

type tracedCall struct {
	name string
	answer.CallTrace
}

// writeCall writes a call and its result. A call that reached no server leaves no frame.
func writeCall(h *host.Host, w *tape.Builder, slot int, c tracedCall) {
	call := schemas.ToolCall{ID: c.ID, Function: schemas.FunctionCall{Name: c.name, Arguments: c.Arguments}}
	output := tape.Output(c.Output)
	tool, known := h.MCP.Catalogue().Lookup(c.name)
	if !known || c.Status != toolhandler.StatusOK && c.Status != toolhandler.StatusToolError {
		w.LocalCall(call, tool.Server, tool.ToolName, output, c.Status != toolhandler.StatusOK)
		return
	}
	w.Call(slot, tool.Server, tool.ToolName, call, output, c.Status == toolhandler.StatusToolError)
}
