package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molar/agent"
	"molar/schemas"
)

// resources reads what the "@server:uri" words of a question name. A word whose first
// part is no server is an ordinary word.
func (s *session) resources(ctx context.Context, text string) ([]agent.Attachment, error) {
	var attached []agent.Attachment
	for word := range strings.FieldsSeq(text) {
		server, uri, ok := s.resourceWord(word)
		if !ok || slices.ContainsFunc(attached, func(a agent.Attachment) bool { return a.Server == server && a.Name == uri }) {
			continue
		}
		content, err := s.h.mcp.Resource(ctx, server, uri)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; the question was not asked", word, err)
		}
		attached = append(attached, agent.Attachment{Name: uri, Server: server, Text: content})
	}
	return attached, nil
}

// resourceWord splits "@server:uri".
func (s *session) resourceWord(word string) (server, uri string, ok bool) {
	word, ok = strings.CutPrefix(strings.TrimRight(word, ".,;!?)"), "@")
	if !ok {
		return "", "", false
	}
	server, uri, ok = strings.Cut(word, ":")
	return server, uri, ok && uri != "" && slices.Contains(s.serverNames(), server)
}

func (s *session) serverNames() []string {
	var names []string
	for _, status := range s.h.mcp.Status() {
		if status.State != schemas.StateDisabled {
			names = append(names, status.Name)
		}
	}
	return names
}
