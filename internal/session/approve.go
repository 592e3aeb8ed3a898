package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"molar/agent"
	"molar/internal/terminal"
	"molar/schemas"
)

// An approvalAsk is a tool call that waits for the approval of the person at the terminal.
type approvalAsk struct {
	ask    agent.Ask
	answer chan agent.Decision // buffer of one
}

// A sessionApprover passes a turn's pending calls to the loop of the session.
type sessionApprover struct{ asks chan<- approvalAsk }

func (a sessionApprover) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	answer := make(chan agent.Decision, 1)
	return sendAndWait(ctx, a.asks, approvalAsk{ask, answer}, answer)
}

// sendAndWait sends a question to the loop and waits for the answer.
func sendAndWait[Q, A any](ctx context.Context, to chan<- Q, question Q, answer <-chan A) (a A, err error) {
	select {
	case to <- question:
	case <-ctx.Done():
		return a, ctx.Err()
	}
	select {
	case a = <-answer:
		return a, nil
	case <-ctx.Done():
		return a, ctx.Err()
	}
}

// answerQuiet is how long nothing must be typed before a key counts as an answer: until then
// it may be the rest of a sentence.
const answerQuiet = 500 * time.Millisecond

// A grantStore stores the person's standing permissions.
type grantStore interface {
	GrantsOf(ctx context.Context, owner, conversation string) ([]schemas.Grant, error)
	ListGrants(ctx context.Context, owner string) ([]schemas.Grant, error)
	DeleteGrant(ctx context.Context, owner, id string) (bool, error)
}

// approve asks the person. It returns false if they stopped the turn instead.
func (s *session) approve(ctx context.Context, a approvalAsk) bool {
	if given, err := s.grants.GrantsOf(ctx, "", s.f.Conversation); err == nil && agent.Granted(given, a.ask) {
		a.answer <- agent.Decision{Allowed: true} // a concurrent call was allowed meanwhile
		return true
	}
	s.notice(terminal.Approval, "May this run?", strings.TrimPrefix(strings.Join(approvalLines(a.ask), "\n"), "? "))
	for {
		if !s.quiet(ctx) {
			return false
		}
		text, ok := s.readAside(ctx, "  "+choices(a.ask)+", then Enter> ", "")
		if !ok {
			return false
		}
		answer := strings.ToLower(strings.TrimSpace(text))
		decision, chosen, known := chosenBy(a.ask, answer)
		switch {
		case answer == "":
			continue
		case answer == "e" || answer == "edit":
			if decision, ok = s.editArguments(ctx, a.ask); !ok {
				continue
			}
			chosen = "allowed once, with these arguments"
		case !known:
			s.editor.Key(terminal.Key{Code: terminal.KeyPaste, Text: text})
			s.lines("  this is not an answer to the question; it is kept for the next message", terminal.Dim)
			continue
		}
		s.lines("  "+chosen, terminal.Dim)
		a.answer <- decision
		return true
	}
}

// choices returns the accepted answers to a question.
func choices(ask agent.Ask) string {
	all := "[o]nce, "
	if slices.Contains(ask.Scopes, agent.InConversation) {
		all += "in this [c]onversation, "
	}
	if slices.Contains(ask.Scopes, agent.Always) {
		all += "[a]lways, "
	}
	all += "[e]dit the arguments, [n]o"
	if len(ask.Scopes) > 1 && len(ask.Destinations) > 1 {
		all += "; c 2 or a 2 for what is wider"
	}
	return all
}

// chosenBy returns the decision for an answer, and its text for the person. The number of a wider
// destination may follow the scope: "a 2".
func chosenBy(ask agent.Ask, answer string) (d agent.Decision, said string, known bool) {
	lasts := func(scope agent.Scope, how string, to int) (agent.Decision, string, bool) {
		d := agent.Decision{Allowed: true, Scope: scope}
		if to > 0 {
			d.Destination = ask.Destinations[to].ID
		}
		return d, "allowed " + how + ": " + reachOf(ask, to) + "; /approvals takes it back", slices.Contains(ask.Scopes, scope)
	}
	to := 0
	if letters := strings.TrimRight(answer, "0123456789"); letters != answer {
		n, err := strconv.Atoi(answer[len(letters):])
		if answer = strings.TrimSpace(letters); err != nil || n < 1 || n > len(ask.Destinations) {
			return d, "", false
		}
		to = n - 1
	}
	switch answer {
	case "n", "no":
		return d, "refused", true
	case "o", "once", "y", "yes":
		return agent.Decision{Allowed: true}, "allowed once", to == 0
	case "c", "conversation":
		return lasts(agent.InConversation, "in this conversation", to)
	case "a", "always":
		return lasts(agent.Always, "always", to)
	}
	return d, "", false
}

// readAside reads a line that is not a message, from a text that can be changed. What was typed of the
// next message is put aside meanwhile. It returns false if the person pressed Ctrl-C or Ctrl-D, or if
// the line is no longer needed.
func (s *session) readAside(ctx context.Context, prompt, text string) (string, bool) {
	typing := s.editor.PutAside()
	s.aside = true
	defer func() {
		s.aside = false
		s.editor.SetPrompt(promptMark)
		s.editor.Restore(typing)
		s.editor.SetBusy(true)
	}()
	s.editor.SetText(text)
	line, err := s.readLine(ctx, prompt)
	return line, err == nil
}

// quiet waits until nothing was typed for answerQuiet.
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
			if s.editor.Paint() != nil {
				return false
			}
			pause.Reset(answerQuiet)
		case f := <-s.finds:
			s.keep(f)
		case <-pause.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// approvals lists the standing permissions, or revokes one.
func (s *session) approvals(ctx context.Context, subject string) error {
	all, err := s.grants.ListGrants(ctx, "")
	if err != nil {
		return err
	}
	if len(all) == 0 && (subject == "" || subject == "clear") {
		s.say("nothing is allowed beyond a single call")
		return nil
	}
	found := false
	for _, g := range all {
		switch subject {
		case "":
			s.lines("  "+g.Subject()+" ("+s.reach(g)+")", same)
		case "clear", g.Subject():
			if _, err := s.grants.DeleteGrant(ctx, "", g.ID); err != nil {
				return err
			}
			s.lines(g.Subject()+" asks again ("+s.reach(g)+")", same)
		default:
			continue
		}
		found = true
	}
	if !found {
		return fmt.Errorf("%q is not allowed; /approvals lists what is", subject)
	}
	return nil
}

// reach returns where a permission applies.
func (s *session) reach(g schemas.Grant) string {
	switch g.ConversationID {
	case "":
		return "always"
	case s.f.Conversation:
		return "in this conversation"
	}
	return "in the conversation " + g.ConversationID
}

// editArguments lets the person change the arguments until they fit. It returns false if they
// empty the line or press Ctrl-C.
func (s *session) editArguments(ctx context.Context, ask agent.Ask) (agent.Decision, bool) {
	text := ask.Call.Function.Arguments
	for {
		line, ok := s.readAside(ctx, "arguments> ", terminal.Clean(text))
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

// reachOf describes what a lasting approval of a call covers: its own destination, or a wider one by
// its position.
func reachOf(ask agent.Ask, to int) string {
	if to >= len(ask.Destinations) {
		return ask.Tool.Name
	}
	return ask.Destinations[to].Grant(ask.Tool.Name, "").Subject()
}
