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

// FoundNothing reports whether a search came back without a result: an empty list of results, or no
// text from a tool that only reads.
func (r ToolResult) FoundNothing(of ToolAnnotations) bool {
	empty, listed := r.emptyList()
	if listed {
		return empty
	}
	return of.ReadOnlyHint != nil && *of.ReadOnlyHint && len(r.Media) == 0 && strings.TrimSpace(r.OutputText()) == ""
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
