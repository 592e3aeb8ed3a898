package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// SearchConfig has what a search is made with.
type SearchConfig struct {
	// Tools are those of the attached servers, as they are now.
	Tools   func() []schemas.Tool
	Handler *toolhandler.Handler
	// Lacking says of search tools that this host can have and does not why, and what
	// to do about it.
	Lacking map[string]string
}

// A Search looks things up. It is safe for concurrent use.
type Search struct{ cfg SearchConfig }

// NewSearch returns a search.
func NewSearch(cfg SearchConfig) *Search { return &Search{cfg: cfg} }

// Impossible returns why a list holds nothing but tools that this host lacks, or "" if it holds
// another.
func (s *Search) Impossible(list []string) string {
	var why []string
	for _, name := range list {
		_, there := s.tool(name)
		if there || s.cfg.Lacking[name] == "" {
			return ""
		}
		why = append(why, s.cfg.Lacking[name])
	}
	return strings.Join(why, "; ")
}

// A Found is what a search came to.
type Found struct {
	Looked prompts.Looked
	// Result is what the tool that answered gave, nil if none did.
	Result *schemas.ToolResult
	// Own is set when it quotes what came with the host.
	Own bool
}

// A Query is what to look up.
type Query struct {
	Text string
	// About is what the conversation is about, where the question leans on it. Together with it
	// nothing may be found; then the question is asked alone.
	About string
	// Shifts is set where the question brings a thing of its own: the conversation is about that now.
	Shifts bool
	// Lang is the language of the turn.
	Lang string
	// Passage is the heading of what is asked for, whatever the question says: only tools that take one
	// are asked.
	Passage string
}

// Ask asks the tools of a list for a query until one finds something. One that fails is passed
// over. Of a passage that no tool has nothing is said.
func (s *Search) Ask(ctx context.Context, out *answer.Speaker, list []string, q Query) (Found, error) {
	if q.Passage != "" {
		list = slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			tool, there := s.tool(name)
			return there && parametersOf(tool).Passage.Type != "string"
		})
		if len(list) == 0 {
			return Found{}, nil
		}
	}
	found, err := s.ask(ctx, out, list, q)
	if q.Passage != "" && found.Looked == prompts.LookedNothing {
		found.Looked = "" // there is nothing that a person has to be told
	}
	return found, err
}

func (s *Search) ask(ctx context.Context, out *answer.Speaker, list []string, q Query) (Found, error) {
	found := Found{Looked: prompts.LookedFailed}
	subjects := []string{q.About}
	if q.About != "" {
		subjects = append(subjects, "")
	}
	for _, name := range list {
		for _, q.About = range subjects {
			result, own, err := s.call(ctx, out, name, q)
			if ctx.Err() != nil {
				return found, ctx.Err()
			}
			if errors.Is(err, answer.ErrStopped) {
				return found, err
			}
			if err != nil {
				out.Mark("6.1", "Search failed", "tool", name, "error", err.Error())
				break
			}
			out.Mark("6.1", fmt.Sprintf("Search completed. Results length: %d characters", len(result.OutputText())), "tool", name)
			if !isEmpty(result) {
				return Found{Looked: prompts.LookedFound, Result: &result, Own: own}, nil
			}
			found.Looked = prompts.LookedNothing
		}
	}
	return found, nil
}

// call calls one tool of the list and reports it like any other call.
func (s *Search) call(ctx context.Context, out *answer.Speaker, name string, q Query) (result schemas.ToolResult, own bool, err error) {
	tool, ok := s.tool(name)
	if !ok {
		return result, false, fmt.Errorf("tool %q is not attached; attach a server that has it, or take it out of the assistant's search list", name)
	}
	args, err := json.Marshal(arguments(tool, q))
	if err != nil {
		return result, false, err
	}
	call := schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: string(args)}}
	if err := out.Call("6.1", &call, tool, false); err != nil {
		return result, false, err
	}
	tool.Rules.Policy = schemas.PolicyAllow // chosen by code, not by a model
	handler := s.cfg.Handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}})
	for done := range handler.Execute(ctx, []schemas.ToolCall{call}) {
		if err := out.Outcome("6.1", &done, "code-driven: it is in the assistant's search list"); err != nil {
			return result, false, err
		}
		if done.Result.IsError {
			return result, false, fmt.Errorf("%s: %s", name, done.Result.OutputText())
		}
		return done.Result, isOwn(tool), nil
	}
	return result, false, ctx.Err()
}

// tool finds a tool of a search list: on the bundled tool server, else the
// only attached tool of that name.
func (s *Search) tool(name string) (schemas.Tool, bool) {
	var found []schemas.Tool
	for _, tool := range s.cfg.Tools() {
		if tool.ToolName != name && tool.Name != name {
			continue
		}
		if tool.Server == schemas.ToolServer {
			return tool, true
		}
		found = append(found, tool)
	}
	if len(found) != 1 {
		return schemas.Tool{}, false
	}
	return found[0], true
}

// isOwn reports whether a search tool quotes what came with the host: a bundled one that
// says that it does not reach out.
func isOwn(tool schemas.Tool) bool {
	open := tool.Annotations.OpenWorldHint
	return tool.Server == schemas.ToolServer && open != nil && !*open
}

// parameters are those of a search tool that a query may fill, beside its text.
type parameters struct {
	About    struct{ Type string }
	Passage  struct{ Type string }
	Language struct{ Enum []string }
}

func parametersOf(tool schemas.Tool) parameters {
	var schema struct{ Properties parameters }
	if json.Unmarshal(tool.InputSchema, &schema) != nil {
		return parameters{}
	}
	return schema.Properties
}

// arguments is the query, behind what it is about, with the turn's language or the passage that is asked
// for; each apart for a tool that takes it.
func arguments(tool schemas.Tool, q Query) map[string]any {
	args := map[string]any{"query": strings.TrimSpace(q.About + " " + q.Text)}
	takes := parametersOf(tool)
	switch {
	case q.About == "" || takes.About.Type != "string":
	case q.Shifts:
		args["about"] = q.Text
	default:
		args["query"], args["about"] = q.Text, q.About
	}
	if slices.Contains(takes.Language.Enum, q.Lang) {
		args["language"] = q.Lang
	}
	if q.Passage != "" {
		args["passage"] = q.Passage
	}
	return args
}

// isEmpty reports whether a search tool found nothing: no text, or an empty list of
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
