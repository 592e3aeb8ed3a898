package visitors

import (
	"fmt"
	"slices"
	"time"

	"molar/schemas"
)

// slack is how inexact the time of a refusal may be: it may be told in whole seconds.
const slack = 1100 * time.Millisecond

// A Compared limit is what it let through beside what it allows, in all windows that ended in a
// refusal: each refusal tells when its window ends, and so when it began.
type Compared struct {
	Name string
	Rate schemas.Rate
	// Refused are the questions that it stopped.
	Refused int
	// Windows are those that were full; Allowed is what they allow, and Let what they let through.
	Windows, Allowed, Let int
	// Differ is by how many questions the windows differ from what they allow, more and fewer together;
	// Wrong are such windows, the first ones in words.
	Differ     int
	Wrong      []string
	WrongCount int
}

// compare compares each limit with what it let through.
func (r *record) compare(cfg Config, took time.Duration) []Compared {
	visitor := func(e event) int { return e.visitor }
	address := func(e event) int { return e.address }
	all := func(event) int { return 0 }
	return []Compared{
		r.compareOne("visitor", cfg.Limits.Visitor, visitor, took),
		r.compareOne("address", cfg.Limits.Address, address, took),
		r.compareOne("all", cfg.Limits.All, all, took),
	}
}

// compareOne compares the limit of this name, which counts the questions of each subject by itself.
func (r *record) compareOne(name string, rate schemas.Rate, subject func(event) int, took time.Duration) Compared {
	c := Compared{Name: name, Rate: rate}
	let, stopped := map[int][]event{}, map[int][]event{}
	for _, e := range r.let {
		let[subject(e)] = append(let[subject(e)], e)
	}
	for _, e := range r.stopped {
		if e.limit == name {
			stopped[subject(e)] = append(stopped[subject(e)], e)
			c.Refused++
		}
	}
	if rate.Count == 0 {
		if c.Refused > 0 {
			c.wrong(c.Refused, "%s refused %d questions, and there is no such limit", name, c.Refused)
		}
		return c
	}
	// Windows that nobody saw full are bounded by how many of them fit into the run.
	fit := int(took/rate.Per) + 1
	for who, events := range let {
		if over := len(events) - fit*rate.Count; over > 0 {
			c.wrong(over, "%s %d: %d questions let through in %s", name, who, len(events), took.Round(time.Second))
		}
	}
	for who, refusals := range stopped {
		var before full
		for _, w := range fullWindows(refusals, rate) {
			c.window(who, w, before, let[who])
			before = w
		}
	}
	return c
}

// A full window is one with a refusal.
type full struct {
	began, until time.Time
	// seen is when a client knew that it was full.
	seen time.Time
}

// fullWindows returns the windows of one subject's refusals, in order.
func fullWindows(refusals []event, rate schemas.Rate) (windows []full) {
	slices.SortFunc(refusals, func(a, b event) int { return a.until.Compare(b.until) })
	for _, e := range refusals {
		last := len(windows) - 1
		if last < 0 || e.until.Sub(windows[last].until) > 2*slack {
			windows = append(windows, full{began: e.until.Add(-rate.Per), until: e.until, seen: e.answered})
		} else if e.answered.Before(windows[last].seen) {
			windows[last].seen = e.answered
		}
	}
	return windows
}

// window counts what a subject's full window let through. What was let through after somebody knew that
// it was full belongs to the next one. Where it began is told less exactly: of what was let through about
// then, at least one question belongs to it, the one with which it began, and what came before may belong
// to a window that nobody saw full.
func (c *Compared) window(who int, w, before full, let []event) {
	sure, possible, about := 0, 0, 0
	for i, e := range let {
		if !e.sent.Before(w.seen) || !e.answered.After(w.began.Add(-slack)) || e.answered.Before(before.seen) {
			continue
		}
		possible++
		begins := e.sent.Before(w.began.Add(slack))
		if begins {
			about++
		}
		afterFull := !before.seen.IsZero() && before.until.After(w.began.Add(-2*slack)) && e.sent.After(before.seen)
		if i == 0 || !begins || afterFull {
			sure++
		}
	}
	if about > 0 && sure+about == possible {
		sure++
	}
	got := min(max(c.Rate.Count, sure), possible)
	c.Windows, c.Allowed, c.Let = c.Windows+1, c.Allowed+c.Rate.Count, c.Let+got
	if differ := max(got-c.Rate.Count, c.Rate.Count-got); differ > 0 {
		c.wrong(differ, "%s %d: %d questions let through from %s on, of %d", c.Name, who, got, w.began.Format(time.TimeOnly), c.Rate.Count)
	}
}

// wrong notes a window that differs by so many questions.
func (c *Compared) wrong(differ int, format string, args ...any) {
	c.Differ += differ
	if c.WrongCount++; len(c.Wrong) < shown {
		c.Wrong = append(c.Wrong, fmt.Sprintf(format, args...))
	}
}

// Off returns by how much the windows differ from what they allow, as a part of it.
func (c *Compared) Off() float64 { return float64(c.Differ) / float64(max(c.Allowed, 1)) }
