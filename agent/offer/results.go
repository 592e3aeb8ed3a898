package offer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"molar/schemas"
	"molar/toolhandler"
)

// The names of the tools that read the rest of results.
const (
	ReadResult   = "read_result"
	ReadResource = "read_resource"
)

// ResultsConfig configures [Results].
type ResultsConfig struct {
	// Bytes is how much of a result a model is shown; a longer one is cut.
	Bytes int
	// Resource reads a resource of a server: its text, and the images and the like in it.
	Resource func(ctx context.Context, server, uri string) (string, []schemas.Part, error)
}

// Results holds the results of one conversation. It is safe for concurrent use.
type Results struct {
	cfg ResultsConfig

	mu        sync.Mutex
	cut       map[string]string // long results by call id
	resources map[string]string // the server by the address that its result named
}

// NewResults returns an empty set.
func NewResults(cfg ResultsConfig) *Results {
	return &Results{cfg: cfg, cut: make(map[string]string), resources: make(map[string]string)}
}

// Add stores the long results and the resource addresses among results. An address is read from the
// server that named it first.
func (k *Results) Add(results ...schemas.ToolResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range results {
		if text := r.OutputText(); r.ID != "" && len(text) > k.cfg.Bytes {
			k.cut[r.ID] = text
		}
		for _, link := range r.Resources {
			if _, known := k.resources[link.URI]; !known && r.Server != "" {
				k.resources[link.URI] = r.Server
			}
		}
	}
}

// Wanted returns the tools that have something to read.
func (k *Results) Wanted() []schemas.ToolInfo {
	k.mu.Lock()
	defer k.mu.Unlock()
	var wanted []schemas.ToolInfo
	if len(k.cut) > 0 {
		wanted = append(wanted, readResult())
	}
	if len(k.resources) > 0 {
		wanted = append(wanted, readResource())
	}
	return wanted
}

// Tools returns both tools, to be executed.
func (k *Results) Tools() []toolhandler.HostTool {
	return []toolhandler.HostTool{{Info: readResult(), Call: k.readResult}, {Info: readResource(), Call: k.readResource}}
}

func readResult() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: ReadResult, ToolName: ReadResult,
		Description: "Reads on in a tool result that was too long to be shown whole. The place where it was cut names the result and where to go on.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"result":{"type":"string","description":"The result, as the cut names it"},"from":{"type":"integer","minimum":0,"description":"The byte to read from"}},"required":["result","from"],"additionalProperties":false}`),
	}
}

func readResource() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: ReadResource, ToolName: ReadResource,
		Description: "Reads a resource whose address stands in a tool result, from the server that gave the result.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","description":"The address, exactly as it stands in the result"}},"required":["uri"],"additionalProperties":false}`),
	}
}

// readResult returns a piece of a result, with its range.
func (k *Results) readResult(_ context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	var in struct {
		Result string `json:"result"`
		From   int    `json:"from"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	k.mu.Lock()
	text, known := k.cut[in.Result]
	k.mu.Unlock()
	switch {
	case !known:
		return fault("there is no cut result %q in this conversation; name it as the cut does", in.Result), nil
	case in.From < 0 || in.From >= len(text):
		return fault("the result has %d bytes; read from 0 to %d", len(text), len(text)-1), nil
	}
	const heading = 100 // bytes reserved for the range line
	to := min(in.From+max(k.cfg.Bytes-heading, 1), len(text))
	for to < len(text) && to > in.From+1 && !utf8.RuneStart(text[to]) {
		to--
	}
	piece := strings.ToValidUTF8(text[in.From:to], "")
	return schemas.ToolResult{Output: schemas.TextOutput(fmt.Sprintf("[bytes %d to %d of %d]\n%s", in.From, to, len(text), piece))}, nil
}

// readResource reads an address that a result named.
func (k *Results) readResource(ctx context.Context, args json.RawMessage) (schemas.ToolResult, error) {
	var in struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	k.mu.Lock()
	server, known := k.resources[in.URI]
	k.mu.Unlock()
	if !known {
		return fault("no tool result names the resource %q; use an address exactly as it stands there", in.URI), nil
	}
	text, media, err := k.cfg.Resource(ctx, server, in.URI)
	if ctx.Err() != nil {
		return schemas.ToolResult{}, context.Cause(ctx)
	}
	result := schemas.ToolResult{Output: schemas.TextOutput(text)}
	if err != nil {
		result = fault("%v", err)
	}
	result.Server, result.Media = server, media
	return result, nil
}

// fault returns an error result that tells the model how to correct the call.
func fault(format string, args ...any) schemas.ToolResult {
	return schemas.ToolResult{Output: schemas.TextOutput(fmt.Sprintf(format, args...)), IsError: true}
}
