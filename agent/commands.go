package agent

import (
	"context"
	"slices"
	"strings"

	"molar/agent/language"
	"molar/agent/prompts"
	"molar/schemas"
)

// Prompts are the prompts of the attached servers, which people use as "/name".
type Prompts interface {
	// Prompts lists those of the servers that are ready, by server and name.
	Prompts(ctx context.Context) []schemas.Prompt
	// Prompt gives the messages of one, of role user or assistant.
	Prompt(ctx context.Context, server, name string, args map[string]string) ([]schemas.Message, error)
}

// Prompts lists the prompts that a question may name, for those who complete them.
func (a *Agent) Prompts(ctx context.Context) []schemas.Prompt {
	if a.cfg.Prompts == nil {
		return nil
	}
	return a.cfg.Prompts.Prompts(ctx)
}

// expand puts the text of a prompt in the place of a question such as "/record 42". A
// word behind a slash that names no prompt is an ordinary question. What the person
// typed is what is saved; the guardrail judges it together with the prompt's text, for
// that is what would be answered. No model is called before the arguments are whole.
func (r *run) expand(ctx context.Context) error {
	name, rest, ok := slashWord(r.asked)
	if !ok || r.a.cfg.Prompts == nil {
		return nil
	}
	r.awaitPrompts(ctx)
	found := named(r.a.cfg.Prompts.Prompts(ctx), name)
	if len(found) == 0 {
		return ctx.Err()
	}
	if len(found) > 1 {
		return r.explain(ctx, func(lang string) string { return prompts.Ambiguous(lang, name, found) })
	}
	prompt := found[0]
	args, extra := arguments(prompt, rest)
	if missing := missingArguments(prompt, args); len(missing) > 0 {
		return r.explain(ctx, func(lang string) string { return prompts.Missing(lang, prompt, missing) })
	}
	messages, err := r.a.cfg.Prompts.Prompt(ctx, prompt.Server, prompt.Name, args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.a.log.Warn("a prompt could not be used", "turn", r.turn.ID, "server", prompt.Server, "prompt", prompt.Name, "error", err)
		return r.explain(ctx, func(lang string) string { return prompts.Unusable(lang, prompt) })
	}
	r.usePrompt(prompt, messages, rest, extra)
	return nil
}

// usePrompt makes the question of a prompt's messages. Under a topic they are fenced
// as data; in no case does a server speak as the system or the assistant.
func (r *run) usePrompt(prompt schemas.Prompt, messages []schemas.Message, rest, extra string) {
	r.typed, r.prompted = r.asked, prompt.Server
	r.mark("1.3", "Prompt of a server", "server", prompt.Server, "prompt", prompt.Name)
	var asked []string
	for _, m := range messages {
		asked = append(asked, m.Said())
	}
	text := strings.Join(asked, "\n\n")
	parts := slices.DeleteFunc(slices.Clone(r.question.Parts), func(p schemas.Part) bool { return p.Kind == schemas.PartText })
	if r.assistant.Topic != "" {
		parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: r.typed},
			prompts.Prepared(r.lang, r.nonce, prompt, messages))
		r.asked = r.typed + "\n" + text
	} else {
		r.asked = strings.TrimSpace(text + "\n\n" + extra)
		parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: r.asked})
	}
	r.question = schemas.Message{Role: schemas.RoleUser, Parts: parts}
	if r.lang, r.langSure = language.Detect(rest, ""); !r.langSure {
		r.lang, _ = language.Detect(text, "")
	}
}

// said is what the person typed.
func (r *run) said() string {
	if r.typed != "" {
		return r.typed
	}
	return r.asked
}

// explain answers a prompt that cannot be used as it was typed. Like a refusal it is
// not saved.
func (r *run) explain(ctx context.Context, text func(lang string) string) error {
	if err := r.settleMemory(ctx); err != nil {
		return err
	}
	r.closed = true
	r.finish = "stop"
	if err := r.say(text(r.lang)); err != nil {
		return err
	}
	if err := r.report(ctx); err != nil {
		return err
	}
	return errRepeated
}

// awaitPrompts gives servers that are starting a moment: their prompts are not known
// before.
func (r *run) awaitPrompts(ctx context.Context) {
	var starting []string
	for _, s := range r.a.cfg.Tools.Status() {
		if s.State == schemas.StateStarting {
			starting = append(starting, s.Name)
		}
	}
	r.await(ctx, starting, r.a.cfg.Limits.AttachWait)
}

// slashWord splits "/name rest". Paths, dates and lone slashes are none.
func slashWord(text string) (name, rest string, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return "", "", false
	}
	name = text[1:]
	if end := strings.IndexAny(name, " \t\r\n"); end >= 0 {
		name, rest = name[:end], strings.TrimSpace(name[end:])
	}
	return name, rest, name != "" && !strings.Contains(name, "/")
}

// named returns the prompts that "/name" or "/server:name" may mean.
func named(all []schemas.Prompt, name string) []schemas.Prompt {
	var found []schemas.Prompt
	for _, p := range all {
		if p.Server+":"+p.Name == name {
			return []schemas.Prompt{p}
		}
		if p.Name == name {
			found = append(found, p)
		}
	}
	return found
}

// arguments reads what stands behind a prompt's name: "key=value" pairs when it begins
// with a key, else one word for each argument, the last taking the rest. extra is what
// a prompt without arguments leaves over.
func arguments(p schemas.Prompt, rest string) (args map[string]string, extra string) {
	args = make(map[string]string)
	if len(p.Arguments) == 0 {
		return args, rest
	}
	if _, ok := keyAt(p, rest); ok {
		for rest != "" {
			key, _ := keyAt(p, rest)
			value := rest[len(key)+1:]
			end := nextKey(p, value)
			args[key], rest = unquote(strings.TrimSpace(value[:end])), strings.TrimSpace(value[end:])
		}
		return args, ""
	}
	for i, a := range p.Arguments {
		if i == len(p.Arguments)-1 {
			args[a.Name] = unquote(rest)
			break
		}
		word := rest
		if end := strings.IndexAny(rest, " \t\r\n"); end >= 0 {
			word = rest[:end]
		}
		args[a.Name], rest = word, strings.TrimSpace(rest[len(word):])
	}
	for key, value := range args {
		if value == "" {
			delete(args, key)
		}
	}
	return args, ""
}

// keyAt returns the argument whose "name=" text begins with.
func keyAt(p schemas.Prompt, text string) (string, bool) {
	for _, a := range p.Arguments {
		if strings.HasPrefix(text, a.Name+"=") {
			return a.Name, true
		}
	}
	return "", false
}

// nextKey returns where the next "name=" begins behind a space, or the end.
func nextKey(p schemas.Prompt, text string) int {
	for i := 1; i < len(text); i++ {
		if _, ok := keyAt(p, text[i:]); ok && strings.ContainsRune(" \t\r\n", rune(text[i-1])) {
			return i
		}
	}
	return len(text)
}

func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func missingArguments(p schemas.Prompt, args map[string]string) []string {
	var missing []string
	for _, a := range p.Arguments {
		if a.Required && args[a.Name] == "" {
			missing = append(missing, a.Name)
		}
	}
	return missing
}
