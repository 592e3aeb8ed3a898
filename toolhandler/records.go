package toolhandler

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// recordsOf returns what the ids of a call stand for, by id: the other texts of the record that has this
// id in what the call's own server returned in the turn. A person who is asked about "v3" should know
// what that is. An id of several different records of one result stands for none of them.
func (f Flow) recordsOf(a action) map[string][]string {
	found := make(map[string][]string)
	for _, l := range a.leaves {
		id := asText(l.value)
		if l.use == Content || id == "" || strings.ContainsAny(id, " \n") {
			continue
		}
		for _, r := range slices.Backward(f.Readings) {
			if r.Origin.Server() != a.tool.Server {
				continue
			}
			if about := recordIn(r.Text, id); about != nil {
				found[id] = about
				break
			}
		}
	}
	return found
}

// recordIn returns the texts of the record with an id in the JSON that a result begins with.
func recordIn(result, id string) []string {
	if !strings.HasPrefix(result, "[") && !strings.HasPrefix(result, "{") {
		return nil
	}
	var value any
	dec := json.NewDecoder(strings.NewReader(result))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil
	}
	var found []map[string]any
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for name, e := range v {
				if slices.Contains(placeWords(), lastWord(name)) && isScalar(e) && asText(e) == id && !slices.ContainsFunc(found, func(m map[string]any) bool { return same(m, v) }) {
					found = append(found, v)
				}
				walk(e)
			}
		}
	}
	walk(value)
	if len(found) != 1 {
		return nil
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(found[0])) {
		if text, ok := found[0][name].(string); ok && text != "" && text != id {
			texts = append(texts, text)
		}
	}
	return texts
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, json.Number:
		return true
	}
	return false
}
