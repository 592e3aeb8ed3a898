package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/internal/cli"
	"molar/mcpclients"
	"molar/schemas"
)

// completeWait limits the requests to servers while a person waits for Tab.
const completeWait = 2 * time.Second

// complete proposes commands and prompts after "/" at the start, known arguments, and files
// and resources after "@".
func (s *session) complete(before string) (start int, proposals []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completeWait)
	defer cancel()
	start = strings.LastIndexAny(before, " \t\n") + 1
	word := before[start:]
	switch {
	case strings.HasPrefix(word, "@"):
		return start, cli.Having(word, s.resourceWords(ctx, word))
	case start == 0 && strings.HasPrefix(word, "/"):
		return start, cli.Having(word, s.slashWords(ctx))
	case strings.HasPrefix(before, "/"):
		name, typed, _ := strings.Cut(before[1:], " ")
		if name == "file" {
			return start, cli.Having(word, paths(word))
		}
		if words := s.argumentWords(ctx, name); words != nil {
			return start, cli.Having(word, words)
		}
		return start, cli.Having(word, s.promptWords(ctx, name, typed))
	}
	return start, nil
}

func (s *session) slashWords(ctx context.Context) []string {
	var words []string
	for _, c := range s.commands() {
		words = append(words, "/"+c.name)
	}
	for _, p := range s.h.Agent.Prompts(ctx, operator()) {
		words = append(words, "/"+p.Name)
	}
	return words
}

func (s *session) argumentWords(ctx context.Context, command string) []string {
	var words []string
	switch command {
	case "assistant":
		for _, as := range s.h.Agent.Assistants() {
			words = append(words, as.Name)
		}
	case "model":
		words = s.models(ctx)
	case "approvals":
		all, _ := s.grants.ListGrants(ctx, "")
		for _, g := range all {
			words = append(words, g.Subject())
		}
		words = append(words, "clear")
	case "resume":
		list, _ := s.h.Recent(ctx, RecentCount)
		for _, c := range list {
			words = append(words, c.ID)
		}
	}
	return words
}

// promptWords returns the completions of the current argument of a server's prompt: its
// values, or the names of all arguments if it is empty.
func (s *session) promptWords(ctx context.Context, name, typed string) []string {
	found := agent.Named(s.h.Agent.Prompts(ctx, operator()), name)
	if len(found) != 1 || len(found[0].Arguments) == 0 {
		return nil
	}
	p := found[0]
	last := strings.LastIndexAny(typed, " \t\n") + 1
	before, word := strings.Fields(typed[:last]), typed[last:]
	asked := mcpclients.Typed{Prompt: p.Name, Value: word, Argument: p.Arguments[min(len(before), len(p.Arguments)-1)].Name}
	key, value, named := strings.Cut(word, "=")
	isKey := func(a schemas.PromptArgument) bool { return a.Name == key }
	if named = named && slices.ContainsFunc(p.Arguments, isKey); named {
		asked.Argument, asked.Value = key, value
	}
	asked.Others, _ = agent.Arguments(p, strings.Join(before, " "))
	delete(asked.Others, asked.Argument)
	words := s.h.MCP.Complete(ctx, operator(), p.Server, asked)
	for i := range words {
		if named {
			words[i] = key + "=" + words[i]
		}
	}
	if word == "" || !named {
		for _, a := range p.Arguments {
			words = append(words, a.Name+"=")
		}
	}
	return words
}

// resourceWords returns the servers, and after "@server:" its resources, and completions from
// its resource templates.
func (s *session) resourceWords(ctx context.Context, word string) []string {
	var words []string
	server, typed, named := strings.Cut(word[1:], ":")
	if !named {
		for _, name := range s.serverNames() {
			words = append(words, "@"+name+":")
		}
		for _, path := range paths(word[1:]) {
			words = append(words, "@"+path)
		}
		return words
	}
	if !slices.Contains(s.serverNames(), server) {
		return nil
	}
	for _, uri := range s.h.MCP.Resources(ctx, operator(), server) {
		words = append(words, "@"+server+":"+uri)
	}
	for _, t := range s.h.MCP.Templates(ctx, operator(), server) {
		place, fits := Find(t, typed)
		switch {
		case !fits:
		case place.Variable == "":
			words = append(words, "@"+server+":"+place.Done)
		default:
			asked := mcpclients.Typed{Template: t, Argument: place.Variable, Value: place.Value, Others: place.Others}
			for _, value := range s.h.MCP.Complete(ctx, operator(), server, asked) {
				words = append(words, "@"+server+":"+place.With(value))
			}
		}
	}
	return words
}

// serverNames returns the servers whose resources a question may name.
func (s *session) serverNames() []string {
	var names []string
	for _, status := range s.h.MCP.Status() {
		if status.State != schemas.StateDisabled && status.Name != schemas.ToolServer {
			names = append(names, status.Name)
		}
	}
	return names
}
