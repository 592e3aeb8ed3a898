package eval

import (
	"fmt"
	"slices"
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
	"molar/internal/text"
)

// Describe returns lines that describe turns; equal turns have equal lines.
func Describe(seen []tape.Turn) []string { return describe(turnResults(seen), true) }

func turnResults(seen []tape.Turn) []TurnResult {
	var all []TurnResult
	for i := range seen {
		all = append(all, turnResult(&seen[i]))
	}
	return all
}

// describe returns lines that describe turns. Unless all is set it omits wording: answers,
// results and errors.
func describe(turns []TurnResult, all bool) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for i, t := range turns {
		add("turn %d: %s", i+1, flat(t.User))
		if t.Guardrail != "" {
			add("  guardrail: %s", t.Guardrail)
		}
		for _, c := range t.Calls {
			add("  call %s %s", c.Name, c.Arguments)
			switch {
			case !all:
			case c.Output == "":
				add("    gave nothing")
			case c.IsError:
				add("    failed: %s", flat(c.Output))
			default:
				add("    gave %s", flat(c.Output))
			}
		}
		if t.Answer != "" && all {
			add("  answer: %s", flat(t.Answer))
		}
		switch {
		case t.Error == "":
		case all:
			add("  failed: %s", t.Error)
		default:
			add("  failed")
		}
	}
	return lines
}

func flat(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "⏎") }

// Changed returns a diff of two descriptions: removed and added lines, marked by - and +, each
// cut to what differs, after the line of their turn.
func Changed(was, now []string) []string {
	var lines []string
	turn := ""
	pieces := match.Lines(was, now)
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		if p.Kind == match.Same {
			if strings.HasPrefix(p.Text, "turn ") {
				turn = p.Text
			}
			continue
		}
		if turn != "" {
			lines, turn = append(lines, "  "+text.Clip(turn, longestLine, "…")), ""
		}
		if p.Kind == match.Was && i+1 < len(pieces) && pieces[i+1].Kind == match.Now && sameStart(p.Text, pieces[i+1].Text) {
			a, b := match.Excerpt(match.Words(p.Text, pieces[i+1].Text))
			lines = append(lines, "- "+a, "+ "+b)
			i++
			continue
		}
		lines = append(lines, string(p.Kind)+" "+text.Clip(p.Text, longestLine, "…"))
	}
	return lines
}

// sameStart reports whether two lines describe the same kind of event.
func sameStart(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 0 && len(y) > 0 && x[0] == y[0]
}

// longestLine is the maximum length of a line in a diff, in bytes.
const longestLine = 300

// LiveCalls returns lines that say what a live run of the cases will call, as far as their tapes
// show.
func LiveCalls(cases []Case, mode Mode) []string {
	models, tools, untaped := make(map[string]int), make(map[string]int), 0
	for i := range cases {
		t, err := cases[i].ReadTape()
		switch {
		case mode.startsAnew(&cases[i], t, err):
			untaped++
			continue
		case err != nil: // the run reports it
			continue
		}
		if mode.LiveModel || mode.FromDrift == FromDriftLive {
			models[strings.TrimSpace(t.Header.Provider+" "+t.Header.Model)] += t.Calls()
		}
		if !mode.LiveTools {
			continue
		}
		for _, turn := range t.Turns {
			for _, c := range turn.Calls {
				name := c.Server + "__" + c.Tool
				if server := t.Servers[c.Server]; server == nil || !isTrue(server.Tools[c.Tool].Annotations.ReadOnlyHint) {
					name += " (may change something)"
				}
				if c.Server != "" {
					tools[name]++
				}
			}
		}
	}
	lines := append(countLines("asks the model of", models), countLines("calls", tools)...)
	if untaped > 0 {
		lines = append(lines, fmt.Sprintf("live: asks the model of their config for %s without a tape, and it may call tools", text.Counted(untaped, "case")))
	}
	return lines
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

func countLines(what string, counts map[string]int) []string {
	var lines []string
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("live: %s %s, %d times on the tapes", what, name, n))
	}
	slices.Sort(lines)
	return lines
}
