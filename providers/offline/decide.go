package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"molar/providers"
	"molar/schemas"
)

// A decision is what to do with a request: calls, or text.
type decision struct {
	calls []schemas.ToolCall
	text  string
	note  string
}

// maxCalls bounds the calls of one answer.
const maxCalls = 8

// decide picks a tool, asks for an argument, or answers.
func (p *Provider) decide(req providers.Request) decision {
	t := readTurn(req)
	offered := len(req.Tools) > 0 && req.ToolChoice != providers.ToolNone
	if offered && t.called {
		if d, ok := p.chain(t, req.Tools); ok {
			return d
		}
	}
	if t.called || !offered || t.question == "" {
		return decision{text: answer(t, req.Tools), note: fmt.Sprintf("offline: %d results to quote, %d tools offered", len(t.results), len(req.Tools))}
	}
	q := readQuestion(t.question, p.now())
	ranked := rank(q, indexTools(req.Tools))
	note := explain(ranked)
	best := ranked[0]
	if c, ok := searchFirst(ranked); ok && best.Score.Score >= Threshold {
		note += best.Tool + " lacks " + best.filling.missing[0].name + ", so it is searched for first. "
		best = c
	}
	if best.Score.Score < Threshold {
		return decision{text: answer(t, req.Tools), note: note + "no tool is called: the best is below the threshold"}
	}
	if len(best.filling.missing) > 0 && len(t.results) > 0 {
		return decision{text: answer(t, req.Tools), note: note + "no tool is called: the question does not give " + fieldNames(best.filling.missing)}
	}
	if len(best.filling.missing) > 0 {
		return decision{
			text: askFor(t.vietnamese, best.tool.info, best.filling.missing),
			note: note + "no tool is called: the question does not give " + fieldNames(best.filling.missing),
		}
	}
	d := decision{note: note}
	for _, args := range spread(q, best) {
		d.calls = append(d.calls, newCall(best.Tool, args))
	}
	d.note += fmt.Sprintf("calls %s %d times: %s", best.Tool, len(d.calls), strings.Join(best.filling.from, "; "))
	return d
}

func newCall(tool, arguments string) schemas.ToolCall {
	return schemas.ToolCall{ID: uuid.NewString(), Function: schemas.FunctionCall{Name: tool, Arguments: arguments}}
}

// explain tells the best tools with their scores.
func explain(ranked []candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "offline: threshold %.2f. ", Threshold)
	for _, c := range ranked[:min(3, len(ranked))] {
		fmt.Fprintf(&b, "%s %.2f (%s). ", c.Tool, c.Score.Score, c.Why)
	}
	return b.String()
}

func fieldNames(fields []field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// spread gives the arguments of one call for each value of a kind that the question
// lists for the same single field: two ids, two cities.
func spread(q *question, c candidate) []string {
	f := c.filling
	calls := []string{f.arguments()}
	for _, fd := range c.tool.fields {
		first, typed := f.byValue[fd.name]
		others := f.lists[fd.name]
		if !fd.required || !typed && len(others) == 0 {
			continue
		}
		var values []any
		if typed {
			values = alike(q, c, fd, first)
		}
		for _, o := range others {
			values = append(values, o)
		}
		if len(values) == 0 {
			continue
		}
		kept := f.values[fd.name]
		for _, v := range values {
			f.values[fd.name] = v
			if args := f.arguments(); !slices.Contains(calls, args) && len(calls) < maxCalls {
				calls = append(calls, args)
			}
		}
		f.values[fd.name] = kept
		break // one field varies; two would be guesses about pairs
	}
	return calls
}

// alike returns the other values of the kind of mention first that fit the field and
// that the question lists with it.
func alike(q *question, c candidate, fd field, first int) []any {
	fl := filler{q: q, fields: c.tool.fields, known: c.tool.called, filling: c.filling}
	var values []any
	end := q.mentions[first].end
	for i := first + 1; i < len(q.mentions); i++ {
		m := q.mentions[i]
		if m.kind != q.mentions[first].kind {
			continue
		}
		particular := m.kind == isUUID || m.kind == isHash
		if c.filling.used[i] || !particular && !fl.joins(fd, end, m.start) {
			break
		}
		v, ok := fl.value(fd, m)
		if !ok || fl.fit(fd, m) < least-0.1 {
			break
		}
		values = append(values, v)
		end = m.end
	}
	return values
}

// joins reports whether the words between two values only join them: "and", "in",
// the field's or the tool's own name.
func (f *filler) joins(fd field, from, to int) bool {
	if strings.ContainsAny(f.q.text[from:to], ".?!;") {
		return false
	}
	for i, t := range f.q.tokens {
		if t.start < from || t.end > to {
			continue
		}
		if p := f.q.prepositionAt(i); p == prepFrom || p == prepTo {
			return false
		}
		linking := f.q.isStop(i) || f.q.isOneOf(i, "and", "và", "or", "hoặc", "of") || shares(f.q.keys[i], fd.keys) || knownAny(f.known, f.q.keys[i])
		if !linking {
			return false
		}
	}
	return true
}
