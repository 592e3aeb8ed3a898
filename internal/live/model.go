package live

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
)

// A model is the model that is tried, and what that has taken so far.
type model struct {
	pick func(context.Context) (providers.Route, error)
	spent
}

// spent is what the calls so far took.
type spent struct {
	// calls are those to the service, answered the ones without an error.
	calls, answered int
	usage           schemas.Usage
	// toolCalls are those that the model made, salvaged the ones of them that it printed as text,
	// and unread the answers that seem to be a printed call which could not be read.
	toolCalls, salvaged, unread int
	unreadText                  string
}

func (s spent) since(before spent) schemas.Usage {
	u := s.usage
	u.PromptTokens -= before.usage.PromptTokens
	u.CompletionTokens -= before.usage.CompletionTokens
	u.TotalTokens -= before.usage.TotalTokens
	u.CachedTokens -= before.usage.CachedTokens
	u.ReasoningTokens -= before.usage.ReasoningTokens
	return u
}

// route returns a fresh route, whose calls are counted.
func (m *model) route(ctx context.Context) (providers.Route, error) {
	route, err := m.pick(ctx)
	switch {
	case err != nil:
		return route, err
	case route.Offline:
		return route, ErrNoModel
	}
	route.Provider = &meter{route.Provider, m}
	if route.Small != nil {
		route.Small = &meter{route.Small, m}
	}
	return route, nil
}

// A meter counts the calls of a provider.
type meter struct {
	providers.Provider
	to *model
}

// Unwrap returns the provider itself.
func (p *meter) Unwrap() providers.Provider { return p.Provider }

func (p *meter) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		p.to.calls++
		var usage schemas.Usage
		defer func() { p.to.usage = p.to.usage.Add(usage) }()
		for chunk, err := range p.Provider.Stream(ctx, req) {
			if chunk.Usage != nil {
				usage = *chunk.Usage
			}
			if chunk.Finish != "" {
				p.to.answered++
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// A reply is the model's answer to one call.
type reply struct {
	agent.Reply
	thinking string
	notes    []string
	usage    schemas.Usage
	// first and whole are the times to the first output and to the end.
	first, whole time.Duration
}

// text returns what the model said.
func (r *reply) text() string { m := r.Message(); return strings.TrimSpace(m.Said()) }

// noted reports whether a decision of the provider's code was noted with a word.
func (r *reply) noted(word string) bool {
	return slices.ContainsFunc(r.notes, func(note string) bool { return strings.Contains(note, word) })
}

// say makes one call to the route's model, unless the request names another one.
func (m *model) say(ctx context.Context, req providers.Request) (*reply, error) {
	route, err := m.route(ctx)
	if err != nil {
		return nil, err
	}
	if req.Model == "" {
		req.Model = route.Model
	}
	if req.Pass == "" {
		req.Pass = providers.PassAnswer
	}
	r := &reply{}
	start := time.Now()
	for chunk, err := range route.For(req.Pass).Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		r.take(chunk, start)
	}
	r.whole = time.Since(start)
	m.countCalls(r, req.Tools)
	return r, nil
}

func (r *reply) take(chunk providers.Chunk, start time.Time) {
	if chunk.Retract {
		r.Retract()
	}
	if r.first == 0 && (chunk.Text != "" || chunk.Thinking != "" || chunk.Call != nil) {
		r.first = time.Since(start)
	}
	r.Add(chunk)
	r.thinking += chunk.Thinking
	if chunk.Note != "" {
		r.notes = append(r.notes, chunk.Note)
	}
	if chunk.Usage != nil {
		r.usage = *chunk.Usage
	}
}

// countCalls counts how the calls of a reply were written.
func (m *model) countCalls(r *reply, offered []schemas.ToolInfo) {
	n := len(r.Calls())
	m.toolCalls += n
	if r.noted("printed") {
		m.salvaged += n
	}
	if n == 0 && isPrinted(r.text(), offered) {
		m.unread++
		m.unreadText = r.text()
	}
}

// isPrinted reports whether a text seems to be a tool call: it begins with a mark and names a tool
// that is offered.
func isPrinted(text string, offered []schemas.ToolInfo) bool {
	named := func(t schemas.ToolInfo) bool {
		return strings.Contains(text, t.Name) || strings.Contains(text, `"`+t.ToolName+`"`)
	}
	return text != "" && strings.ContainsRune("{[<`|", rune(text[0])) && slices.ContainsFunc(offered, named)
}

// A tool is one of the tools that are offered. Its run returns the result of a call, as text or
// JSON; failed marks it as an error of the tool.
type tool struct {
	info schemas.ToolInfo
	run  func(arguments string) (result string, failed bool)
}

// A talk is a question with all that follows it.
type talk struct {
	// rounds are the calls of each answer, and text is that of the last one.
	rounds [][]schemas.ToolCall
	text   string
	// ended is set if the last answer had no calls.
	ended bool
}

// calls returns the calls of all rounds.
func (t talk) calls() []schemas.ToolCall { return slices.Concat(t.rounds...) }

// converse asks a question as a turn does: it executes the calls of each answer until one has none,
// for at most so many answers.
func (m *model) converse(ctx context.Context, question string, offered []tool, most int) (talk, error) {
	req := ask(subject.English, question, offered)
	var t talk
	for range most {
		r, err := m.say(ctx, req)
		if err != nil {
			return t, err
		}
		t.text = r.text()
		calls := r.Calls()
		t.rounds = append(t.rounds, calls)
		if len(calls) == 0 {
			t.ended = true
			return t, nil
		}
		req.Messages = append(req.Messages, r.Message(), results(calls, offered))
	}
	return t, nil
}

// ask returns the request of a turn's first round.
func ask(lang, question string, offered []tool) providers.Request {
	req := providers.Request{
		Language: lang, Pass: providers.PassAnswer,
		System: prompts.System(prompts.SystemInput{Language: lang, Tools: len(offered) > 0}),
		Messages: []schemas.Message{prompts.Question(prompts.QuestionInput{
			Language: lang, Labels: subject.Plain(lang), Question: schemas.Text(schemas.RoleUser, question),
		})},
	}
	for _, t := range offered {
		req.Pass = providers.PassTool
		req.Tools = append(req.Tools, t.info)
	}
	return req
}

// results executes calls.
func results(calls []schemas.ToolCall, offered []tool) schemas.Message {
	list := make([]schemas.ToolResult, 0, len(calls))
	for _, call := range calls {
		r := schemas.ToolResult{ID: call.ID, ToolName: call.Function.Name, IsError: true}
		text := fmt.Sprintf("there is no tool %q", call.Function.Name)
		if i := slices.IndexFunc(offered, func(t tool) bool { return t.info.Name == call.Function.Name }); i >= 0 {
			t := offered[i]
			r.ToolName, r.Server = t.info.ToolName, t.info.Server
			text, r.IsError = t.run(call.Function.Arguments)
		}
		r.Output = json.RawMessage(text)
		if !json.Valid(r.Output) {
			r.Output = schemas.TextOutput(text)
		}
		list = append(list, r)
	}
	return prompts.Results(list, 0)
}
