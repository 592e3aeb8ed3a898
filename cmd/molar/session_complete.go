package main

import (
	"context"
	"slices"
	"strings"
	"time"
)

// completeWait bounds what is asked of servers while a person waits for Tab.
const completeWait = 2 * time.Second

// complete proposes commands and prompts behind "/" at the start, the arguments that
// are known, and resources behind "@".
func (s *session) complete(before string) (start int, proposals []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completeWait)
	defer cancel()
	start = strings.LastIndexAny(before, " \t\n") + 1
	word := before[start:]
	switch {
	case strings.HasPrefix(word, "@"):
		return start, having(word, s.resourceWords(ctx, word))
	case start == 0 && strings.HasPrefix(word, "/"):
		return start, having(word, s.slashWords(ctx))
	case strings.HasPrefix(before, "/"):
		name, _, _ := strings.Cut(before[1:], " ")
		return start, having(word, s.argumentWords(ctx, name))
	}
	return start, nil
}

func (s *session) slashWords(ctx context.Context) []string {
	var words []string
	for _, c := range s.commands() {
		words = append(words, "/"+c.name)
	}
	for _, p := range s.h.agent.Prompts(ctx) {
		words = append(words, "/"+p.Name)
	}
	return words
}

func (s *session) argumentWords(ctx context.Context, command string) []string {
	var words []string
	switch command {
	case "assistant":
		for _, as := range s.h.agent.Assistants() {
			words = append(words, as.Name)
		}
	case "model":
		words = s.models(ctx)
	case "resume":
		list, _ := s.h.recent(ctx, recentCount)
		for _, c := range list {
			words = append(words, c.ID)
		}
	}
	return words
}

// resourceWords are the servers, and behind "@server:" its resources.
func (s *session) resourceWords(ctx context.Context, word string) []string {
	var words []string
	server, _, named := strings.Cut(word[1:], ":")
	if !named {
		for _, name := range s.serverNames() {
			words = append(words, "@"+name+":")
		}
		return words
	}
	if !slices.Contains(s.serverNames(), server) {
		return nil
	}
	for _, uri := range s.h.mcp.Resources(ctx, server) {
		words = append(words, "@"+server+":"+uri)
	}
	return words
}

// having are the words that begin with a start, sorted, each once.
func having(start string, words []string) []string {
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, start) })
	slices.Sort(words)
	return slices.Compact(words)
}
