package offer

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// FindTools is the name of the host's own tool that finds others.
const FindTools = schemas.FindTools

const (
	// mostFinds is how many tools one call gives.
	mostFinds = 10
	// mostServers bounds how many servers are named.
	mostServers = 50
	// maxLine bounds what is said of a tool, in bytes.
	maxLine = 160
)

// findTools describes the tool to the model, with the names of the servers whose tools it finds:
// a model looks for what it can suppose to be there.
func findTools(tools []schemas.Tool) schemas.ToolInfo {
	var servers []string
	for _, t := range tools {
		if t.Server != "" && !slices.Contains(servers, t.Server) && len(servers) < mostServers {
			servers = append(servers, t.Server)
		}
	}
	return schemas.ToolInfo{
		Name: FindTools, ToolName: FindTools,
		Description: "There are more tools than those in this list, of: " + strings.Join(servers, ", ") + ". This one finds them by words about what a tool does and on what, " +
			"best in English, for example \"create calendar event\". It gives up to ten names with a line each; they can be called from then on.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"string","minLength":1,"maxLength":200,"description":"What the tool should do"}},"required":["words"],"additionalProperties":false}`),
	}
}

// A Finder finds tools that are not offered. It is safe for concurrent use.
type Finder struct {
	rank  func(question string) []Ranked
	tools []schemas.Tool

	mu      sync.Mutex
	offered []string
	found   []schemas.ToolInfo // since the last round
}

// Tool is the finder as a tool of the host.
func (f *Finder) Tool() toolhandler.HostTool {
	return toolhandler.HostTool{Info: findTools(f.tools), Call: f.call}
}

// call gives the tools that fit, and remembers those that are new.
func (f *Finder) call(_ context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	finds := find(f.rank, f.tools, wordsIn(args))
	lines := make([]string, 0, len(finds))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range finds {
		lines = append(lines, t.Name+": "+firstLine(t.ToolInfo))
		if !slices.Contains(f.offered, t.Name) {
			f.offered, f.found = append(f.offered, t.Name), append(f.found, t.ToolInfo)
		}
	}
	told := cmp.Or(strings.Join(lines, "\n"), "No tool fits these words. Try other ones, or answer without a tool.")
	return schemas.ToolResult{Output: schemas.TextOutput(told)}, nil
}

// take hands over what was found since the last time.
func (f *Finder) take() []schemas.ToolInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.found
	f.found = nil
	return found
}

// find returns the tools that fit some words, best first.
func find(rank func(string) []Ranked, tools []schemas.Tool, words string) []schemas.Tool {
	var finds []schemas.Tool
	for _, r := range rank(words) {
		if len(finds) == mostFinds || r.Score <= 0 {
			break
		}
		if at := slices.IndexFunc(tools, func(t schemas.Tool) bool { return t.Name == r.Name }); at >= 0 {
			finds = append(finds, tools[at])
		}
	}
	return finds
}

// wordsIn reads the words of a call of the finder.
func wordsIn(args json.RawMessage) string {
	var in struct {
		Words string `json:"words"`
	}
	_ = json.Unmarshal(args, &in) // what cannot be read finds nothing
	return in.Words
}

// firstLine says in a line what a tool does.
func firstLine(t schemas.ToolInfo) string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	line = cmp.Or(line, t.Title)
	return text.Clip(line, maxLine, "…")
}
