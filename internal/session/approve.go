package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

const (
	// answerQuiet is for how long nothing may have been typed before what is typed counts as
	// an answer: until then it may be the rest of a sentence.
	answerQuiet = 500 * time.Millisecond
	// answerPrompt stands before an answer.
	answerPrompt = "  [o]nce, [a]lways to there in this session, [e]dit the arguments, [n]o, then Enter> "
)

// approve asks the person. It is false when they stopped the turn instead.
func (s *session) approve(ctx context.Context, a approvalAsk) bool {
	name := a.ask.Subject()
	if s.always[name] {
		a.answer <- agent.Decision{Allowed: true}
		return true
	}
	for _, line := range approvalLines(a.ask) {
		s.lines(line, terminal.Bold)
	}
	for {
		if !s.quiet(ctx) {
			return false
		}
		text, ok := s.readAside(ctx, answerPrompt)
		if !ok {
			return false
		}
		decision, chosen := agent.Decision{}, "refused"
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "":
			continue
		case "o", "once", "y", "yes":
			decision.Allowed, chosen = true, "allowed once"
		case "a", "always":
			s.always[name] = true
			decision.Allowed, chosen = true, "allowed in this session: "+name+"; /approvals takes it back"
		case "n", "no":
		case "e", "edit":
			if decision, ok = s.editArguments(ctx, a.ask); !ok {
				continue
			}
			chosen = "allowed once, with these arguments"
		default:
			s.ahead = append(s.ahead, terminal.Key{Code: terminal.KeyPaste, Text: text})
			s.lines("  this is no answer; it is kept for the next message", terminal.Dim)
			continue
		}
		s.lines("  "+chosen, terminal.Dim)
		a.answer <- decision
		return true
	}
}

// readAside reads a line that is not a message: what was typed before waits for the message
// line. It is false when the person pressed Ctrl-C or Ctrl-D, or when nobody waits for
// the line any more.
func (s *session) readAside(ctx context.Context, prompt string) (string, bool) {
	ahead := s.ahead
	s.ahead = nil
	line, err := s.readLine(ctx, prompt)
	s.ahead = append(ahead, s.ahead...)
	return line, err == nil
}

// quiet waits until nothing was typed for a while.
func (s *session) quiet(ctx context.Context) bool {
	pause := time.NewTimer(answerQuiet)
	defer pause.Stop()
	for {
		select {
		case key, ok := <-s.keys:
			if !ok || key.Code == terminal.KeyInterrupt || key.Code == terminal.KeyEOF {
				return false
			}
			s.typeAhead(key)
			pause.Reset(answerQuiet)
		case <-pause.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// typeAhead keeps a key for the message line.
func (s *session) typeAhead(key terminal.Key) {
	if len(s.ahead) < maxAhead {
		s.ahead = append(s.ahead, key)
	}
}

// approvals shows which tools run without a question in this session, or takes that back.
func (s *session) approvals(_ context.Context, name string) error {
	switch {
	case name == "clear":
		clear(s.always)
		s.say("every tool asks again")
	case s.always[name]:
		delete(s.always, name)
		s.lines(name+" asks again", same)
	case name != "":
		return fmt.Errorf("%s is not allowed for the session; /approvals lists what is", name)
	case len(s.always) == 0:
		s.say("no tool is allowed for the session")
	}
	if name == "" {
		for _, tool := range slices.Sorted(maps.Keys(s.always)) {
			s.lines("  "+tool, same)
		}
	}
	return nil
}

// editArguments lets the person change the arguments until they fit. It is false when
// they empty the line or press Ctrl-C.
func (s *session) editArguments(ctx context.Context, ask agent.Ask) (agent.Decision, bool) {
	text := ask.Call.Function.Arguments
	for {
		s.editor.SetText(terminal.Clean(text))
		line, ok := s.readAside(ctx, "arguments> ")
		if text = strings.TrimSpace(line); !ok || text == "" {
			return agent.Decision{}, false
		}
		err := ask.Check(text)
		if err == nil {
			return agent.Decision{Allowed: true, Arguments: text}, true
		}
		s.lines("  these do not fit: "+err.Error(), terminal.Dim)
	}
}
