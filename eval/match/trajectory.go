package match

import (
	"fmt"
	"slices"
)

// A Plan describes the expected calls of a turn.
type Plan struct {
	// Order requires the order of the items; else any order that their After allows is right.
	Order bool
	// Others allows other calls beside the items.
	Others bool
	Items  []Expected
	// Forbid lists calls that must not be made.
	Forbid []Expected
	// Max is the maximum number of calls; 0 means no limit.
	Max int
	// NoCall forbids all calls.
	NoCall bool
}

// A Pair is an expected call with the made call that was assigned to it.
type Pair struct {
	Expected, Made int
	Score          float64
	Faults         []Fault
	// Hits is the number of equal arguments, of Wants expected and Gives made ones.
	Hits, Wants, Gives int
}

// An Agreement is the result of comparing the made calls of a turn with a plan.
type Agreement struct {
	Valid bool
	// Pairs are sorted by expected call. Expected counts the calls that are required or were
	// paired. Missing lists the items of required calls that were not made.
	Pairs    []Pair
	Expected int
	Missing  []int
	// Faults are sentences, each about one problem.
	Faults []string
}

// A slot is one repetition of an expected call.
type slot struct {
	item     int
	required bool
}

// maxRepeats is the maximum number of slots of one item.
const maxRepeats = 64

// slots expands the items into slots: each as often as it must or may be called.
func (p *Plan) slots(made int) []slot {
	var all []slot
	for i := range p.Items {
		least, most := p.Items[i].Min, p.Items[i].Max
		if least == 0 && most == 0 {
			least, most = 1, 1
		}
		most = max(least, min(most, max(made, 1)))
		for n := range min(most, maxRepeats) {
			all = append(all, slot{item: i, required: n < least})
		}
	}
	return all
}

// Compare compares the made calls of one turn with the plan.
func (p *Plan) Compare(made []Call) Agreement {
	slots := p.slots(len(made))
	table := p.table(slots, made)
	var pairs map[int]int
	if p.Order {
		pairs = align(slots, len(made), table)
	} else {
		pairs = assign(len(slots), len(made), func(i, j int) float64 { return weight(slots[i], table[i][j]) })
	}
	a := p.collect(slots, made, table, pairs)
	p.checkOrder(&a, slots, pairs)
	p.checkBounds(&a, made)
	a.Valid = len(a.Faults) == 0
	return a
}

// table compares every slot with every call.
func (p *Plan) table(slots []slot, made []Call) [][]comparison {
	table := make([][]comparison, len(slots))
	for i, s := range slots {
		table[i] = make([]comparison, len(made))
		for j := range made {
			table[i][j] = compare(&p.Items[s.item], &made[j], p.earlier(made[:j]))
		}
	}
	return table
}

// earlier collects, for each ref, the results of the calls that it may match.
func (p *Plan) earlier(made []Call) earlier {
	results := make(earlier)
	for i := range p.Items {
		ref := p.Items[i].Ref
		if ref == "" {
			continue
		}
		for j := range made {
			if made[j].Done && p.Items[i].matches(&made[j]) {
				results[ref] = append(results[ref], made[j].Result)
			}
		}
	}
	return results
}

// weight makes a full match outweigh any number of partial ones, and a required call an optional
// one.
func weight(s slot, c comparison) float64 {
	w := c.score()
	if c.full() {
		w = 1000
	}
	if w > 0 && s.required {
		w *= 1.5
	}
	return w
}

// align pairs slots and calls so that both are in order and the sum of the weights is maximal.
func align(slots []slot, made int, table [][]comparison) map[int]int {
	best := make([][]float64, len(slots)+1)
	for i := range best {
		best[i] = make([]float64, made+1)
	}
	for i, slot := range slices.Backward(slots) {
		for j := made - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if w := weight(slot, table[i][j]); w > 0 {
				best[i][j] = max(best[i][j], w+best[i+1][j+1])
			}
		}
	}
	pairs := make(map[int]int)
	for i, j := 0, 0; i < len(slots) && j < made; {
		w := weight(slots[i], table[i][j])
		switch {
		case w > 0 && best[i][j] == w+best[i+1][j+1]:
			pairs[i] = j
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// collect turns the pairing into an agreement, with the faults of its calls.
func (p *Plan) collect(slots []slot, made []Call, table [][]comparison, pairs map[int]int) Agreement {
	var a Agreement
	taken := make([]bool, len(made))
	for i, s := range slots {
		item := &p.Items[s.item]
		j, paired := pairs[i]
		if !paired {
			if s.required {
				a.Expected++
				a.Missing = append(a.Missing, s.item)
				a.Faults = append(a.Faults, fmt.Sprintf("expected call of %s is missing", item.Name))
			}
			continue
		}
		a.Expected++
		c := table[i][j]
		taken[j] = true
		a.Pairs = append(a.Pairs, Pair{
			Expected: s.item, Made: j, Score: c.score(), Faults: c.faults, Hits: c.hits, Wants: c.wanted, Gives: c.given,
		})
		for _, f := range c.faults {
			a.Faults = append(a.Faults, fmt.Sprintf("call %d, %s%s: expected %s, got %s", j+1, made[j].Name, f.Pointer, f.Want, f.Got))
		}
	}
	for j := range made {
		if !taken[j] && !p.Others && !p.NoCall {
			a.Faults = append(a.Faults, fmt.Sprintf("call %d, %s, is not expected", j+1, made[j].Name))
		}
	}
	return a
}

// checkOrder checks that calls come after those in their After.
func (p *Plan) checkOrder(a *Agreement, slots []slot, pairs map[int]int) {
	at := make(map[string]int)
	for i, s := range slots {
		j, paired := pairs[i]
		if ref := p.Items[s.item].Ref; paired && ref != "" {
			at[ref] = max(at[ref], j+1)
		}
	}
	for i, s := range slots {
		j, paired := pairs[i]
		if !paired {
			continue
		}
		for _, ref := range p.Items[s.item].After {
			if n, known := at[ref]; known && n > j {
				a.Faults = append(a.Faults, fmt.Sprintf("call %d, %s, came before %s", j+1, p.Items[s.item].Name, ref))
			}
		}
	}
}

// checkBounds checks the number of calls and the forbidden ones.
func (p *Plan) checkBounds(a *Agreement, made []Call) {
	if p.NoCall && len(made) > 0 {
		a.Faults = append(a.Faults, fmt.Sprintf("no call was expected, and %s was called", made[0].Name))
	}
	if p.Max > 0 && len(made) > p.Max {
		a.Faults = append(a.Faults, fmt.Sprintf("%d calls, at most %d were expected", len(made), p.Max))
	}
	for j := range made {
		forbidden := slices.ContainsFunc(p.Forbid, func(e Expected) bool {
			return compare(&e, &made[j], nil).full()
		})
		if forbidden {
			a.Faults = append(a.Faults, fmt.Sprintf("call %d, %s, is forbidden", j+1, made[j].Name))
		}
	}
}
