package traffic

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"molar/internal/text"
)

// A Report is the result of a check.
type Report struct {
	Answers []Answer `json:"answers"`
	// Unread are recordings that could not be read.
	Unread []string `json:"unread,omitempty"`
}

// Mark marks the differences that are known to be right. The list has a line for each: the answer's
// id, blanks, and why; lines that begin with "# " and empty ones are skipped.
func (r *Report) Mark(list string) error {
	known := make(map[string]string)
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		id, why, _ := strings.Cut(line, "\t")
		if why = strings.TrimSpace(why); why == "" {
			return fmt.Errorf("known difference %q: want its id, a tab, and why it is right", line)
		}
		known[strings.TrimSpace(id)] = why
	}
	for i, a := range r.Answers {
		if a.Verdict == Differs {
			r.Answers[i].Known = known[a.ID()]
		}
	}
	return nil
}

// Unknown returns the answers that differ and are not known to.
func (r *Report) Unknown() []Answer {
	return r.of(func(a Answer) bool { return a.Verdict == Differs && a.Known == "" })
}

func (r *Report) of(want func(Answer) bool) []Answer {
	return slices.DeleteFunc(slices.Clone(r.Answers), func(a Answer) bool { return !want(a) })
}

// ByService and ByFolder are ways to group answers: by the service's host, and by the first folder
// of the file.
func ByService(a Answer) string { return cmp.Or(a.Service, "(without an address)") }

// ByFolder returns the first folder of an answer's file.
func ByFolder(a Answer) string {
	folder, _, found := strings.Cut(a.File, "/")
	if !found {
		return "."
	}
	return folder
}

// verdicts returns the columns of the table.
func verdicts() []Verdict { return []Verdict{Exact, Differs, Asked, Refused, Unreadable} }

// counts counts answers by verdict.
type counts map[Verdict]int

// Text returns the tables for people: the answers by group and API, what differs, and with failures
// set what comes of each recorded failure.
func (r *Report) Text(group func(Answer) string, failures bool) string {
	var b strings.Builder
	r.table(&b, group)
	r.next(&b)
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	var differs, known []string
	for _, a := range r.of(func(a Answer) bool { return a.Verdict == Differs }) {
		line := fmt.Sprintf("%s (%s): %s", a.ID(), a.Wire, strings.Join(a.Why, "; "))
		if a.Known != "" {
			known = append(known, fmt.Sprintf("%s (%s): %s", a.ID(), a.Wire, a.Known))
		} else {
			differs = append(differs, line)
		}
	}
	section("Differs:", differs)
	section("Differs, as it should:", known)
	section("No plain reading:", r.reasons(Unreadable))
	section("Cannot be read as a recording:", r.Unread)
	if failures {
		b.WriteString("\nFailures:\n")
		r.failures(&b)
	}
	return b.String()
}

func (r *Report) table(w io.Writer, group func(Answer) string) {
	rows := make(map[string]counts)
	for _, a := range r.Answers {
		for _, key := range []string{group(a) + "\t" + a.Wire, "\xffall\t" + a.Wire, "\xffall\t\xffall"} { // \xff sorts last
			if rows[key] == nil {
				rows[key] = counts{}
			}
			rows[key][a.Verdict]++
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "\tAPI\tanswers") // into memory, as all of the table
	for _, v := range verdicts() {
		_, _ = fmt.Fprintf(t, "\t%s", v)
	}
	_, _ = fmt.Fprintln(t)
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		sum := 0
		for _, n := range rows[key] {
			sum += n
		}
		_, _ = fmt.Fprintf(t, "%s\t%d", strings.ReplaceAll(key, "\xff", ""), sum)
		for _, v := range verdicts() {
			_, _ = fmt.Fprintf(t, "\t%s", cmp.Or(strings.TrimPrefix(fmt.Sprint(rows[key][v]), "0"), "-"))
		}
		_, _ = fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// next writes how many next requests were checked.
func (r *Report) next(w io.Writer) {
	sent := r.of(func(a Answer) bool { return a.Next })
	wrong, recorded := 0, 0
	for _, a := range sent {
		if a.Verdict == Differs {
			wrong++
		}
		if a.Recorded {
			recorded++
		}
	}
	_, _ = fmt.Fprintf(w, "\nNext requests: %d of %d bring the calls and results back as they should (%d with the recorded results).\n", len(sent)-wrong, len(sent), recorded)
}

// reasons counts the reasons of a verdict, each with the first answer.
func (r *Report) reasons(v Verdict) []string {
	first, count := map[string]string{}, map[string]int{}
	for _, a := range r.of(func(a Answer) bool { return a.Verdict == v }) {
		key := a.Wire + ": " + strings.Join(a.Why, "; ")
		first[key] = cmp.Or(first[key], a.ID())
		count[key]++
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(count)) {
		lines = append(lines, fmt.Sprintf("%d %s, such as %s", count[key], key, first[key]))
	}
	return lines
}

// failures writes a table of the recorded failures: alike ones share a row.
func (r *Report) failures(w io.Writer) {
	rows := make(map[string]int)
	for _, a := range r.of(func(a Answer) bool { return a.Fault != nil }) {
		f := a.Fault
		rows[fmt.Sprintf("%s\t%d\t%s\t%s\t%s", a.Wire, f.Status, f.Kind, f.Then, text.Clip(f.Message, 120, "…"))]++
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "  n\tAPI\tstatus\tkind\tthen\tmessage")
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		_, _ = fmt.Fprintf(t, "  %d\t%s\n", rows[row], row)
	}
	_ = t.Flush()
}
