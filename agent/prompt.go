package agent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
)

// A prompt is what the model sees at the start of its first round.
type prompt struct {
	content
	system   string
	messages []schemas.Message
	// compacted is set when this turn moved exchanges into the summary.
	compacted *schemas.Compaction
	// past is the size of the exchanges that it shows, without passages, room what they may take, in
	// bytes.
	past, room int
	// passages are the texts before the question, if they are the operator's own: later turns repeat
	// them.
	passages []string
}

// The content of a prompt is what it is made of, beside the tools.
type content struct {
	question question
	past     recalled
	found    findings
}

// limits bound the parts of a prompt, in bytes.
type limits struct {
	past pastRoom
	// passages bounds each result of the code-driven search.
	passages int
}

// prompt builds the context: the system prompt, the summary of older exchanges, the newest
// exchanges verbatim, and last the question with its attachments and results. Until a compaction,
// all but the last message repeats the previous turn byte for byte.
func (a *Agent) prompt(ctx context.Context, w *task, c *content, o offer.Offer) (prompt, error) {
	system := a.system(w, c.language(), len(o.Tools) > 0, o.Skills, a.instructions(o.Tools))
	r := limits{passages: a.resultBytes(ctx, w, 1)}
	question := Size([]schemas.Message{prompts.Question(a.questionInput(w, c, r))})
	r.past = a.pastRoom(ctx, w, len(system), offer.Size(o.Tools), question)
	return a.build(ctx, w, c, system, r)
}

// build builds the prompt of a content within a room.
func (a *Agent) build(ctx context.Context, w *task, c *content, system string, r limits) (prompt, error) {
	lang := c.language()
	view := Fit(Input{
		Summary: c.past.summary, Exchanges: c.past.exchanges, ResultBytes: a.resultBytes(ctx, w, 1),
		Budget: r.past.all, Last: r.past.last, MaxExchanges: a.cfg.Limits.KeptMessages / 2,
	})
	if w.turn.WholeHistory && view.Summary != "" {
		return prompt{}, &providers.Error{
			Kind: providers.KindContextLength, Provider: w.route.Provider.Name(), Model: w.route.Model,
			Err: errors.New("the conversation does not fit into the model's context, and the request does not let it be summarised"),
		}
	}
	p := prompt{content: *c, system: system, messages: view.Messages, past: view.bareSize(), room: r.past.all}
	if view.Compacted && view.Covers > 0 {
		p.compacted = &schemas.Compaction{Covers: view.Covers, Text: view.Summary}
	}
	in := a.questionInput(w, c, r)
	if c.found.call == nil {
		p.passages = prompts.Passages(in)
	}
	if len(p.messages) == 0 {
		in.Summary = view.Summary
	} else if view.Summary != "" {
		before := []schemas.Part{prompts.Summarised(lang, view.Summary)}
		if first := view.Exchanges[0]; first.Bare || len(first.passages()) == 0 { // else they end with the label
			before = append(before, prompts.Begins(w.voice(lang).Labels))
		}
		p.messages = prepend(p.messages, before...)
	}
	p.messages = append(p.messages, prompts.Question(in))
	if len(w.turn.Results) > 0 {
		p.messages = append(p.messages, a.afterQuestion(ctx, w)...)
	}
	w.out.Mark("5.1", "Context built", "summary_length", len(view.Summary), "exchanges", len(view.Exchanges), "compacted", view.Compacted, "results", len(c.found.results))
	if view.Summary != "" {
		w.out.Mark("7.2", "Using existing summary as context", "length", len(view.Summary))
	}
	return p, nil
}

// questionInput returns the question of a content and what is put around it, without a summary.
func (a *Agent) questionInput(w *task, c *content, r limits) prompts.QuestionInput {
	q := &c.question
	return prompts.QuestionInput{
		Language: q.lang, Labels: w.voice(q.lang).Labels, Notice: q.notice, Question: q.message,
		Looked: c.found.looked, Found: c.found.results, MaxBytes: r.passages, JSON: w.turn.wantsJSON(), Schema: w.schemaInWords(),
		Switched: q.lang != c.language(), Perhaps: c.found.perhaps,
	}
}

// system returns the system prompt; servers are the instructions of the servers whose tools are
// offered.
func (a *Agent) system(w *task, lang string, tools bool, skills *offer.Skills, servers []prompts.Instructions) string {
	return prompts.System(prompts.SystemInput{
		Text: cmp.Or(w.assistant.SystemPrompt, w.voice(lang).System), Client: joinParagraphs(w.turn.System, w.turn.Form), Topic: w.guard != nil,
		Language: lang, Tools: tools, Skills: skills.Shown(), MoreSkills: skills.More() > 0, Servers: servers,
	})
}

// instructions returns the instructions of the servers whose tools are offered, by name.
func (a *Agent) instructions(tools []schemas.ToolInfo) []prompts.Instructions {
	texts := a.cfg.Tools.Instructions()
	var all []prompts.Instructions
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if slices.ContainsFunc(tools, func(t schemas.ToolInfo) bool { return t.Server == name }) {
			all = append(all, prompts.Instructions{Server: name, Text: texts[name]})
		}
	}
	return all
}

// prepend returns the messages with parts before the first one's, without changing the argument.
func prepend(messages []schemas.Message, parts ...schemas.Part) []schemas.Message {
	first := messages[0]
	first.Parts = slices.Concat(parts, first.Parts)
	return append([]schemas.Message{first}, messages[1:]...)
}

// language returns the conversation's language; of a new one, the question's.
func (c *content) language() string { return cmp.Or(c.past.lang, c.question.lang) }
