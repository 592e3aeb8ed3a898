package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/internal/text"
	"molar/providers"
	"molar/schemas"
)

// A turn holds the parts of a request that this provider uses.
type turn struct {
	question   string
	vietnamese bool
	about      string               // what the assistant is for
	results    []schemas.ToolResult // of this question, in order
	called     bool                 // some of them are from calls, not from code-driven tools
	perhaps    string               // what a code-driven tool offers that found nothing sure
	searched   bool                 // find_tools has been called
	answers    []string             // earlier answers in the request
}

// readTurn finds the last question and the tool results after it.
func readTurn(req providers.Request) turn {
	t := turn{about: req.About}
	last := len(req.Messages) - 1
	for last >= 0 && !opensTurn(req.Messages[last]) {
		last--
	}
	if last < 0 {
		return t
	}
	for _, m := range req.Messages[:last] {
		if m.Role == schemas.RoleAssistant {
			t.answers = append(t.answers, m.Said())
		}
	}
	t.question = strings.TrimSpace(req.Messages[last].Said())
	t.vietnamese = req.Language == "vi" || req.Language == "" && isVietnamese(t.question)
	for _, m := range req.Messages[last:] {
		for _, part := range m.Parts {
			switch {
			case part.Result == nil, part.Kind != schemas.PartResult && part.Kind != schemas.PartContext:
			case part.Result.Server == "" && part.Result.ToolName == schemas.FindTools:
				t.searched = true // the tools that it found are now among the others
			case part.Kind == schemas.PartContext && part.Result.IsPerhaps():
				t.perhaps = perhaps(*part.Result, t.vietnamese)
			default:
				t.results = append(t.results, *part.Result)
				t.called = t.called || part.Kind == schemas.PartResult
			}
		}
	}
	return t
}

// opensTurn reports whether a message is a question: it holds a person's words, or a text to work
// on. Other messages of role user are rules that code added after results.
func opensTurn(m schemas.Message) bool {
	return m.Role == schemas.RoleUser && (m.Said() != "" || slices.ContainsFunc(m.Parts, func(p schemas.Part) bool { return p.Result != nil }))
}

// A decision is the answer to a request: a call, or text. Its note is for the trace.
type decision struct {
	call       *schemas.ToolCall
	text, note string
}

// decide picks a tool, asks for an argument, or answers.
func decide(req providers.Request) decision {
	t := readTurn(req)
	if req.Pass == providers.PassSummary {
		return decision{text: summarize(t, req.Messages)}
	}
	if t.called || len(req.Tools) == 0 || req.ForbidCalls || t.question == "" {
		return decision{text: answer(t, req.Tools), note: fmt.Sprintf("offline: %d results to quote, %d tools offered", len(t.results), len(req.Tools))}
	}
	finds := slices.ContainsFunc(req.Tools, isHosts(schemas.FindTools))
	tools := slices.DeleteFunc(slices.Clone(req.Tools), isHosts(schemas.FindTools))
	tools = slices.DeleteFunc(tools, isHosts(schemas.ReadSkill)) // it follows no instructions
	q := readQuestion(t.question)
	ranked := rank(tools, q)
	note := fmt.Sprintf("offline: threshold %.2f", Threshold)
	for _, c := range ranked[:min(3, len(ranked))] {
		note += fmt.Sprintf(", %s %.2f", c.Name, c.score)
	}
	switch {
	case len(ranked) > 0 && ranked[0].score >= Threshold:
	case !t.searched && finds:
		words := map[string]any{"words": text.Clip(t.question, 190, "")}
		return decision{call: call(schemas.FindTools, words), note: note + ": looks for more tools"}
	default:
		return decision{text: answer(t, tools), note: note + ": no tool is called, the best is below the threshold"}
	}
	arguments, missing := ranked[0].fill(q)
	if len(missing) == 0 {
		return decision{call: call(ranked[0].Name, arguments), note: note + ": calls " + ranked[0].Name}
	}
	note += ": no tool is called. " + askFor(false, ranked[0].Name, missing)
	if len(t.results) > 0 {
		return decision{text: answer(t, tools), note: note}
	}
	return decision{text: askFor(t.vietnamese, ranked[0].Name, missing), note: note}
}

// isHosts recognises a tool of the host.
func isHosts(name string) func(schemas.ToolInfo) bool {
	return func(t schemas.ToolInfo) bool { return t.Server == "" && t.Name == name }
}

func call(tool string, arguments map[string]any) *schemas.ToolCall {
	data, _ := json.Marshal(arguments) // cannot fail: texts, finite numbers and JSON of a schema
	return &schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool, Arguments: string(data)}}
}
