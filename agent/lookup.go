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
	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/schemas"
	"molar/toolhandler"
)

// searchConfig configures a [search].
type searchConfig struct {
	// tools returns the current tools of the attached servers.
	Tools   func() []schemas.Tool
	Handler *toolhandler.Handler
	// Lacking maps search tools that this host could have but does not to the reason and the
	// remedy.
	Lacking map[string]string
}

// A Search looks things up. It is safe for concurrent use.
type search struct{ cfg searchConfig }

// newSearch returns a search.
func newSearch(cfg searchConfig) *search { return &search{cfg: cfg} }

// Impossible returns why the host lacks all tools of a list, or "" if one may be there.
func (s *search) Impossible(list []string) string {
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

// Searches returns the host's bundled search tools that an assistant uses: those that its model may
// call, and those that code calls before each answer. An unknown assistant uses those of the default
// one.
func (a *Agent) Searches(assistant string) (byModel, byCode []schemas.Tool) {
	as := a.assistants[assistant]
	if as == nil {
		as = a.assistants[a.cfg.Default]
	}
	for _, tool := range a.cfg.Tools.Tools() {
		if tool.Server != schemas.ToolServer || tool.Withheld != "" {
			continue
		}
		if tool.Rules.Policy != schemas.PolicyDeny && offer.Globs(as.Tools).MayCall(tool.ToolInfo) {
			byModel = append(byModel, tool)
		}
		if slices.Contains(as.Search, tool.ToolName) || slices.Contains(as.Search, tool.Name) {
			byCode = append(byCode, tool)
		}
	}
	return byModel, byCode
}

// A SearchResult is the result of a search.
type SearchResult struct {
	Looked prompts.Looked
	// Result is the result of the tool that answered; nil if none did.
	Result *schemas.ToolResult
	Call   schemas.ToolCall
	// Own is set when it quotes the host's bundled texts.
	Own bool
}

// A Query is what to look up.
type query struct {
	Text string
	// Typed is what the person typed of it: tools that send it elsewhere get nothing else.
	Typed string
	// About is the subject of the conversation, for a follow-up question. If the two together find
	// nothing, the question is searched for alone.
	About string
	// Shifts is set when the question changes the subject of the conversation.
	Shifts bool
	// Lang is the language of the turn.
	Lang string
	// Passage is the heading to look up instead of the question; only tools with a passage argument
	// are called.
	Passage string
}

// Ask calls the tools of a list in order until one finds something. It skips one that fails. A
// passage that no tool has is not reported to the person.
func (s *search) Ask(ctx context.Context, out *answer.Speaker, list []string, q query) (SearchResult, error) {
	if q.Passage != "" {
		list = slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			tool, there := s.tool(name)
			return there && parametersOf(tool).Passage.Type != "string"
		})
		if len(list) == 0 {
			return SearchResult{}, nil
		}
	}
	found, err := s.ask(ctx, out, list, q)
	if q.Passage != "" && found.Looked == prompts.LookedNothing {
		found.Looked = "" // the person need not know
	}
	return found, err
}

func (s *search) ask(ctx context.Context, out *answer.Speaker, list []string, q query) (SearchResult, error) {
	found := SearchResult{Looked: prompts.LookedFailed}
	subjects := []string{q.About}
	if q.About != "" {
		subjects = append(subjects, "")
	}
	for _, name := range list {
		for _, q.About = range subjects {
			done, own, err := s.call(ctx, out, name, q)
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
			result := done.Result
			out.Mark("6.1", fmt.Sprintf("Search completed. Results length: %d characters", len(result.OutputText())), "tool", name)
			if !result.IsEmpty() {
				return SearchResult{Looked: prompts.LookedFound, Result: &result, Call: done.Call, Own: own}, nil
			}
			found.Looked = prompts.LookedNothing
		}
	}
	return found, nil
}

func (s *search) call(ctx context.Context, out *answer.Speaker, name string, q query) (done toolhandler.Outcome, own bool, err error) {
	tool, ok := s.tool(name)
	if !ok {
		return done, false, fmt.Errorf("tool %q is not attached; attach a server that has it, or take it out of the assistant's search list", name)
	}
	if !isOwn(tool) {
		if q.Text = q.Typed; q.Text == "" && q.Passage == "" {
			return done, false, errors.New("the person typed nothing to search for, and what others wrote is not sent")
		}
	}
	args, err := json.Marshal(arguments(tool, q))
	if err != nil {
		return done, false, err
	}
	call := schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: string(args)}}
	tool.Rules.Policy = schemas.PolicyAllow // chosen by code, not by a model
	handler := s.cfg.Handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}, Show: showSearch})
	if err := out.Call("6.1", &call, tool, handler.MayAct(tool), false); err != nil {
		return done, false, err
	}
	for done = range handler.Execute(ctx, []schemas.ToolCall{call}) {
		if err := out.Outcome("6.1", &done, "code-driven: it is in the assistant's search list"); err != nil {
			return done, false, err
		}
		if done.Result.IsError {
			return done, false, fmt.Errorf("%s: %s", name, done.Result.OutputText())
		}
		return done, isOwn(tool), nil
	}
	return done, false, ctx.Err()
}

// maxSearch bounds the text of a search's result, in bytes. No tool reads the rest of it.
const maxSearch = 64 << 10

// showSearch returns the result of a search within its bound.
func showSearch(_ context.Context, r schemas.ToolResult) schemas.ToolResult {
	id := r.ID
	r.ID = ""
	r = prompts.Shorten(r, maxSearch)
	r.ID = id
	return r
}

// tool finds a tool of a search list: on the bundled tool server, else the
// only attached tool of that name.
func (s *search) tool(name string) (schemas.Tool, bool) {
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

// isOwn reports whether a search tool quotes the host's own texts: it is bundled and not
// open-world.
func isOwn(tool schemas.Tool) bool {
	open := tool.Annotations.OpenWorldHint
	return tool.Server == schemas.ToolServer && open != nil && !*open
}

// parameters are a search tool's optional arguments, in addition to the query text.
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

// arguments returns the call's arguments: the query after its subject, and, for a tool that takes
// them, the subject, the language and the passage separately.
func arguments(tool schemas.Tool, q query) map[string]any {
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
