package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// chain makes a further call when results give the id that a better suited tool
// needs: a search found a thing, the question asks for its details. It calls each tool at
// most once more in a turn, and never repeats a call.
func (p *Provider) chain(t turn, tools []schemas.ToolInfo) (decision, bool) {
	q := readQuestion(t.question, p.now())
	if t.question == "" || len(t.calls) == 0 || !q.says("~details") {
		return decision{}, false
	}
	last := t.results[len(t.results)-1]
	if last.IsError {
		return decision{}, false
	}
	ids := idsIn(last.Output)
	for _, c := range rank(q, indexTools(tools)) {
		if c.Score.Score < Threshold {
			break
		}
		if !c.tool.reads() || t.hasCalled(c.Tool) || len(c.filling.missing) != 1 || c.filling.missing[0].role != wantsID || !c.tool.known["~details"] && !c.tool.known["!get"] {
			continue
		}
		want := c.filling.missing[0]
		id, ok := ids.pick(want, q)
		if !ok {
			continue
		}
		c.filling.values[want.name] = id
		call := newCall(c.Tool, c.filling.arguments())
		note := fmt.Sprintf("offline: threshold %.2f. %s %.2f (%s). calls it with %s=%q from the result of %s",
			Threshold, c.Tool, c.Score.Score, c.Why, want.name, id, last.ToolName)
		return decision{calls: []schemas.ToolCall{call}, note: note}, true
	}
	return decision{}, false
}

// searchFirst returns a search on the same server that can find the one id which the best
// tool lacks, given words to look for.
func searchFirst(ranked []candidate) (candidate, bool) {
	best := ranked[0]
	if len(best.filling.missing) != 1 || best.filling.missing[0].role != wantsID || !best.tool.reads() {
		return candidate{}, false
	}
	for _, c := range ranked[1:] {
		if c.Score.Score < Threshold {
			break
		}
		searches := c.tool.known["!search"] || c.tool.known["!list"]
		if searches && c.tool.reads() && c.tool.info.Server == best.tool.info.Server &&
			len(c.filling.missing) == 0 && len(c.filling.values) > 0 && !c.filling.loose {
			return c, true
		}
	}
	return candidate{}, false
}

// reads reports whether the tool's name says that it changes nothing.
func (t *indexed) reads() bool {
	return len(t.verbs) == 0 || !changes(t.verbs)
}

func (t turn) hasCalled(tool string) bool {
	return slices.ContainsFunc(t.calls, func(c schemas.ToolCall) bool { return c.Function.Name == tool })
}

// A foundID is an id-like field of a result with the texts that stand beside it.
type foundID struct {
	name, value string
	beside      string
}

type foundIDs []foundID

// maxFound bounds the reading of one result.
const maxFound = 50

// idsIn collects id-like string and number fields of a JSON result.
func idsIn(output json.RawMessage) foundIDs {
	var v any
	if json.Unmarshal(output, &v) != nil {
		return nil
	}
	var ids foundIDs
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > 6 || len(ids) >= maxFound {
			return
		}
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e, depth+1)
			}
		case map[string]any:
			ids = append(ids, idsOf(v)...)
			for _, k := range sortedKeys(v) {
				walk(v[k], depth+1)
			}
		}
	}
	walk(v, 0)
	return ids
}

func idsOf(object map[string]any) foundIDs {
	var ids foundIDs
	var beside []string
	for _, k := range sortedKeys(object) {
		s, ok := object[k].(string)
		if !ok {
			continue
		}
		parts := strings.Fields(fold(splitName(k)))
		if n := len(parts); n > 0 && slices.Contains([]string{"id", "uuid", "code", "isbn", "sku", "key"}, parts[n-1]) && s != "" {
			ids = append(ids, foundID{name: k, value: s})
		} else {
			beside = append(beside, s)
		}
	}
	for i := range ids {
		ids[i].beside = fold(strings.Join(beside, " "))
	}
	return ids
}

// pick chooses the id for a field: one of the same name, or a plain "id"; of several,
// the one whose neighbours share most words with the question, the first if equal.
func (ids foundIDs) pick(want field, q *question) (string, bool) {
	best, bestScore := "", -1
	for _, id := range ids {
		same := fold(strings.Join(strings.Fields(splitName(id.name)), "")) == fold(strings.Join(strings.Fields(splitName(want.name)), ""))
		if !same && fold(id.name) != "id" && fold(want.name) != "id" || !want.allows(id.value) {
			continue
		}
		score := 0
		if same {
			score = 1
		}
		for _, t := range q.tokens {
			if len(t.bare) > 1 && slices.Contains(strings.Fields(id.beside), t.bare) {
				score += 2
			}
		}
		if score > bestScore {
			best, bestScore = id.value, score
		}
	}
	return best, bestScore >= 0
}
