package answer

import (
	"encoding/json"
	"strconv"
	"strings"

	"molar/schemas"
)

// minQuote is the length of a quotation that shows that an answer used an entry, in bytes.
const minQuote = 40

// Used returns a search's result with the entries, or with those that only perhaps fit, that the answer used, as far as code can tell: an
// answer that cites entries by the numbers of the prompt ("[3]") keeps those up to the last cited,
// so that the numbers of the list match; one that only quotes keeps those that it quotes. Otherwise all stay:
// a model's own words do not show what they are based on.
func Used(result schemas.ToolResult, answer string, quotes bool) schemas.ToolResult {
	var found map[string]json.RawMessage
	var entries []json.RawMessage
	if json.Unmarshal(result.Output, &found) != nil {
		return result
	}
	list := "results"
	if result.IsPerhaps() {
		list = "perhaps"
	}
	if json.Unmarshal(found[list], &entries) != nil || len(entries) == 0 {
		return result
	}
	with := func(entries []json.RawMessage) schemas.ToolResult {
		data, err := json.Marshal(entries)
		if err != nil { // decoded JSON can be encoded
			return result
		}
		found[list] = data
		if output, err := json.Marshal(found); err == nil {
			result.Output = output
		}
		return result
	}
	if last := lastCited(answer); last > 0 && last <= len(entries) {
		return with(entries[:last])
	}
	if !quotes {
		return result
	}
	answer = spaced(answer)
	quoted := make([]json.RawMessage, 0, len(entries))
	for _, entry := range entries {
		if isQuoted(entry, answer) {
			quoted = append(quoted, entry)
		}
	}
	return with(quoted)
}

// spaced returns a text with one space between its words, as quotations lose the ends of lines.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// isQuoted reports whether an answer, which is spaced, quotes a sentence of an entry.
func isQuoted(entry json.RawMessage, answer string) bool {
	var e struct{ Content, Snippet, Text string }
	if json.Unmarshal(entry, &e) != nil {
		return false
	}
	content := spaced(e.Content + e.Snippet + e.Text) // one of them is set
	if content == "" {
		return false
	}
	for sentence := range strings.SplitSeq(content, ". ") {
		if (len(sentence) >= minQuote || len(content) < minQuote) && strings.Contains(answer, sentence) {
			return true
		}
	}
	return false
}

// lastCited returns the highest number in brackets in an answer, 0 without any.
func lastCited(answer string) (last int) {
	for rest := answer; ; {
		open := strings.IndexByte(rest, '[')
		if open < 0 {
			return last
		}
		rest = rest[open+1:]
		inside, after, ok := strings.Cut(rest, "]")
		if n, err := strconv.Atoi(inside); ok && err == nil && !strings.HasPrefix(after, "(") { // else it is a link
			last = max(last, n)
		}
	}
}
