package run

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "github.com/goccy/go-yaml"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
)

// proposeChecks writes checks of the answers into a recorded case: those that --take chooses, or the person
// at the terminal; if nobody chooses, or --take is wrong, all of them as comments. The recording is read from
// its tape, where secrets are redacted.
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
	chosen, decided, wrong := a.chooseChecks(len(all), take)
	comments := make(yaml.CommentMap)
	for i, p := range all {
		e := &c.Turns[p.Turn].Expect
		data, err := yaml.Marshal(p.Check)
		if err != nil {
			return err
		}
		check := strings.TrimSpace(string(data)) // such as contains: Nguyen Van A
		switch {
		case !decided:
			at, head, indent := "calls", []string{" answer:", "   all:"}, "     " // the comments go before that key
			switch {
			case e.Answer != nil && e.Answer.Judge != "": // beside a judge's check
				at, head, indent = "answer.judge", []string{" all:"}, "   "
			case e.Answer != nil:
				at, head, indent = "answer.grounded", []string{" all:"}, "   "
			case e.Calls == nil:
				at = "no_call"
			}
			path := fmt.Sprintf("$.turns[%d].expect.%s", p.Turn, at)
			if comments[path] == nil {
				comments[path] = []*yaml.Comment{yaml.HeadComment(head...)}
			}
			comments[path][0].Texts = append(comments[path][0].Texts, indent+"- "+check+" # "+p.From)
		case slices.Contains(chosen, i+1):
			if e.Answer == nil {
				e.Answer = &eval.Answer{}
			}
			kind, _, _ := strings.Cut(check, ":")
			path := fmt.Sprintf("$.turns[%d].expect.answer.all[%d].%s", p.Turn, len(e.Answer.All), kind)
			e.Answer.All = append(e.Answer.All, p.Check)
			comments[path] = []*yaml.Comment{yaml.LineComment(" " + p.From)}
		}
	}
	if !decided {
		a.Say("they are in the case as comments: uncomment what a good answer must contain, or choose with --take")
	}
	if err := writeCase(c, redactor, yaml.WithComment(comments)); err != nil {
		return err
	}
	if wrong != nil {
		return cli.Usage(fmt.Errorf("--take: %w; %s is written, with all of them as comments", wrong, c.File))
	}
	return nil
}

// chooseChecks returns which of n proposals to take. Decided is false if there is neither --take nor a terminal.
func (a *Commands) chooseChecks(n int, take string) (chosen []int, decided bool, err error) {
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

// mostChoices bounds the numbers of --take before it is known how many proposals there are.
const mostChoices = 999

// parseChoices parses all, none, or numbers and ranges from 1 to n.
func parseChoices(s string, n int) ([]int, error) {
	switch s {
	case "all":
		s = fmt.Sprintf("1-%d", n)
	case "none":
		return nil, nil
	}
	var all []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 1 || to < from || to > n {
			if n == mostChoices {
				return nil, fmt.Errorf("%q: choose all, none, or numbers such as 1,3-4", s)
			}
			return nil, fmt.Errorf("%q: choose all, none, or numbers from 1 to %d such as 1,3-4", s, n)
		}
		for ; from <= to; from++ {
			all = append(all, from)
		}
	}
	return all, nil
}
