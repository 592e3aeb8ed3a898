package toolhandler

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// maxRecords bounds how many ids of a call are looked up: a question shows no more.
const maxRecords = 20

// recordsOf returns what the ids of a call stand for, by id: the other texts of the record that has this
// id in what the call's own server returned in the turn. A person who is asked about "v3" should know
// what that is. An id of several different records of one result stands for none of them.
func (f Flow) recordsOf(a action) map[string][]string {
	wanted := make(map[string]bool)
	for _, l := range a.leaves {
		if id := asText(l.value); l.use != Content && id != "" && !strings.ContainsAny(id, " \n") && len(wanted) < maxRecords {
			wanted[id] = true
		}
	}
	found := make(map[string][]string)
	for _, r := range slices.Backward(f.Readings) {
		if len(wanted) == 0 {
			break
		}
		if r.Origin.Server() != a.tool.Server {
			continue
		}
		for id, about := range recordsIn(r.Text, wanted) {
			found[id] = about
			delete(wanted, id)
		}
	}
	return found
}

// recordsIn returns the texts of the records with these ids in the JSON that a result begins with.
func recordsIn(result string, ids map[string]bool) map[string][]string {
	if !strings.HasPrefix(result, "[") && !strings.HasPrefix(result, "{") {
		return nil
	}
	value, err := decoded(result)
	if err != nil {
		return nil
	}
	records := make(map[string][]map[string]any)
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for name, e := range v {
				is := func(m map[string]any) bool { return reflect.DeepEqual(m, v) }
				if id, ok := scalar(e); ok && ids[id] && len(records[id]) < 2 && slices.Contains(placeWords(), lastWord(name)) && !slices.ContainsFunc(records[id], is) {
					records[id] = append(records[id], v)
				}
				walk(e)
			}
		}
	}
	walk(value)
	found := make(map[string][]string)
	for id, all := range records {
		if len(all) > 1 {
			continue
		}
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(all[0])) {
			if text, ok := all[0][name].(string); ok && text != "" && text != id {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 {
			found[id] = texts
		}
	}
	return found
}

// scalar returns a text or a number as text.
func scalar(value any) (text string, ok bool) {
	switch value.(type) {
	case string, json.Number:
		return asText(value), true
	}
	return "", false
}
