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
	// minPairs is how many pairs of words an answer must share with a result to show which results
	// it used; results in another language share none.
	minPairs = 3
	// shareOfMost is the part of the most used result's score that another needs to count as used.
	shareOfMost = 0.25
	// longAnswer is the length in pairs of words from which an answer in the results' language that
	// shares none of their pairs used none of them.
	longAnswer = 15
)

// Used returns a search's result without the entries that the answer did not use: those that share
// with it few pairs of words that the other entries lack; an answer that says that nothing fits
// used none. If that cannot be decided, all stay. An answer that cites entries by the numbers of
// the prompt ("[3]") keeps those up to the last cited, so that the numbers of the list match.
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
	answerPairs := pairsOf(answer)
	scores := overlap(entries, answerPairs)
	most := 0.0
	for _, n := range scores {
		most = max(most, n)
	}
	if most < minPairs && (len(answerPairs) < longAnswer || !sameLanguage(answer, string(entries[0]))) {
		return result
	}
	for i, entry := range entries {
		if most >= minPairs && scores[i] >= shareOfMost*most {
			kept = append(kept, entry)
		}
	}
	return withEntries(result, found, kept)
}

// withEntries returns a result with other entries.
func withEntries(result schemas.ToolResult, found map[string]json.RawMessage, entries []json.RawMessage) schemas.ToolResult {
	list, err := json.Marshal(entries)
	if err != nil { // decoded JSON can be encoded
		return result
	}
	found["results"] = list
	if output, err := json.Marshal(found); err == nil {
		result.Output = output
	}
	return result
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

// sameLanguage reports whether two texts are surely both Vietnamese or both English. Other
// languages are not distinguished.
func sameLanguage(a, b string) bool {
	one, sure := subject.Detect(a, "")
	other, too := subject.Detect(b, "")
	return sure && too && one == other && one != subject.Other
}

// overlap scores each entry by the pairs of words that it shares with the answer, each divided by
// the number of entries that have it.
func overlap(entries []json.RawMessage, answer map[[2]string]bool) []float64 {
	pairs := make([]map[[2]string]bool, len(entries))
	holders := make(map[[2]string]int)
	for i, raw := range entries {
		var e struct{ Title, Content string }
		_ = json.Unmarshal(raw, &e) // an entry of another form scores 0
		pairs[i] = pairsOf(e.Title + ". " + e.Content)
		for p := range pairs[i] {
			holders[p]++
		}
	}
	scores := make([]float64, len(entries))
	for i := range entries {
		for p := range pairs[i] {
			if answer[p] {
				scores[i] += 1 / float64(holders[p])
			}
		}
	}
	return scores
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
