package answer

import (
	"encoding/json"
	"strconv"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
	"molar/schemas"
)

const (
	// told is from how many pairs of words on an answer tells which results it used; the
	// results of another language share none with it.
	told = 3
	// shareOfMost is how much of what the most used result lends another must lend to count.
	shareOfMost = 0.25
	// enoughSaid is of how many pairs of words on an answer in the language of the results, that
	// shares none of theirs, used none of them.
	enoughSaid = 15
)

// Used returns a search's result without the entries of which an answer says nothing: those
// that share few pairs of words with it that the other entries lack; an answer that says that
// nothing fits used none. Where the answer does not tell, all stay. An answer that names entries by
// the numbers that the prompt gives them ("[3]") keeps those up to the last, so that the numbers of
// the list are the same.
func Used(result schemas.ToolResult, answer string) schemas.ToolResult {
	var found map[string]json.RawMessage
	var entries []json.RawMessage
	if json.Unmarshal(result.Output, &found) != nil || json.Unmarshal(found["results"], &entries) != nil || len(entries) < 2 {
		return result
	}
	if last := lastCited(answer); last > 0 && last <= len(entries) {
		return withEntries(result, found, entries[:last])
	}
	kept := make([]json.RawMessage, 0, len(entries))
	said := pairsOf(answer)
	lent := lend(entries, said)
	most := 0.0
	for _, n := range lent {
		most = max(most, n)
	}
	if most < told && (len(said) < enoughSaid || !sameLanguage(answer, string(entries[0]))) {
		return result
	}
	for i, entry := range entries {
		if most >= told && lent[i] >= shareOfMost*most {
			kept = append(kept, entry)
		}
	}
	return withEntries(result, found, kept)
}

// withEntries returns a result with other entries.
func withEntries(result schemas.ToolResult, found map[string]json.RawMessage, entries []json.RawMessage) schemas.ToolResult {
	list, err := json.Marshal(entries)
	if err != nil { // what was read can be written
		return result
	}
	found["results"] = list
	if output, err := json.Marshal(found); err == nil {
		result.Output = output
	}
	return result
}

// lastCited returns the highest number in brackets that an answer names, 0 if it names none.
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

// sameLanguage reports whether two texts are surely in one language. Of two that are neither
// Vietnamese nor English nobody knows.
func sameLanguage(a, b string) bool {
	one, sure := subject.Detect(a, "")
	other, too := subject.Detect(b, "")
	return sure && too && one == other && one != subject.Other
}

// lend counts for each entry the pairs of words that the answer has of it, each the less the
// more entries hold it.
func lend(entries []json.RawMessage, answer map[[2]string]bool) []float64 {
	pairs := make([]map[[2]string]bool, len(entries))
	holders := make(map[[2]string]int)
	for i, raw := range entries {
		var e struct{ Title, Content string }
		_ = json.Unmarshal(raw, &e) // an entry of another form lends nothing
		pairs[i] = pairsOf(e.Title + ". " + e.Content)
		for p := range pairs[i] {
			holders[p]++
		}
	}
	lent := make([]float64, len(entries))
	for i := range entries {
		for p := range pairs[i] {
			if answer[p] {
				lent[i] += 1 / float64(holders[p])
			}
		}
	}
	return lent
}

func pairsOf(s string) map[[2]string]bool {
	pairs := make(map[[2]string]bool)
	last := ""
	for _, w := range text.Words(s) {
		word := strings.ToLower(w.Raw)
		if last != "" && w.Pause == text.NoPause {
			pairs[[2]string{last, word}] = true
		}
		last = word
	}
	return pairs
}
