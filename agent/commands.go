package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/schemas"
	"molar/toolhandler"
)

// Prompts are the prompts of the attached servers, which people use as "/name".
type Prompts interface {
	// Prompts lists the prompts of the servers that are ready for who asks, by server and name.
	Prompts(ctx context.Context, who schemas.Caller) []schemas.Prompt
	// Prompt returns the messages of one, of role user or assistant. It may read the owner's
	// conversations.
	Prompt(ctx context.Context, who schemas.Caller, owner, server, name string, args map[string]string) ([]schemas.Message, error)
}

// Prompts lists the prompts that a question of who asks may name.
func (a *Agent) Prompts(ctx context.Context, who schemas.Caller) []schemas.Prompt {
	if a.cfg.Prompts == nil {
		return nil
	}
	return a.cfg.Prompts.Prompts(ctx, who)
}

// PromptsOf lists those of them that an assistant has a use for: the host's own, and those of servers whose
// tools it may call. "" is the default assistant.
func (a *Agent) PromptsOf(ctx context.Context, who schemas.Caller, assistant string) []schemas.Prompt {
	chosen, ok := a.assistants[cmp.Or(assistant, a.cfg.Default)]
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.Prompts(ctx, who)), func(p schemas.Prompt) bool {
		return p.Server != schemas.MemoryServer && p.Server != schemas.ToolServer && !offer.Globs(chosen.Tools).MayNeed(p.Server)
	})
}

// expand replaces a question such as "/record 42" by the text of the prompt. A slash word that
// names no prompt is an ordinary question. The typed text is saved; the guardrail judges it
// together with the prompt's text, as both would be answered. No model is called before the
// arguments are complete.
func (a *Agent) expand(ctx context.Context, w *task, q question) (question, error) {
	name, rest, ok := Split(q.asked)
	if !ok || a.cfg.Prompts == nil {
		return q, nil
	}
	// The prompts of servers that are starting are not known yet.
	a.tools.Await(ctx, a.tools.Starting(func(string) bool { return true })...)
	theirs := slices.DeleteFunc(a.cfg.Prompts.Prompts(ctx, w.caller()), func(p schemas.Prompt) bool { return !w.turn.mayNeed(p.Server) })
	matches := Named(theirs, name)
	if len(matches) == 0 {
		return q, ctx.Err()
	}
	if len(matches) > 1 {
		q.reply = func(lang string) string { return prompts.Ambiguous(lang, name, matches) }
		return q, nil
	}
	prompt := matches[0]
	args, extra := Arguments(prompt, rest)
	if missing := Missing(prompt, args); len(missing) > 0 {
		q.reply = func(lang string) string { return prompts.Missing(lang, prompt, missing) }
		return q, nil
	}
	messages, err := a.cfg.Prompts.Prompt(ctx, w.caller(), w.turn.Owner, prompt.Server, prompt.Name, args)
	if ctx.Err() != nil {
		return q, ctx.Err()
	}
	if err != nil {
		a.log.Warn("a prompt could not be used", "turn", w.turn.ID, "server", prompt.Server, "prompt", prompt.Name, "error", err)
		q.reply = func(lang string) string { return prompts.Unusable(lang, prompt) }
		return q, nil
	}
	w.out.Mark("1.3", "Prompt of a server", "server", prompt.Server, "prompt", prompt.Name)
	return q.withPrompt(w, prompt, args, messages, rest, extra), nil
}

// withPrompt returns the question with a prompt's messages. Under a topic they are fenced as data;
// a server never speaks as the system or the assistant.
func (q question) withPrompt(w *task, prompt schemas.Prompt, args map[string]string, messages []schemas.Message, rest, extra string) question {
	text := joinTexts(messages)
	q.server, q.read = prompt.Server, append(q.read, toolhandler.Reading{Origin: w.catalogue.Named(prompt.Server, args), Text: text})
	if q.lang, q.langSure = subject.Detect(rest, ""); !q.langSure {
		q.lang, _ = subject.Detect(text, "")
	}
	parts := slices.DeleteFunc(slices.Clone(q.message.Parts), func(p schemas.Part) bool { return p.Kind == schemas.PartText })
	if w.guard != nil {
		parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: q.typed},
			prompts.Prepared(w.voice(q.lang).Labels, prompt, messages))
		q.asked = q.typed + "\n" + text
	} else {
		q.asked = strings.TrimSpace(text + "\n\n" + extra)
		parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: q.asked})
	}
	q.message = schemas.Message{Role: schemas.RoleUser, Parts: parts}
	return q
}

// joinTexts joins the texts of messages.
func joinTexts(messages []schemas.Message) string {
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.Said())
	}
	return strings.Join(texts, "\n\n")
}
