package offer

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// FindTools is the name of the host's tool that finds others.
const FindTools = schemas.FindTools

const (
	// maxFinds is how many tools one call returns.
	maxFinds = 10
	// maxServers bounds how many servers are named.
	maxServers = 50
	// maxLine bounds the description of a tool, in bytes.
	maxLine = 160
	// maxOutlines is how many tools without room get an outline of their arguments. maxOutline
	// bounds one in bytes, as does 1/outlineShare of the room.
	maxOutlines, maxOutline, outlineShare = 2, 4 << 10, 4
)

// findTools describes the tool to the model, with the names of the servers whose tools it finds: a
// model searches for what it can expect to exist.
func findTools(tools []schemas.Tool) schemas.ToolInfo {
	var servers []string
	for _, t := range tools {
		if t.Server != "" && !slices.Contains(servers, t.Server) && len(servers) < maxServers {
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
	// form returns a tool as it is offered; nil offers it as it is.
	form func(schemas.ToolInfo) schemas.ToolInfo

	mu      sync.Mutex
	offered []string
	space   space
	found   []schemas.ToolInfo // since the last round
	unfit   []Unfit            // since the last round
}

// Unfit is a tool that was found and can be called, but is not offered for lack of room.
type Unfit struct {
	schemas.ToolInfo
	// Large is set when the tool fits the words best, and only its size excludes it.
	Large bool
}

// A space is the room left for found tools.
type space struct{ bytes, tools int }

func unbounded() space { return space{math.MaxInt, math.MaxInt} }

// take reserves room for a tool, if there is enough. The best tool may take all of it, any other a
// half, so that a poorer match does not use up the room of the answer and later finds.
func (s *space) take(tool schemas.ToolInfo, best bool) bool {
	size, most := Size([]schemas.ToolInfo{tool}), s.bytes
	if !best {
		most /= 2
	}
	if s.tools <= 0 || size > most {
		return false
	}
	s.bytes, s.tools = s.bytes-size, s.tools-1
	return true
}

// Tool returns the finder as a host tool.
func (f *Finder) Tool() toolhandler.HostTool {
	return toolhandler.HostTool{Info: findTools(f.tools), Call: f.call}
}

// allow sets the room for tools found from now on.
func (f *Finder) allow(s space) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.space = s
}

// call returns the tools that fit the words, and records the new ones, to be offered if there is
// room. For the first of the others it returns the arguments.
func (f *Finder) call(_ context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	finds := find(f.rank, f.tools, wordsIn(args))
	f.mu.Lock()
	defer f.mu.Unlock()
	var shown, others, arguments []string
	for i, t := range finds {
		line := t.Name + ": " + firstLine(t.ToolInfo)
		f.space.bytes -= len(line)
		offered := t.ToolInfo
		if f.form != nil {
			offered = f.form(offered)
		}
		switch {
		case slices.Contains(f.offered, t.Name):
			shown = append(shown, line)
		case f.space.take(offered, i == 0):
			shown = append(shown, line)
			f.offered, f.found = append(f.offered, t.Name), append(f.found, offered)
		default:
			others = append(others, line)
			f.unfit = append(f.unfit, Unfit{t.ToolInfo, i == 0 && f.space.tools > 0})
			if len(others) <= maxOutlines {
				text := outline(t.ToolInfo, min(maxOutline, f.space.bytes/outlineShare))
				f.space.bytes -= len(text)
				arguments = append(arguments, text)
			}
		}
	}
	text := "No tool fits these words. Try other ones, or answer without a tool."
	switch {
	case len(others) > 0:
		text = paragraphs(paragraphs(underHeading(shownHeading, shown), underHeading(othersHeading, others)), paragraphs(arguments...))
	case len(shown) > 0:
		text = strings.Join(shown, "\n")
	}
	return schemas.ToolResult{Output: schemas.TextOutput(text)}, nil
}

const (
	shownHeading  = "These are in your list of tools:"
	othersHeading = "These cannot be shown beside the others, as there is no room for them. You can call them by their names all the same:"
)

// underHeading puts a heading above lines, if there are any.
func underHeading(heading string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return heading + "\n" + strings.Join(lines, "\n")
}

// paragraphs joins the texts that are not empty.
func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n\n")
}

// take returns the tools found since the last call, and forgets them.
func (f *Finder) take() (found []schemas.ToolInfo, unfit []Unfit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, unfit = f.found, f.unfit
	f.found, f.unfit = nil, nil
	return found, unfit
}

// find returns the tools that fit some words, best first.
func find(rank func(string) []Ranked, tools []schemas.Tool, words string) []schemas.Tool {
	var finds []schemas.Tool
	for _, r := range rank(words) {
		if len(finds) == maxFinds || r.Score <= 0 {
			break
		}
		if at := slices.IndexFunc(tools, func(t schemas.Tool) bool { return t.Name == r.Name }); at >= 0 {
			finds = append(finds, tools[at])
		}
	}
	return finds
}

// wordsIn returns the words in a call's arguments.
func wordsIn(args json.RawMessage) string {
	var in struct {
		Words string `json:"words"`
	}
	_ = json.Unmarshal(args, &in) // bad arguments find nothing
	return in.Words
}

// firstLine returns a line that describes a tool.
func firstLine(t schemas.ToolInfo) string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	line = cmp.Or(line, t.Title)
	return text.Clip(line, maxLine, "…")
}
