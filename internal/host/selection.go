package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// Why a turn was selected.
const (
	WhyMarked     = "marked"
	WhyRefused    = "refused"
	WhyNoResult   = "no-result"
	WhyAskedTwice = "asked-twice"
)

// A Selection selects turns of which something is to be learnt: all that at least one of Marked, Refused,
// NoResult and AskedTwice selects.
type Selection struct {
	// Marked is "up" or "down".
	Marked                        string
	Refused, NoResult, AskedTwice bool
	// Assistant is the name of the only assistant whose turns are selected; empty means all.
	Assistant string
	// Since is the earliest time of a mark, or of a turn without one; zero means all.
	Since time.Time
	// Limit bounds the results; 0 means all.
	Limit int
}

// Reasons names what selects.
func (s Selection) Reasons() (names []string) {
	for _, by := range []struct {
		name string
		on   bool
	}{{WhyMarked, s.Marked != ""}, {WhyRefused, s.Refused}, {WhyNoResult, s.NoResult}, {WhyAskedTwice, s.AskedTwice}} {
		if by.on {
			names = append(names, by.name)
		}
	}
	return names
}

// A SelectedTurn is a turn with the reasons why it was selected.
type SelectedTurn struct {
	schemas.ListedTurn
	Why []string `json:"why"`
}

// maxSelected bounds the turns among which each reason selects: the newest.
const maxSelected = 2000

// Select returns the selected turns, newest first, each once. left says which marked turns were left out, and
// why: a line each.
func (s TraceStore) Select(ctx context.Context, want Selection) (chosen []SelectedTurn, left []string, err error) {
	chosen = []SelectedTurn{}
	at := make(map[string]int)
	add := func(why string, turns []schemas.ListedTurn) {
		for _, t := range turns {
			if _, known := at[t.ID]; !known {
				at[t.ID] = len(chosen)
				chosen = append(chosen, SelectedTurn{ListedTurn: t})
			}
			c := &chosen[at[t.ID]]
			c.Why = append(c.Why, why)
		}
	}
	list := func(outcomes ...schemas.Outcome) (turns []schemas.ListedTurn, err error) {
		turns, _, err = s.Turns(ctx, schemas.TurnFilter{Outcomes: outcomes, Assistant: want.Assistant, Since: want.Since, Limit: maxSelected})
		return turns, err
	}
	if want.Marked != "" {
		marked, out, err := s.marked(ctx, want)
		if err != nil {
			return nil, nil, err
		}
		left = out
		add(WhyMarked, marked)
	}
	for _, by := range []struct {
		on      bool
		outcome schemas.Outcome
		why     string
	}{{want.Refused, schemas.OutcomeRefused, WhyRefused}, {want.NoResult, schemas.OutcomeNotFound, WhyNoResult}} {
		if !by.on {
			continue
		}
		turns, err := list(by.outcome)
		if err != nil {
			return nil, nil, err
		}
		add(by.why, turns)
	}
	if want.AskedTwice {
		turns, err := list()
		if err != nil {
			return nil, nil, err
		}
		add(WhyAskedTwice, AskedTwice(turns))
	}
	slices.SortStableFunc(chosen, func(a, b SelectedTurn) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID)) })
	if want.Limit > 0 && len(chosen) > want.Limit {
		chosen = chosen[:want.Limit]
	}
	return chosen, left, nil
}

// marked returns the turns with a mark. A reviewer's mark counts before the person's.
func (s TraceStore) marked(ctx context.Context, want Selection) (turns []schemas.ListedTurn, left []string, err error) {
	marks, err := s.ListMarks(ctx, schemas.FeedbackFilter{Mark: want.Marked, Assistant: want.Assistant, Since: want.Since})
	if err != nil {
		return nil, nil, err
	}
	all, _, err := s.Turns(ctx, schemas.TurnFilter{Marked: want.Marked, Assistant: want.Assistant, Limit: maxSelected})
	if err != nil {
		return nil, nil, err
	}
	var seen []string
	for _, f := range marks {
		if slices.Contains(seen, f.TurnID) { // marked by two
			continue
		}
		seen = append(seen, f.TurnID)
		switch at := slices.IndexFunc(all, func(t schemas.ListedTurn) bool { return t.ID == f.TurnID }); {
		case at < 0:
			left = append(left, fmt.Sprintf("turn %s is left out: its trace is no longer kept", f.TurnID))
		case all[at].Mark != want.Marked:
			left = append(left, fmt.Sprintf("turn %s is left out: a reviewer marked it %s", f.TurnID, all[at].Mark))
		default:
			turns = append(turns, all[at])
		}
	}
	return turns, left, nil
}

// askedSoon is how long after an answer the same question counts as asked again.
const askedSoon = 30 * time.Minute

// AskedTwice returns the turns, of some given newest first, after which the same person asked the same again in
// the conversation: the next question, within half an hour, has the same words that mean something, two at
// least, or is the same text. Other words for the same thing do not count, since those that differ also tell a
// further question from the one before.
func AskedTwice(turns []schemas.ListedTurn) (first []schemas.ListedTurn) {
	type place struct{ owner, conversation string }
	next := make(map[place]schemas.ListedTurn)
	for _, t := range turns {
		if t.ConversationID == "" || t.Question == nil {
			continue
		}
		in := place{t.Owner, t.ConversationID}
		again, asked := next[in]
		next[in] = t
		isAnswered := t.Outcome != schemas.OutcomeFailed && t.Outcome != schemas.OutcomeInterrupted
		if asked && isAnswered && again.At.Sub(t.At) <= askedSoon && asksAgain(*t.Question, *again.Question) {
			first = append(first, t)
		}
	}
	return first
}

// asksAgain reports whether a question asks the same as another one. Of one that was cut nobody knows.
func asksAgain(a, b string) bool {
	if max(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) >= schemas.MaxListedQuestion {
		return false
	}
	n, same := knowledge.SameQuestion(a, b)
	return same && n > 1 || strings.EqualFold(a, b)
}
