package loadgen

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A Report holds the runs of one or two targets; run i of B followed run i of A.
type Report struct {
	A []Stats `json:"a"`
	B []Stats `json:"b,omitempty"`
	// Ratios are medians of A's figure over B's, pair by pair.
	Ratios map[string]float64 `json:"ratios,omitempty"`
}

type figure struct {
	name string
	of   func(Stats) float64
}

func figures() []figure {
	return []figure{
		{"turns/s", func(s Stats) float64 { return s.TurnsPerSec }},
		{"CPU ms/turn", func(s Stats) float64 { return s.CPUPerTurn }},
		{"first content p50 ms", func(s Stats) float64 { return s.FirstP50 }},
		{"first content p99 ms", func(s Stats) float64 { return s.FirstP99 }},
		{"total p50 ms", func(s Stats) float64 { return s.TotalP50 }},
		{"total p99 ms", func(s Stats) float64 { return s.TotalP99 }},
		{"longest gap p50 ms", func(s Stats) float64 { return s.GapP50 }},
		{"longest gap p99 ms", func(s Stats) float64 { return s.GapP99 }},
		{"RSS kB", func(s Stats) float64 { return float64(s.RSS) }},
		{"RssAnon kB", func(s Stats) float64 { return float64(s.Anon) }},
	}
}

// NewReport computes the ratios.
func NewReport(a, b []Stats) Report {
	r := Report{A: a, B: b}
	if len(b) == 0 {
		return r
	}
	r.Ratios = map[string]float64{}
	for _, f := range figures() {
		var pairs []float64
		for i := range min(len(a), len(b)) {
			if under := f.of(b[i]); under > 0 {
				pairs = append(pairs, f.of(a[i])/under)
			}
		}
		r.Ratios[f.name] = Median(pairs)
	}
	return r
}

// Failed reports whether a turn failed or a token was in a wrong stream.
func (r Report) Failed() bool {
	for _, s := range append(append([]Stats{}, r.A...), r.B...) {
		if s.Errors > 0 || s.Stray > 0 {
			return true
		}
	}
	return false
}

// Print writes the medians over the rounds as a table, then every fault.
func (r Report) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	head := "\t" + name(r.A)
	if len(r.B) > 0 {
		head += "\t" + name(r.B) + "\tratio"
	}
	_, _ = fmt.Fprintln(table, head+"\t")
	for _, f := range figures() {
		_, _ = fmt.Fprintf(table, "%s\t%.2f\t", f.name, over(r.A, f))
		if len(r.B) > 0 {
			_, _ = fmt.Fprintf(table, "%.2f\t%.2f\t", over(r.B, f), r.Ratios[f.name])
		}
		_, _ = fmt.Fprintln(table)
	}
	_ = table.Flush()
	for _, s := range append(append([]Stats{}, r.A...), r.B...) {
		if s.Errors > 0 || s.Stray > 0 {
			_, _ = fmt.Fprintf(out, "%s: %d of %d turns failed, %d tokens in a wrong stream; first fault: %s\n",
				s.Target, s.Errors, s.Turns, s.Stray, s.FirstError)
		}
	}
}

func name(runs []Stats) string {
	if len(runs) == 0 {
		return ""
	}
	return runs[0].Target
}

func over(runs []Stats, f figure) float64 {
	var values []float64
	for _, s := range runs {
		values = append(values, f.of(s))
	}
	return Median(values)
}

// Print writes one line a figure.
func (h Held) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s: %d streams, %d failed, %d tokens in a wrong stream, %.1f s, CPU %.2f ms each\n",
		h.Target, h.Turns, h.Errors, h.Stray, h.Seconds, h.CPUPerTurn)
	_, _ = fmt.Fprintf(out, "  RSS      idle %7d kB, peak %7d kB, %6.1f kB a stream\n", h.IdleRSS, h.PeakRSS, h.PerStreamRSS)
	_, _ = fmt.Fprintf(out, "  RssAnon  idle %7d kB, peak %7d kB, %6.1f kB a stream\n", h.IdleAnon, h.PeakAnon, h.PerStreamAnon)
	if h.FirstError != "" {
		_, _ = fmt.Fprintf(out, "  first fault: %s\n", h.FirstError)
	}
}
