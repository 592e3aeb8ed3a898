package prompts

import (
	"fmt"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// Shorten returns a result whose text has at most maxBytes: the beginning, a line that says what is
// left out and how to read on, and the end. The line comes on top of maxBytes. A result that was
// cut before is cut from its two ends, so that it says the true length; 0 means no limit.
func Shorten(r schemas.ToolResult, maxBytes int) schemas.ToolResult {
	shown := r.OutputText()
	head, tail, whole := shown, shown, len(shown)
	if r.Cut != nil {
		head, tail, whole = shown[:r.Cut.Head], shown[len(shown)-r.Cut.Tail:], r.Cut.Whole
	}
	if maxBytes <= 0 || Shown(r) <= maxBytes {
		return r
	}
	end := min(maxBytes/4, len(tail))
	head, tail = head[:text.Border(head, maxBytes-end)], lastBytes(tail, end)
	how := ""
	if r.ID != "" {
		how = fmt.Sprintf("; read_result goes on with result %q from %d", r.ID, len(head))
	}
	r.Cut = &schemas.Cut{Head: len(head), Tail: len(tail), Whole: whole}
	r.Output = schemas.TextOutput(fmt.Sprintf("%s\n… (%d of %d bytes left out%s) …\n%s", head, whole-len(head)-len(tail), whole, how, tail))
	return r
}

// Shown returns how many bytes of its text a result shows.
func Shown(r schemas.ToolResult) int {
	if r.Cut != nil {
		return r.Cut.Head + r.Cut.Tail
	}
	return len(r.OutputText())
}

// lastBytes returns the end of s, at most n bytes of whole characters.
func lastBytes(s string, n int) string {
	from := len(s) - min(max(n, 0), len(s))
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
