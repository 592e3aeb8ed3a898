package learn

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/agent/subject/scoring"
)

// cardVersion is the version of the form of a card; there is one.
const cardVersion = 1

// The ways in which figures were measured.
const (
	// LeftOut judged each line by what was learned without its group.
	LeftOut = "lines left out by group"
	// Given judged lines that somebody gave.
	Given = "given lines"
)

// A Card holds the measured figures of a topic, decided by code alone.
type Card struct {
	Version int    `json:"version"`
	Topic   string `json:"topic"`
	// Measured is how the figures came about: [LeftOut] or [Given].
	Measured string `json:"measured"`
	// Date is the day of the measurement, such as 2026-11-28.
	Date string `json:"date,omitempty"`
	// Sum is the sum of the pack's files that were measured; another pack has other figures.
	Sum string `json:"sum,omitempty"`
	// Languages are those that the guardrail was trained in.
	Languages []string `json:"languages"`
	// Lines counts what was learned from, by kind of line.
	Lines map[string]int `json:"lines,omitempty"`
	// General counts the lines of no subject that were learned beside them.
	General int `json:"general,omitempty"`
	// Thresholds are the scores of sure decisions; a missing one means that nothing was proven.
	Thresholds Thresholds `json:"thresholds"`
	// Messages are the figures of all lines, FollowUps those of follow-ups.
	Messages  Figures  `json:"messages"`
	FollowUps *Figures `json:"follow_ups,omitempty"`
	// Kinds and ByLanguage are the figures of some of the lines.
	Kinds      map[string]Figures `json:"kinds,omitempty"`
	ByLanguage map[string]Figures `json:"by_language,omitempty"`
	// Emergencies is nil if the topic has no kinds, or nothing about them was measured.
	Emergencies *EmergencyFigures `json:"emergencies,omitempty"`
}

// Thresholds are the scores from which on code is sure.
type Thresholds struct {
	In    *float32 `json:"in,omitempty"`
	Named *float32 `json:"named,omitempty"`
	After *float32 `json:"after,omitempty"`
	Out   *float32 `json:"out,omitempty"`
}

// Figures are how well messages were judged.
type Figures struct {
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
	// InRecall and OutRecall are the shares that were judged rightly of the messages that belong, and
	// of those that do not; none if there are no such messages.
	InRecall  *float64 `json:"in_recall,omitempty"`
	OutRecall *float64 `json:"out_recall,omitempty"`
	// Sure counts what code decides alone, and SureWrong what is wrong of it. SureWrongHigh is the
	// upper end of the 95 % Wilson interval of that share.
	Sure          int     `json:"sure"`
	SureShare     float64 `json:"sure_share"`
	SureWrong     int     `json:"sure_wrong"`
	SureWrongHigh float64 `json:"sure_wrong_high"`
	// Judge is the share that needs a judge.
	Judge float64 `json:"judge"`

	in, inRight, outRight int
}

// EmergencyFigures are how many emergencies were found.
type EmergencyFigures struct {
	Emergencies int     `json:"emergencies"`
	Found       int     `json:"found"`
	FoundShare  float64 `json:"found_share"`
	Harmless    int     `json:"harmless"`
	False       int     `json:"false"`
	FalseShare  float64 `json:"false_share"`
}

// Measure judges lines with a guard, as a conversation would, and returns the figures. Lines labelled
// with an emergency are measured by the detector of the guard's topic. With a nil judge code decides
// alone.
func Measure(ctx context.Context, g *subject.Guard, lines []subject.Line, judge subject.Judge) (Card, error) {
	c := newCard(g.Topic().Name, Given)
	detector := subject.NewDetector(g.Topic())
	for _, l := range lines {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		if l.InDomain != nil {
			e := l.Example()
			lang, _ := subject.Detect(l.Text, "")
			c.add(l, g.Decide(ctx, subject.Question{Text: l.Text, Lang: lang, Last: scoring.Last(g, e), Cold: true}, judge))
		}
		if l.Emergency != nil && *l.Emergency != unclear && len(g.Topic().Emergencies.Kinds) > 0 {
			find := detector.Find
			if !g.Quick(l.Text).Pass {
				find = detector.FindClear
			}
			c.addEmergency(*l.Emergency, len(find(l.Text)) > 0)
		}
	}
	c.sum()
	return c, nil
}

func newCard(topic, how string) Card {
	return Card{
		Version: cardVersion, Topic: topic, Measured: how, Languages: []string{}, Lines: make(map[string]int),
		Kinds: make(map[string]Figures), ByLanguage: make(map[string]Figures),
	}
}

// add counts a judged line.
func (c *Card) add(l subject.Line, v subject.Verdict) {
	e := l.Example()
	c.Messages.add(e, v)
	for _, slice := range []struct {
		of   map[string]Figures
		name string
	}{{c.Kinds, strings.ToLower(l.Kind)}, {c.ByLanguage, l.Lang}} {
		if slice.name != "" {
			f := slice.of[slice.name]
			f.add(e, v)
			slice.of[slice.name] = f
		}
	}
	if e.Follows() {
		if c.FollowUps == nil {
			c.FollowUps = new(Figures)
		}
		c.FollowUps.add(e, v)
	}
}

func (c *Card) addEmergency(kind string, found bool) {
	if c.Emergencies == nil {
		c.Emergencies = new(EmergencyFigures)
	}
	e := c.Emergencies
	if kind != "" {
		if e.Emergencies++; found {
			e.Found++
		}
	} else if e.Harmless++; found {
		e.False++
	}
}

// sum computes the shares.
func (c *Card) sum() {
	c.Messages.sum()
	for _, all := range []map[string]Figures{c.Kinds, c.ByLanguage} {
		for _, name := range slices.Collect(maps.Keys(all)) {
			f := all[name]
			f.sum()
			all[name] = f
		}
	}
	if c.FollowUps != nil {
		c.FollowUps.sum()
	}
	if e := c.Emergencies; e != nil {
		e.FoundShare, e.FalseShare = share(e.Found, e.Emergencies), share(e.False, e.Harmless)
	}
}

func (f *Figures) add(e subject.Example, v subject.Verdict) {
	f.N++
	right := v.Pass == e.InDomain
	switch {
	case e.InDomain:
		if f.in++; right {
			f.inRight++
		}
	case right:
		f.outRight++
	}
	if v.By == "code" && v.Sure {
		if f.Sure++; !right {
			f.SureWrong++
		}
	}
}

func (f *Figures) sum() {
	f.Accuracy = share(f.inRight+f.outRight, f.N)
	if f.in > 0 {
		f.InRecall = new(share(f.inRight, f.in))
	}
	if out := f.N - f.in; out > 0 {
		f.OutRecall = new(share(f.outRight, out))
	}
	f.SureShare, f.Judge = share(f.Sure, f.N), share(f.N-f.Sure, f.N)
	_, high := scoring.Wilson(f.SureWrong, f.Sure)
	f.SureWrongHigh = round(high)
}

func thresholdsOf(s subject.Sure) Thresholds {
	finite := func(v float32) *float32 {
		if math.IsInf(float64(v), 0) {
			return nil
		}
		return &v
	}
	return Thresholds{In: finite(s.In), Named: finite(s.Named), After: finite(s.After), Out: finite(s.Out)}
}

// share returns a share in four digits, 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return round(float64(part) / float64(whole))
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }
