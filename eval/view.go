package eval

import (
	"bytes"
	"encoding/json"
	"strings"

	"molar/eval/match"
)

// A caseView is a case as the page shows it. In a case that did not pass exactly one item is
// marked as the first cause.
type caseView struct {
	*CaseResult
	Anchor       string // its id on the page
	Took, Tagged string
	Open         bool
	Turns        []turnView
	// UnmatchedChecks are failed checks of turns that did not happen.
	UnmatchedChecks []CheckResult
	// Outcomes describes how the runs compare with the tape.
	Outcomes string
}

// A changeView is what differs between the calls of the tape and now, or the turn of the next ones.
type changeView struct {
	Turn   string
	Pieces []match.Piece
}

// changesOf puts the removed and added lines of a diff side by side, see [Changed].
func changesOf(lines []string) []changeView {
	var all []changeView
	var was, now []string
	flush := func() {
		for i := range max(len(was), len(now)) {
			var a, b string
			if i < len(was) {
				a = was[i]
			}
			if i < len(now) {
				b = now[i]
			}
			all = append(all, changeView{Pieces: compare(a, b)})
		}
		was, now = nil, nil
	}
	for _, line := range lines {
		switch kind, text := line[:1], strings.TrimSpace(line[1:]); kind {
		case string(match.Was):
			was = append(was, text)
		case string(match.Now):
			now = append(now, text)
		default:
			flush()
			all = append(all, changeView{Turn: Clean(text)})
		}
	}
	flush()
	return all
}

type turnView struct {
	*TurnResult
	Rows   []rowView
	Failed []CheckResult
	// Cause is set if the first failed check is the first cause.
	Cause bool
	// Verdicts are those of judges.
	Verdicts []string
	Passed   int // the number of passed checks
}

// A rowView is one line of the aligned trace.
type rowView struct {
	Row
	// Kind is same, differs, missing, extra or plain (no calls are judged).
	Kind    string
	Cause   bool
	Output  string
	IsError bool
}

type callView struct{ Name, Args string }

func viewOf(c *CaseResult, took string) caseView {
	v := caseView{CaseResult: c, Anchor: Clean(c.ID), Took: took, Tagged: strings.Join(c.Tags, " "), Open: c.Status != StatusPass, Outcomes: outcomes(c)}
	cause := len(c.Drift)+len(c.Follows) == 0 && v.Open // the first cause is not marked yet
	for i := range c.Turns {
		t := turnView{TurnResult: &c.Turns[i], Rows: rowsOf(&c.Turns[i], &cause)}
		for _, check := range c.Checks {
			if check.Turn == i+1 && check.Verdict != nil {
				t.Verdicts = append(t.Verdicts, VerdictText(check))
			}
			switch {
			case check.Turn != i+1 || check.isOpen():
			case check.OK:
				t.Passed++
			case c.Status == StatusNotAsked: // it is unknown whether it would pass
			default:
				t.Failed = append(t.Failed, check)
				t.Cause, cause = t.Cause || cause, false
			}
		}
		v.Turns = append(v.Turns, t)
	}
	for _, check := range c.Checks {
		if !check.OK && check.Turn > len(c.Turns) {
			v.UnmatchedChecks = append(v.UnmatchedChecks, check)
		}
	}
	return v
}

// rowsOf returns the rows of a turn. If cause is set, the first row that differs gets the mark
// and clears it.
func rowsOf(t *TurnResult, cause *bool) []rowView {
	trace := t.Trace
	plain := len(trace) == 0
	if plain {
		for _, call := range t.Calls {
			trace = append(trace, Row{Made: call.Name + " " + call.Arguments})
		}
	}
	var rows []rowView
	made := 0
	for _, r := range trace {
		row := rowView{Row: r, Kind: kind(r)}
		if plain {
			row.Kind = "plain"
		}
		if r.Made != "" && made < len(t.Calls) {
			row.Output, row.IsError = pretty(t.Calls[made].Output), t.Calls[made].IsError
			made++
		}
		if faultyRow(r) && !plain && *cause {
			row.Cause, *cause = true, false
		}
		rows = append(rows, row)
	}
	return rows
}

func kind(r Row) string {
	switch {
	case r.Made == "":
		return "missing"
	case r.Expected == "":
		return "extra"
	case len(r.Faults) > 0:
		return "differs"
	}
	return "same"
}

func faultyRow(r Row) bool { return kind(r) != "same" }

// callOf splits "name {arguments}".
func callOf(s string) callView {
	name, args, _ := strings.Cut(s, " {")
	if args != "" {
		args = pretty("{" + args)
	}
	return callView{Name: Clean(name), Args: args}
}

// pretty indents long JSON, and decodes a JSON string.
func pretty(s string) string {
	var text string
	if json.Unmarshal([]byte(s), &text) == nil {
		return Clean(text)
	}
	var b bytes.Buffer
	if len(s) > 60 && json.Indent(&b, []byte(s), "", "  ") == nil {
		return Clean(b.String())
	}
	return Clean(s)
}

func compare(was, now string) []match.Piece { return match.Words(Clean(was), Clean(now)) }
