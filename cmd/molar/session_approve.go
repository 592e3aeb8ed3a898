package main

import (
	"context"
	"strings"

	"molar/agent"
	"molar/internal/terminal"
)

// An approvalAsk is a call that waits for the person at the terminal.
type approvalAsk struct {
	ask    agent.Ask
	answer chan agent.Decision // holds one
}

// A sessionApprover brings the calls of a turn to the loop of the session.
type sessionApprover struct{ asks chan<- approvalAsk }

func (a sessionApprover) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	answer := make(chan agent.Decision, 1)
	select {
	case a.asks <- approvalAsk{ask, answer}:
	case <-ctx.Done():
		return agent.Decision{}, ctx.Err()
	}
	select {
	case d := <-answer:
		return d, nil
	case <-ctx.Done():
		return agent.Decision{}, ctx.Err()
	}
}

// approve asks the person. It is false when they stopped the turn instead.
func (s *session) approve(ctx context.Context, a approvalAsk) bool {
	name := a.ask.Tool.Name
	if s.always[name] {
		a.answer <- agent.Decision{Allowed: true}
		return true
	}
	for _, line := range approvalLines(a.ask) {
		s.lines(line, terminal.Bold)
	}
	for {
		s.lines("  [o]nce, [a]lways in this session, [e]dit the arguments, [n]o", same)
		switch s.choice(ctx, "oyaen") {
		case "o", "y":
			a.answer <- agent.Decision{Allowed: true}
		case "a":
			s.always[name] = true
			a.answer <- agent.Decision{Allowed: true}
		case "n":
			a.answer <- agent.Decision{}
		case "e":
			d, ok := s.editArguments(ctx, a.ask)
			if !ok {
				continue
			}
			a.answer <- d
		default:
			return false
		}
		return true
	}
}

// choice waits for one of the letters; "" means Ctrl-C, or that nobody waits any more.
// Keys that were typed before the question do not count.
func (s *session) choice(ctx context.Context, letters string) string {
	for {
		select {
		case key, ok := <-s.keys:
			letter := strings.ToLower(key.Text)
			switch {
			case !ok, key.Code == terminal.KeyInterrupt, key.Code == terminal.KeyEOF:
				return ""
			case key.Code == terminal.KeyRune && strings.Contains(letters, letter):
				return letter
			}
		case <-ctx.Done():
			return ""
		}
	}
}

// editArguments lets the person change the arguments until they fit. It is false when
// they empty the line or press Ctrl-C.
func (s *session) editArguments(ctx context.Context, ask agent.Ask) (agent.Decision, bool) {
	text := ask.Call.Function.Arguments
	for {
		s.ahead = nil
		s.editor.SetText(terminal.Clean(text))
		line, err := s.readLine(ctx, "arguments> ")
		if text = strings.TrimSpace(line); err != nil || text == "" {
			return agent.Decision{}, false
		}
		err = ask.Check(text)
		if err == nil {
			return agent.Decision{Allowed: true, Arguments: text}, true
		}
		s.lines("  these do not fit: "+err.Error(), terminal.Dim)
	}
}
