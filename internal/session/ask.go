package session

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"molar/agent"
	"molar/internal/cli"
	"molar/internal/terminal"
)

// approver returns the approver for the tool calls of one question: nil without a person. in
// is their input.
func approver(a *cli.CLI, f Flags, in *bufio.Reader) agent.Approver {
	switch {
	case f.Yes:
		return yes{}
	case cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stderr):
		return &lineAsker{in: in, out: a.Stderr}
	}
	return nil
}

// yes approves everything, for --yes, but for what needs an approver: that is a person who looks at the
// call.
type yes struct{}

func (yes) Approve(_ context.Context, ask agent.Ask) (agent.Decision, error) {
	if len(ask.Tool.Rules.Approvers) > 0 {
		return agent.Decision{}, fmt.Errorf("--yes does not approve %q, which has approvers", ask.Tool.Name)
	}
	return agent.Decision{Allowed: true}, nil
}

// A lineAsker asks on a terminal that is not in raw mode.
type lineAsker struct {
	mu  sync.Mutex // one question at a time
	in  *bufio.Reader
	out io.Writer
}

func (l *lineAsker) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range approvalLines(ask) {
		_, _ = fmt.Fprintln(l.out, line)
	}
	for {
		_, _ = fmt.Fprint(l.out, choices(ask)+"? ")
		answer, err := l.line(ctx)
		if err != nil {
			return agent.Decision{}, err
		}
		answer = strings.ToLower(answer)
		if answer == "e" || answer == "edit" {
			if d, ok, err := l.edit(ctx, ask); ok || err != nil {
				return d, err
			}
		} else if d, said, known := chosenBy(ask, answer); known {
			_, _ = fmt.Fprintln(l.out, terminal.Clean(said))
			return d, nil
		}
	}
}

// edit reads other arguments; an empty line cancels.
func (l *lineAsker) edit(ctx context.Context, ask agent.Ask) (d agent.Decision, ok bool, err error) {
	_, _ = fmt.Fprint(l.out, "arguments: ")
	text, err := l.line(ctx)
	if err != nil || text == "" {
		return d, false, err
	}
	if err := ask.Check(text); err != nil {
		_, _ = fmt.Fprintln(l.out, terminal.Clean("these do not fit: "+err.Error()))
		return d, false, nil
	}
	return agent.Decision{Allowed: true, Arguments: text}, true, nil
}

// line reads a line, or fails when ctx ends.
func (l *lineAsker) line(ctx context.Context) (string, error) {
	line, err := cli.ReadLine(ctx, l.in)
	if err != nil {
		return "", fmt.Errorf("ask for approval: %w", err)
	}
	return line, nil
}

// approvalLines returns the question to the person, without the choices.
func approvalLines(ask agent.Ask) []string {
	said := agent.Explain(ask)
	lines := []string{
		"? " + said.What,
		"  " + said.Why,
		"  " + said.Where,
		"  " + ask.Tool.Name + " " + shortenMiddle(agent.ShownArguments(ask)),
	}
	if len(ask.Scopes) > 1 {
		lines = append(lines, "  beyond this call: "+shortenMiddle(reachOf(ask, 0)))
		for i := 1; i < len(ask.Destinations); i++ {
			lines = append(lines, fmt.Sprintf("  or wider, with %d behind the letter: %s", i+1, shortenMiddle(reachOf(ask, i))))
		}
	}
	for i := range lines {
		lines[i] = terminal.Clean(lines[i])
	}
	return lines
}

// shortenMiddle shortens a text in its middle, so that the approver sees its end.
func shortenMiddle(text string) string {
	const head, tail = 2000, 1000
	runes := []rune(text)
	left := len(runes) - head - tail
	if left <= 0 {
		return text
	}
	return fmt.Sprintf("%s … %d more characters … %s", string(runes[:head]), left, string(runes[len(runes)-tail:]))
}
