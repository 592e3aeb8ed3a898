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
	// Perhaps is the first result that only has passages below the threshold, if nothing was found.
	Perhaps *schemas.ToolResult
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
	// Others are the same question in the words of the documents; only folders are asked them.
	Others []string
}

// subjects returns what the query is searched for together with, in this order.
func (q query) subjects() []string {
	if q.About == "" || len(q.Others) > 0 { // the other wordings stand alone
		return []string{q.About}
	}
	return []string{q.About, ""}
}

// Ask calls the tools of a list in order until one finds something. It skips one that fails. Folders
// that find nothing sure are asked again in other words, before what they found or the tools behind them
// count. A passage
// that no tool has is not reported to the person.
func (s *search) Ask(ctx context.Context, out *answer.Speaker, list []string, q query, ahead lookAhead) (SearchResult, error) {
	if q.Passage != "" {
		list = slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			tool, there := s.tool(name)
			return there && parametersOf(tool).Passage.Type != "string"
		})
		if len(list) == 0 {
			return SearchResult{}, nil
		}
	}
	asking := &asking{search: s, out: out, ahead: ahead, nothing: SearchResult{Looked: prompts.LookedFailed}}
	found, err := asking.all(ctx, list, q)
	if found == nil {
		found = &asking.nothing
	}
	if q.Passage != "" && found.Looked == prompts.LookedNothing {
		found.Looked = "" // the person need not know
	}
	return *found, err
}

// An asking is the search of one turn.
type asking struct {
	*search
	out   *answer.Speaker
	ahead lookAhead
	// nothing is the result if no tool finds anything.
	nothing SearchResult
	// little are the folders that found nothing sure and are to be asked again.
	little []schemas.Tool
}

// all returns what the tools of a list find; nil if nothing. The tool behind folders that found nothing
// sure runs while their queries are written, and counts if these find nothing either.
func (s *asking) all(ctx context.Context, list []string, q query) (*SearchResult, error) {
	for _, name := range list {
		tool, there := s.tool(name)
		isFolder := there && takesQueries(tool)
		beside := !isFolder && s.ahead.words.Begin(s.little)
		if !isFolder && !beside {
			if found, err := s.again(ctx, &q); err != nil || found != nil {
				return found, err
			}
		}
		found, err := s.one(ctx, name, q)
		if err != nil {
			return nil, err
		}
		doubtful := isFolder && found != nil && found.Result.IsDoubtful()
		if doubtful {
			s.little = append(s.little, tool)
			s.ahead.words.Begin(s.little)
		}
		if beside || doubtful {
			if own, err := s.again(ctx, &q); err != nil || own != nil {
				return own, err
			}
		}
		if found != nil {
			return found, nil
		}
	}
	s.ahead.words.Begin(s.little)
	return s.again(ctx, &q)
}

// again asks the folders that found nothing sure in other words, which it sets in the query.
func (s *asking) again(ctx context.Context, q *query) (*SearchResult, error) {
	little := s.little
	if s.little = nil; len(little) == 0 {
		return nil, nil
	}
	var err error
	if q.Others, err = s.ahead.words.Wait(ctx); err != nil || len(q.Others) == 0 {
		return nil, err
	}
	for _, tool := range little {
		if found, err := s.one(ctx, tool.Name, *q); err != nil || found != nil {
			return found, err
		}
	}
	return nil, nil
}

// one asks one tool; it returns nil if the tool finds nothing or fails.
func (s *asking) one(ctx context.Context, name string, q query) (*SearchResult, error) {
	for _, q.About = range q.subjects() {
		done, tool, err := s.call(ctx, name, q)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, answer.ErrStopped) {
			return nil, err
		}
		if err != nil {
			s.out.Mark("6.1", "Search failed", "tool", name, "error", err.Error())
			return nil, nil
		}
		result := done.Result
		s.out.Mark("6.1", fmt.Sprintf("Search completed. Results length: %d characters", len(result.OutputText())), "tool", name, "queries", len(q.Others))
		if !result.IsEmpty() {
			return &SearchResult{Looked: prompts.LookedFound, Result: &result, Call: done.Call, Own: isOwn(tool)}, nil
		}
		s.nothing.Looked = prompts.LookedNothing
		if s.nothing.Perhaps == nil && result.IsPerhaps() {
			s.nothing.Perhaps = &result
		}
		if takesQueries(tool) && len(q.Others) == 0 && q.About == "" {
			s.little = append(s.little, tool)
		}
	}
	return nil, nil
}

// call makes one call and shows it, unless it was made ahead: then it only shows it.
func (s *asking) call(ctx context.Context, name string, q query) (done toolhandler.Outcome, tool schemas.Tool, err error) {
	tool, ok := s.tool(name)
	if !ok {
		return done, tool, fmt.Errorf("tool %q is not attached; attach a server that has it, or take it out of the assistant's search list", name)
	}
	call, err := searchCall(tool, q)
	if err != nil {
		return done, tool, err
	}
	done, made := s.ahead.made[keyOf(call)]
	if made {
		call = done.Call
	}
	handler := s.begin(tool)
	if err := s.out.Call("6.1", &call, tool, handler.MayAct(tool), false); err != nil {
		return done, tool, err
	}
	if !made {
		for done = range handler.Execute(ctx, []schemas.ToolCall{call}) {
			break
		}
	}
	if ctx.Err() != nil {
		return done, tool, ctx.Err()
	}
	why := "code-driven: it is in the assistant's search list"
	if len(q.Others) > 0 {
		why += "; the question's own words found nothing sure, so the small model worded it anew"
	}
	if err := s.out.Outcome("6.1", &done, why); err != nil {
		return done, tool, err
	}
	if done.Result.IsError {
		return done, tool, fmt.Errorf("%s: %s", name, done.Result.OutputText())
	}
	return done, tool, nil
}

// searchCall returns the call of a tool for a query.
func searchCall(tool schemas.Tool, q query) (schemas.ToolCall, error) {
	if !isOwn(tool) {
		if q.Text = q.Typed; q.Text == "" && q.Passage == "" {
			return schemas.ToolCall{}, errors.New("the person typed nothing to search for, and what others wrote is not sent")
		}
	}
	args, err := json.Marshal(arguments(tool, q))
	return schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool.Name, Arguments: string(args)}}, err
}

// keyOf returns what tells a call from the others of a search.
func keyOf(call schemas.ToolCall) string { return call.Function.Name + " " + call.Function.Arguments }

// begin returns the handler of a call that code chose, not a model.
func (s *search) begin(tool schemas.Tool) *toolhandler.Turn {
	tool.Rules.Policy = schemas.PolicyAllow
	return s.cfg.Handler.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{tool}, Show: showSearch})
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
	Queries  struct{ Type string }
	Language struct{ Enum []string }
}

// takesQueries reports whether a tool searches a folder of knowledge of this host, which can be asked in
// several wordings.
func takesQueries(tool schemas.Tool) bool {
	return tool.Server == schemas.ToolServer && parametersOf(tool).Queries.Type == "array"
}

func parametersOf(tool schemas.Tool) parameters {
	var schema struct{ Properties parameters }
	if json.Unmarshal(tool.InputSchema, &schema) != nil {
		return parameters{}
	}
	return schema.Properties
}

// arguments returns the call's arguments: the query after its subject, and, for a tool that takes
// them, the subject, the language, the passage and the other wordings separately.
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
	if len(q.Others) > 0 && takesQueries(tool) {
		args["queries"] = q.Others
	}
	return args
}
