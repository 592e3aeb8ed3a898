package run

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
)

// proposeChecks writes checks of the answers into a recorded case: those that --take chooses, or the person
// at the terminal; if nobody chooses, all of them as comments. The recording is read from its tape, where
// secrets are redacted.
func (a *Commands) proposeChecks(file, take string, redactor *tape.Redactor) error {
	cases, err := eval.Load(file)
	if err != nil {
		return evalError(err)
	}
	c := cases[0]
	t, err := c.ReadTape()
	if err != nil {
		return evalError(err)
	}
	all := slices.DeleteFunc(eval.Propose(t.Turns), func(p eval.Proposal) bool {
		e := c.Turns[p.Turn].Expect // a turn that expects nothing only leads to another
		return e.Answer != nil && len(e.Answer.All) > 0 || e.Error != "" || e.Calls == nil && !e.NoCall
	})
	if len(all) == 0 {
		return nil
	}
	a.Say("checks of the answer that the results of the tools propose:")
	for i, p := range all {
		a.Say("%3d  turn %d, %s", i+1, p.Turn+1, eval.Clean(p.String()))
	}
	chosen, decided, err := a.chooseChecks(len(all), take)
	unknown := err // with --take: the proposals are kept as comments
	comments := make(yaml.CommentMap)
	for i, p := range all {
		if decided && !chosen.has(i+1) {
			continue
		}
		e := &c.Turns[p.Turn].Expect
		if e.Answer == nil {
			e.Answer = &eval.Answer{}
		}
		e.Answer.All = append(e.Answer.All, p.Check)
		kind := "contains"
		if p.Check.Number != nil {
			kind = "number"
		}
		comments[fmt.Sprintf("$.turns[%d].expect.answer.all[%d].%s", p.Turn, len(e.Answer.All)-1, kind)] = []*yaml.Comment{yaml.LineComment(" " + p.From)}
	}
	data, err := caseText(c, yaml.WithComment(comments))
	if err != nil {
		return err
	}
	if !decided {
		a.Say("they are in the case as comments: uncomment what a good answer must contain, or choose with --take")
		if data, err = commentAnswers(data, c.Turns, all); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.File, []byte(redactor.Text(string(data))), 0o600); err != nil {
		return cli.Usage(err)
	}
	if unknown != nil {
		return cli.Usage(fmt.Errorf("--take: %w; %s is written, with all of them as comments", unknown, c.File))
	}
	return nil
}

// chooseChecks returns which of n proposals to take. Decided is false if there is neither --take nor a terminal.
func (a *Commands) chooseChecks(n int, take string) (chosen choices, decided bool, err error) {
	if take != "" {
		chosen, err = parseChoices(take, n)
		return chosen, err == nil, err
	}
	if !cli.IsTerminal(a.Stdin) || !cli.IsTerminal(a.Stderr) {
		return nil, false, nil
	}
	in := bufio.NewReader(a.Stdin)
	for {
		_, _ = fmt.Fprint(a.Stderr, "take which (all, none, or numbers such as 1,3-4)? ")
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, true, nil // the input ended: none
		}
		if chosen, err = parseChoices(strings.TrimSpace(line), n); err == nil {
			return chosen, true, nil
		}
		a.Note("%s", err)
	}
}

// choices are ranges of numbers from 1.
type choices [][2]int

func (c choices) has(n int) bool {
	return slices.ContainsFunc(c, func(r [2]int) bool { return r[0] <= n && n <= r[1] })
}

// mostChoices bounds the numbers of --take before it is known how many proposals there are.
const mostChoices = 999

// parseChoices parses all, none, or numbers and ranges up to n.
func parseChoices(s string, n int) (choices, error) {
	switch s {
	case "all":
		return choices{{1, n}}, nil
	case "none":
		return nil, nil
	}
	var all choices
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(first)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 1 || to < from || to > n {
			if n == mostChoices {
				return nil, fmt.Errorf("%q: choose all, none, or numbers such as 1,3-4", s)
			}
			return nil, fmt.Errorf("%q: choose all, none, or numbers from 1 to %d such as 1,3-4", s, n)
		}
		all = append(all, [2]int{from, to})
	}
	return all, nil
}

// commentAnswers turns the proposed checks in a case's text into comments, but no check of a judge beside them.
func commentAnswers(data []byte, turns []eval.Turn, proposed []eval.Proposal) ([]byte, error) {
	lines := strings.SplitAfter(string(data), "\n")
	indent := func(i int) int { return len(lines[i]) - len(strings.TrimLeft(lines[i], " ")) }
	for i, turn := range turns {
		if !slices.ContainsFunc(proposed, func(p eval.Proposal) bool { return p.Turn == i }) {
			continue
		}
		key := 2 // the lines from that with all to the first item, from 0
		if turn.Expect.Answer.Check == (eval.Check{}) {
			key = 3 // from that with answer, which holds nothing else
		}
		path, err := yaml.PathString(fmt.Sprintf("$.turns[%d].expect.answer.all", i))
		if err != nil {
			return nil, err
		}
		node, err := path.ReadNode(bytes.NewReader(data))
		all, ok := node.(*ast.SequenceNode)
		if err != nil || !ok || len(all.Values) == 0 {
			return nil, errors.Join(err, fmt.Errorf("turn %d: the checks cannot be found in the case", i+1))
		}
		from := all.Values[0].GetToken().Position.Line - key
		column := indent(from)
		for j := from; j < len(lines) && (j == from || indent(j) > column); j++ {
			lines[j] = lines[j][:column] + "# " + lines[j][column:]
		}
	}
	return []byte(strings.Join(lines, "")), nil
}
