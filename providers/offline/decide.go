package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/providers"
	"molar/schemas"
)

// A decision is what to do with a request: calls, or text.
type decision struct {
	calls []schemas.ToolCall
	text  string
	note  string
}

// maxCalls bounds the calls of one answer.
const maxCalls = 8

// decide picks a tool, asks for an argument, or answers.
func decide(req providers.Request) decision {
	t := readTurn(req)
	if req.Pass == providers.PassSummary {
		return decision{text: summarize(t, req.Messages)}
	}
	if t.called || len(req.Tools) == 0 || req.ForbidCalls || t.question == "" {
		return decision{text: answer(t, req.Tools), note: fmt.Sprintf("offline: %d results to quote, %d tools offered", len(t.results), len(req.Tools))}
	}
	tools := slices.DeleteFunc(slices.Clone(req.Tools), isFinder)
	ranked := newIndex(tools).candidates(readQuestion(t.question))
	fits := len(ranked) > 0 && ranked[0].Score.Score >= Threshold
	if !fits && !t.found && len(tools) < len(req.Tools) {
		words := encode(map[string]string{"words": clip(t.question, 190)})
		return decision{calls: calls(schemas.FindTools, words), note: explain(ranked) + "looks for more tools"}
	}
	if !fits {
		return decision{text: answer(t, tools), note: explain(ranked) + "no tool is called: the best is below the threshold"}
	}
	best, note := ranked[0], explain(ranked)
	missing := best.filling.missing
	if len(missing) == 0 {
		note += "calls " + best.Tool + ": " + strings.Join(best.filling.from, "; ")
		return decision{calls: calls(best.Tool, best.filling.calls()...), note: note}
	}
	note += "no tool is called. " + askFor(false, best.info, missing)
	if len(t.results) > 0 {
		return decision{text: answer(t, tools), note: note}
	}
	return decision{text: askFor(t.vietnamese, best.info, missing), note: note}
}

func isFinder(t schemas.ToolInfo) bool { return t.Server == "" && t.Name == schemas.FindTools }

func calls(tool string, arguments ...string) []schemas.ToolCall {
	var out []schemas.ToolCall
	for _, a := range arguments {
		out = append(out, schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool, Arguments: a}})
	}
	return out
}

// explain tells the best tools with their scores.
func explain(ranked []candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "offline: threshold %.2f. ", Threshold)
	for _, c := range ranked[:min(3, len(ranked))] {
		fmt.Fprintf(&b, "%s %.2f (%s). ", c.Tool, c.Score.Score, c.Why)
	}
	return b.String()
}
