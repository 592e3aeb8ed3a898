package eval

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
	"molar/internal/text"
)

// transcriptWidth is the length in bytes at which lines of a transcript are wrapped.
const transcriptWidth = 160

// Transcript returns a tape as lines for people: what it offers to the model, and what happened in its
// turns. Equal conversations have equal lines. Results are cut, with a hash in place of the rest.
func Transcript(t *tape.Tape) []string {
	lines := []string{strings.TrimSpace(fmt.Sprintf("case %s, %s %s", t.Header.Case, t.Header.Provider, t.Header.Model))}
	for _, server := range slices.Sorted(maps.Keys(t.Servers)) {
		tools := t.Servers[server].Tools
		for _, name := range slices.Sorted(maps.Keys(tools)) {
			lines = append(lines, cutTo("tool "+server+"__"+name+" "+match.Canonical(tools[name])))
		}
	}
	shown := make(map[string]bool)
	for i := range t.Turns {
		seen := Describe(t.Turns[i : i+1])
		lines = append(lines, fold(strings.Replace(seen[0], "turn 1", fmt.Sprintf("turn %d", i+1), 1))...)
		for _, r := range t.Records {
			if r.Type != tape.TypeModelRequest || r.Turn != i+1 {
				continue
			}
			if s := systemOf(r); s != "" && !shown[s] {
				shown[s] = true
				lines = append(lines, fold("  system, "+r.Pass+" pass: "+s)...)
			}
		}
		for _, line := range seen[1:] {
			if strings.HasPrefix(line, "    ") { // a result
				lines = append(lines, cutTo(line))
			} else {
				lines = append(lines, fold(line)...)
			}
		}
		for _, j := range t.Judgements {
			if j.Turn == i+1 {
				lines = append(lines, fold(fmt.Sprintf("  %s: %s: %s (%s)", j.Kind, j.Verdict, flat(j.Reason), flat(j.Provider+" "+j.Model)))...)
			}
		}
		sum := t.Turns[i].Sum
		lines = append(lines, fmt.Sprintf("  ended: %s; model calls %d, tool calls %d, tokens %d", sum.Finish, sum.ModelCalls, sum.ToolCalls, sum.Usage.TotalTokens))
	}
	return lines
}

// systemOf returns the system text of a request, flat.
func systemOf(r *tape.Record) string {
	request, err := tape.ReadRequest(r.Body)
	if err != nil {
		return ""
	}
	var texts []string
	for _, p := range request.Parts {
		if p.Kind == tape.KindSystem {
			texts = append(texts, p.Text)
		}
	}
	return flat(strings.Join(texts, "\n"))
}

// cutTo cuts a line, with its length and hash at the end.
func cutTo(line string) string {
	sum := sha256.Sum256([]byte(line))
	return text.Clip(line, transcriptWidth, fmt.Sprintf("… (%d bytes, %x)", len(line), sum[:3]))
}

// fold wraps a line between words. The further lines are indented more.
func fold(line string) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + "    "
	var lines []string
	for len(line) > transcriptWidth {
		at := strings.LastIndex(line[:transcriptWidth], " ") + 1
		if at <= len(indent) {
			at = text.Border(line, transcriptWidth) // a long word is cut
		}
		lines, line = append(lines, strings.TrimRight(line[:at], " ")), indent+line[at:]
	}
	return append(lines, line)
}
