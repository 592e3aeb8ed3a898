package schemas

import (
	"encoding/json"
	"strings"
)

// IsEmpty reports whether the result holds nothing: no text, or an empty list of results, whatever a
// search would offer instead.
func (r ToolResult) IsEmpty() bool {
	empty, listed := r.emptyList()
	return listed && empty || !listed && strings.TrimSpace(r.OutputText()) == ""
}

// FoundNothing reports whether a search came back without a result: an empty list of results, or from a
// tool that only reads no text, null, or lists that are all empty with nothing beside them but zero, false
// and empty texts, such as {"total": 0, "orders": []}.
func (r ToolResult) FoundNothing(of ToolAnnotations) bool {
	empty, listed := r.emptyList()
	if listed {
		return empty
	}
	if of.ReadOnlyHint == nil || !*of.ReadOnlyHint || len(r.Media) > 0 {
		return false
	}
	text := strings.TrimSpace(r.OutputText())
	var value any
	if text == "" || text == "null" {
		return true
	}
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	nothing, lists := listsNothing(value)
	return nothing && lists
}

// listsNothing reports whether a JSON value holds nothing, and whether it has a list.
func listsNothing(value any) (nothing, lists bool) {
	switch v := value.(type) {
	case []any:
		return len(v) == 0, true
	case map[string]any:
		nothing = true
		for _, member := range v {
			none, list := listsNothing(member)
			nothing, lists = nothing && none, lists || list
		}
		return nothing, lists
	}
	return value == nil || value == false || value == 0.0 || value == "", false
}

// IsPerhaps reports whether a search found nothing sure, and offers what holds a part of the question.
func (r ToolResult) IsPerhaps() bool {
	var structured struct {
		Perhaps []json.RawMessage `json:"perhaps"`
	}
	empty, _ := r.emptyList()
	return empty && json.Unmarshal(r.Output, &structured) == nil && len(structured.Perhaps) > 0
}

// IsDoubtful reports whether what a search found may well be the wrong thing, so that it is worth searching in
// other words.
func (r ToolResult) IsDoubtful() bool {
	var structured struct {
		Doubtful bool `json:"doubtful"`
	}
	return json.Unmarshal(r.Output, &structured) == nil && structured.Doubtful
}

// emptyList reports whether the result lists results, and whether there are none.
func (r ToolResult) emptyList() (empty, listed bool) {
	var structured struct {
		Results *[]json.RawMessage `json:"results"`
	}
	if json.Unmarshal(r.Output, &structured) != nil || structured.Results == nil {
		return false, false
	}
	return len(*structured.Results) == 0, true
}
