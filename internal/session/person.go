package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/cli"
	"molar/internal/terminal"
	"molar/mcpclients"
	"molar/schemas"
)

// A reader is the person who asked one question and reads the answer.
type reader struct {
	in        *bufio.Reader
	questions *Asker // nil if no one can answer
	out       *renderer
}

func newReader(a *cli.CLI, in *bufio.Reader) *reader {
	r := &reader{in: in}
	if cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stderr) {
		r.questions = New(r.in, a.Stderr)
	}
	return r
}

// elicitor is nil to tell servers that no one can be asked.
func (r *reader) elicitor() mcpclients.Elicitor {
	if r.questions == nil {
		return nil
	}
	return r.questions.Ask
}

func (r *reader) Answer(ctx context.Context, q agent.Question) (schemas.Answer, error) {
	if r.questions == nil {
		return schemas.Answer{}, errors.New("nobody is there to answer")
	}
	return r.questions.Ask(ctx, q.Question)
}

// OnNews shows a server's message, in the format that shows all events.
func (r *reader) OnNews(n schemas.News) {
	kind := answer.KindProgress
	if n.Level != "" {
		kind = answer.KindLog
	}
	_ = r.out.event(answer.Event{Kind: kind, News: &n}) // the turn notices a closed output
}

// A questionAsk is a server's question for the person at the terminal.
type questionAsk struct {
	ask    agent.Question
	answer chan schemas.Answer // buffer of one
}

// A sessionPerson passes servers' questions and messages to the loop of the session.
type sessionPerson struct {
	wants chan<- questionAsk
	notes chan<- string
}

func (p sessionPerson) Answer(ctx context.Context, q agent.Question) (schemas.Answer, error) {
	answer := make(chan schemas.Answer, 1)
	return sendAndWait(ctx, p.wants, questionAsk{q, answer}, answer)
}

// OnNews passes a server's message to the loop; it drops the message if the buffer is full.
func (p sessionPerson) OnNews(n schemas.News) {
	select {
	case p.notes <- newsLine(n):
	default:
	}
}

// newsLine returns a server's message as one line.
func newsLine(n schemas.News) string {
	switch {
	case n.Level != "":
		return n.Server + ", " + n.Level + ": " + n.Text
	case n.Total > 0:
		return fmt.Sprintf("%.0f %% %s", 100*n.Progress/n.Total, n.Text)
	}
	return fmt.Sprintf("%g %s", n.Progress, n.Text)
}

// answer asks the person a server's question. It returns false if they stopped the turn
// instead.
func (s *session) answer(ctx context.Context, want questionAsk) bool {
	if !s.quiet(ctx) {
		return false
	}
	q := Asker{
		Show: func(text string) { s.lines(text, terminal.Bold) },
		Read: func(ctx context.Context, prompt string) (string, error) {
			text, ok := s.readAside(ctx, "  "+terminal.Clean(prompt)+" ", "")
			if !ok {
				return "", errBack
			}
			return text, nil
		},
	}
	a, err := q.Ask(ctx, want.ask.Question)
	if err != nil {
		return false
	}
	s.lines("  "+map[string]string{schemas.ActionAccept: "answered", schemas.ActionDecline: "declined"}[a.Action], terminal.Dim)
	want.answer <- a
	return true
}

// Questions returns what answers servers at this terminal; nil if no one can.
func Questions(a *cli.CLI) mcpclients.Elicitor {
	return newReader(a, bufio.NewReader(a.Stdin)).elicitor()
}
