package agent

import (
	"context"
	"fmt"

	"molar/agent/guardrail"
	"molar/agent/judge"
	"molar/agent/lookup"
	"molar/agent/prompts"
	"molar/schemas"
)

// findings are what the code-driven search came to.
type findings struct {
	results []schemas.ToolResult
	looked  prompts.Looked
	// ordered is set when something that was found gave orders to a model.
	ordered bool
	// read are the servers whose text was found. The built-in guide is the host's own.
	read []string
}

// canSearch refuses a turn whose search list holds nothing but tools that this host
// lacks, before anything else is asked. An emergency needs no search.
func (a *Agent) canSearch(w task, first judge.First) error {
	why := a.search.Impossible(w.assistant.Search)
	if why == "" || len(first.Kinds) > 0 {
		return nil
	}
	return fmt.Errorf("%w: the assistant %q cannot search: %s", ErrSearch, w.assistant.Name, why)
}

// lookUp asks the assistant's code-driven tools. When all of them failed, the turn goes on
// without results, and model and person are told.
func (a *Agent) lookUp(ctx context.Context, w task, q question, past recalled, verdict *judge.Gate) (findings, error) {
	if len(w.assistant.Search) == 0 || len(q.agreed) > 0 {
		return findings{}, nil
	}
	if err := verdict.Pass(ctx); err != nil {
		return findings{}, err
	}
	needs := a.needs(w, q.asked, past.isEmpty())
	if needs == guardrail.AboutTalk { // it is about the conversation: there is nothing to look up
		return findings{}, nil
	}
	began := a.cfg.Now()
	defer func() { w.out.Trace.Step("search", a.cfg.Now().Sub(began)) }()
	a.tools.Await(ctx, schemas.ToolServer)
	out, err := a.search.Ask(ctx, w.out, w.assistant.Search, lookup.Query{
		Text: q.asked, About: needs.About(a.subject(w, past)), Shifts: needs == guardrail.Shift,
		Lang: q.lang, Urgent: verdict.Notice != "",
	})
	found := findings{looked: out.Looked}
	switch {
	case err != nil:
		return found, err
	case out.Looked == prompts.LookedFailed:
		return found, w.out.Warn(prompts.Unlooked(q.lang))
	case out.Result == nil:
		return found, nil
	}
	if !out.Own {
		found.read = []string{out.Result.Server}
		a.watch(w)
	}
	found.results, found.ordered = a.disarmed(w, []schemas.ToolResult{*out.Result})
	if found.ordered {
		a.doubt(w)
	}
	return found, nil
}

// needs is what of the conversation a message leans on, which may begin it: as the guardrail of
// the assistant's topic reads it, else from general signs.
func (a *Agent) needs(w task, text string, begins bool) guardrail.Needs {
	if w.guard != nil {
		return w.guard.Needs(text, begins)
	}
	return guardrail.NeedsOf(text, begins)
}

// subject is the last question of the conversation that stands alone: the one that is
// kept with it, else as its exchanges tell.
func (a *Agent) subject(w task, past recalled) string {
	if past.subject != "" {
		return past.subject
	}
	subject := ""
	for i, x := range past.exchanges {
		subject = a.needs(w, x.Question, i == 0 && past.summary == "").Subject(x.Question, subject)
	}
	return subject
}
