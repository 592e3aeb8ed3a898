package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/schemas"
	"molar/toolhandler"
)

// toolServer is the reserved name of the bundled tool server, where the tools of a
// search list are looked for first.
const toolServer = "tool-server"

// canSearch refuses a turn whose search list holds nothing but tools that this host
// lacks, before anything else is asked.
func (r *run) canSearch(context.Context) error {
	var why []string
	for _, name := range r.assistant.Search {
		_, there := r.searchTool(name)
		if there || r.a.cfg.Lacking[name] == "" {
			return nil
		}
		why = append(why, r.a.cfg.Lacking[name])
	}
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the assistant %q cannot search: %s", ErrUnavailable, r.assistant.Name, strings.Join(why, "; "))
}

// search is step 4: the assistant's code-driven tools, in their order, until one
// answers. A failure moves on to the next; the list's end fails the turn, but an
// empty last answer is only told to the model.
func (r *run) search(ctx context.Context) error {
	if len(r.assistant.Search) == 0 {
		return nil
	}
	if err := r.admit(ctx); err != nil {
		return err
	}
	if err := r.settleMemory(ctx); err != nil {
		return err
	}
	if r.smallTalk {
		return nil
	}
	r.await(ctx, []string{toolServer}, r.a.cfg.Limits.AttachWait)
	var failure error
	for _, name := range r.assistant.Search {
		out, err := r.searchWith(ctx, name, r.query())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failure = err; err != nil {
			r.mark("6.1", "Search failed", "tool", name, "error", err.Error())
			continue
		}
		r.searched = true
		r.mark("6.1", fmt.Sprintf("Search completed. Results length: %d characters", len(out.OutputText())), "tool", name)
		if !isEmpty(out) {
			r.found = []schemas.ToolResult{out}
			return nil
		}
	}
	if failure != nil {
		return fmt.Errorf("%w: search: %w", ErrUnavailable, failure)
	}
	return nil
}

// searchWith calls one tool of the list and reports it like any other call.
func (r *run) searchWith(ctx context.Context, name, query string) (schemas.ToolResult, error) {
	tool, ok := r.searchTool(name)
	if !ok {
		return schemas.ToolResult{}, fmt.Errorf("tool %q is not attached; attach a server that has it, or take it out of the assistant's search list", name)
	}
	args, err := json.Marshal(searchArguments(tool, query, r.lang))
	if err != nil {
		return schemas.ToolResult{}, err
	}
	call := schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: string(args)}}
	tool.Rules.Policy = schemas.PolicyAllow // chosen by code, not by a model
	handler := r.a.cfg.Handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}})
	if err := r.emit(Event{Kind: EventToolCall, Step: "6.1", Call: &call, Server: tool.Server, ToolName: tool.ToolName}); err != nil {
		return schemas.ToolResult{}, err
	}
	for out := range handler.Execute(ctx, []schemas.ToolCall{call}) {
		r.trace.outcome(out, "code-driven: it is in the assistant's search list")
		if err := r.emit(Event{Kind: EventToolResult, Step: "6.1", Call: &call, Result: &out.Result, Server: tool.Server, ToolName: tool.ToolName}); err != nil {
			return schemas.ToolResult{}, err
		}
		if out.Result.IsError {
			return out.Result, fmt.Errorf("%s: %s", name, out.Result.OutputText())
		}
		return out.Result, nil
	}
	return schemas.ToolResult{}, ctx.Err()
}

// searchTool finds a tool of a search list: on the bundled tool server, else the
// only attached tool of that name.
func (r *run) searchTool(name string) (schemas.Tool, bool) {
	var found []schemas.Tool
	for _, tool := range r.a.cfg.Tools.Tools() {
		if tool.ToolName != name && tool.Name != name {
			continue
		}
		if tool.Server == toolServer {
			return tool, true
		}
		found = append(found, tool)
	}
	if len(found) != 1 {
		return schemas.Tool{}, false
	}
	return found[0], true
}

// searchArguments is the query, with the turn's language for a tool that takes it.
func searchArguments(tool schemas.Tool, query, lang string) map[string]string {
	args := map[string]string{"query": query}
	var schema struct {
		Properties struct {
			Language struct{ Enum []string }
		}
	}
	if json.Unmarshal(tool.InputSchema, &schema) == nil && slices.Contains(schema.Properties.Language.Enum, lang) {
		args["language"] = lang
	}
	return args
}

// isEmpty says whether a search tool found nothing: no text, or an empty list of
// results.
func isEmpty(result schemas.ToolResult) bool {
	var structured struct {
		Results *[]json.RawMessage `json:"results"`
	}
	if json.Unmarshal(result.Output, &structured) == nil && structured.Results != nil {
		return len(*structured.Results) == 0
	}
	return strings.TrimSpace(result.OutputText()) == ""
}
