package report

import (
	"fmt"
	"io"
	"strings"

	"molar/eval"
)

// Markdown writes a summary for a CI page: the counts, the numbers and what failed.
func Markdown(w io.Writer, r *eval.Report) error {
	var b strings.Builder
	s, m := r.Summary, r.Metrics
	fmt.Fprintf(&b, "## Evaluation: %d of %d cases passed\n\n", s.Pass, s.Cases)
	b.WriteString("| passed | failed | drift | flaky | infrastructure |\n| --- | --- | --- | --- | --- |\n")
	fmt.Fprintf(&b, "| %d | %d | %d | %d | %d |\n\n", s.Pass, s.Fail, s.Drift, s.Flaky, s.Infra)
	b.WriteString("| | precision | recall | F1 |\n| --- | --- | --- | --- |\n")
	for _, p := range []struct {
		name string
		prf  eval.PRF
	}{{"names", m.Name}, {"calls", m.Call}, {"arguments", m.Args}} {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.name, Number(p.prf.Precision), Number(p.prf.Recall), Number(p.prf.F1))
	}
	b.WriteString("\n")
	for _, c := range r.Cases {
		if c.Status == eval.StatusPass {
			continue
		}
		fmt.Fprintf(&b, "<details><summary><b>%s</b> %s: %s</summary>\n\n", mark(c.Status), escapeHTML(oneLine(c.ID)), escapeHTML(cut(oneLine(c.Why), 200)))
		for line := range strings.Lines(Failure(&c)) { // indented code needs no fence that a tool could close
			b.WriteString("    " + line)
		}
		b.WriteString("\n</details>\n\n")
	}
	_, err := io.WriteString(w, Clean(b.String()))
	return err
}

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "&#96;").Replace(s)
}
