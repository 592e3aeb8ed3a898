package agent

import (
	"context"
	"fmt"

	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/schemas"
	"molar/toolhandler"
)

// findings are the result of the code-driven search.
type findings struct {
	results []schemas.ToolResult
	looked  prompts.Looked
	// call is the one that brought results which somebody else wrote than the operator.
	call *schemas.ToolCall
	// perhaps has passages below the threshold, for the offline provider; nil if there are none.
	perhaps *schemas.ToolResult
}

// canSearch fails, before anything else runs, if the host lacks all tools of the search list. An
// emergency needs no search.
func (a *Agent) canSearch(w *task, first First) error {
	why := a.search.Impossible(a.searches(w))
	if why == "" || len(first.Kinds) > 0 {
		return nil
	}
	return fmt.Errorf("%w: the assistant %q cannot search: %s", ErrSearch, w.assistant.Name, why)
}

// lookUp calls the assistant's code-driven tools. When all fail, the turn continues without
// results, and model and person are told. In an emergency it looks up only the passage that the
// topic names for it: the words of the message often lead to the wrong first aid.
func (a *Agent) lookUp(ctx context.Context, w *task, q question, past recalled, verdict *Gate) (findings, error) {
	list := a.searches(w)
	if len(list) == 0 || len(q.approved) > 0 {
		return findings{}, nil
	}
	query, wanted := a.queryOf(w, q, past, verdict)
	ahead := lookAhead{}
	var looked *future[map[string]toolhandler.Outcome]
	if wanted {
		ahead.words = a.rewording(ctx, w, q.lang, query)
	}
	if ahead.words != nil && !verdict.Known() && !w.route.JudgeQueues() {
		looked = begin(w.group, func() (map[string]toolhandler.Outcome, error) {
			return a.search.lookAhead(ctx, list, query, ahead.words), nil
		})
	}
	if err := verdict.Pass(ctx); err != nil || !wanted {
		return findings{}, err
	}
	began := a.cfg.Now()
	defer func() { w.out.Trace.Step("search", a.cfg.Now().Sub(began)) }()
	a.tools.Await(ctx, schemas.ToolServer)
	if looked != nil {
		var err error
		if ahead.made, err = looked.Wait(ctx); err != nil {
			return findings{}, err
		}
	}
	out, err := a.search.Ask(ctx, w.out, list, query, ahead)
	found := findings{looked: out.Looked}
	if w.route.Offline { // a model is only shown what surely fits
		found.perhaps = out.Perhaps
	}
	switch {
	case err != nil:
		return found, err
	case out.Looked == prompts.LookedFailed:
		return found, w.out.Warn(answer.CodeNoSources, prompts.Unlooked(q.lang))
	case out.Result == nil:
		return found, nil
	}
	found.results = []schemas.ToolResult{*out.Result}
	if out.Own {
		w.heard.own(answer.Prose(out.Result.OutputText()))
		return found, nil
	}
	found.call = &out.Call
	w.heard.found(*out.Result)
	w.out.Watching().Arm()
	return found, nil
}

// queryOf returns what to look up for a question; ok is false if there is nothing to.
func (a *Agent) queryOf(w *task, q question, past recalled, verdict *Gate) (query query, ok bool) {
	query.Text, query.Typed, query.Lang, query.Passage = q.asked, q.own(), q.lang, verdict.Emergency.Passage
	if verdict.Notice != "" {
		return query, query.Passage != ""
	}
	needs := a.needs(w, q.asked, past.isEmpty())
	if open := past.open(); needs == subject.AboutTalk && open != "" { // it asks that one again
		query.Text, query.Typed, needs = open, "", a.needs(w, open, len(past.exchanges) == 1)
		if past.exchanges[len(past.exchanges)-1].isTyped() {
			query.Typed = open
		}
	}
	if needs == subject.AboutTalk { // it is about the conversation itself
		return query, false
	}
	query.About, query.Shifts = needs.About(a.subject(w, past)), needs == subject.Shift
	return query, true
}

// needs returns what a message needs of the conversation: as the topic's guardrail reads it, else
// by general signs. begins is set for the first message.
func (a *Agent) needs(w *task, text string, begins bool) subject.Needs {
	if w.guard != nil {
		return w.guard.Needs(text, begins)
	}
	return subject.NeedsOf(text, begins)
}

// subject returns the conversation's last self-contained question, of those that were typed: the stored
// one, else the one found in its exchanges.
func (a *Agent) subject(w *task, past recalled) string {
	if past.subject != "" {
		return past.subject
	}
	subject := ""
	for i, x := range past.exchanges {
		if !x.isTyped() || isWholeAnswer(w.guard, x.Answer()) {
			continue
		}
		subject = a.needs(w, x.Question, i == 0 && past.summary == "").Subject(x.Question, subject)
	}
	return subject
}

// isWholeAnswer reports whether an answer is an emergency notice that nothing may follow; guard is
// nil without a topic.
func isWholeAnswer(guard *subject.Guard, answer string) bool {
	if guard == nil {
		return false
	}
	_, kinds := subject.Leading(guard.Topic(), answer)
	return subject.Deciding(guard.Topic(), kinds).Ends
}
