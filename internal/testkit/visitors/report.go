package visitors

import (
	"fmt"
	"strings"
	"time"
)

// exact is by how much a limit may differ from what it allows.
const exact = 0.01

// A Report is what a crowd has seen. Its lists of words hold the first few of what was counted.
type Report struct {
	Visitors, Addresses, Hosts int
	Took                       time.Duration
	// Asked are all questions, Answered those with a whole answer.
	Asked, Answered int
	// First and Whole are the times to the first word of an answer and to its end, in order.
	First, Whole []time.Duration
	Limits       []Compared
	// Looked are the responses that were searched for marks of others, Tried the attempts to get at
	// what others have, Leaks what came of either.
	Looked, Tried int
	Leaks         []string
	LeakCount     int
	// Faults are requests that failed for another reason than a limit.
	Faults     []string
	FaultCount int
}

// Wrong returns what a host must not do, in words; nil of a good run.
func (r *Report) Wrong() (wrong []string) {
	for _, c := range r.Limits {
		if c.Off() > exact {
			wrong = append(wrong, c.Wrong...)
		}
	}
	if r.LeakCount > 0 {
		wrong = append(wrong, fmt.Sprintf("%d responses held what is somebody else's:", r.LeakCount))
	}
	wrong = append(wrong, r.Leaks...)
	if r.FaultCount > 0 {
		wrong = append(wrong, fmt.Sprintf("%d requests failed:", r.FaultCount))
	}
	return append(wrong, r.Faults...)
}

// String returns the figures as a table.
func (r *Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%d visitors of %d addresses, %s, replicas: %d", r.Visitors, r.Addresses, r.Took.Round(time.Second), r.Hosts)
	line("%d questions, %d answered (%.0f a second)", r.Asked, r.Answered, float64(r.Answered)/r.Took.Seconds())
	line("first word: p50 %s, p99 %s; whole answer: p50 %s, p99 %s", Percentile(r.First, 50), Percentile(r.First, 99), Percentile(r.Whole, 50), Percentile(r.Whole, 99))
	line("%-8s %10s %8s %8s %9s %12s %7s %6s", "limit", "rate", "refused", "windows", "allowed", "let through", "off", "wrong")
	for _, c := range r.Limits {
		line("%-8s %10s %8d %8d %9d %12d %6.2f%% %6d", c.Name, fmt.Sprintf("%d/%s", c.Rate.Count, c.Rate.Per), c.Refused, c.Windows, c.Allowed, c.Let, 100*c.Off(), c.WrongCount)
	}
	line("%d responses searched for words of others, %d attempts to get at them: %d leaks; %d requests failed", r.Looked, r.Tried, r.LeakCount, r.FaultCount)
	return b.String()
}

// Percentile returns the nearest-rank percentile of times in order, 0 of none.
func Percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[max((len(times)*p+99)/100, 1)-1].Round(100 * time.Microsecond)
}
