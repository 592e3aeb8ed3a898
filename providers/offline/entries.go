package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// maxTitles is how many search results are named below the one that is quoted.
const maxTitles = 5

// An entry is one search result. Its score is 0 where the tool gives none.
type entry struct {
	title, content string
	score          float64
}

// entryLine finds the labels of a search result entry.
var entryLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(Title|Content|Link|URL|Source):[ \t]*`)
})

// entriesOf reads search results: labelled blocks of text, or a list of objects that all
// have a title and a text, alone or as the only list of an object. Anything else gives none.
func entriesOf(v any) []entry {
	if s, ok := v.(string); ok {
		return blocks(s)
	}
	if o, ok := v.(object); ok {
		lists := slices.DeleteFunc(slices.Clone(o.values), func(e any) bool { _, isList := e.([]any); return !isList })
		if len(lists) != 1 {
			return nil
		}
		v = lists[0]
	}
	items, _ := v.([]any)
	entries := make([]entry, 0, len(items))
	for _, item := range items {
		o, _ := item.(object)
		e := entry{title: o.text("title", "name"), content: o.text("content", "snippet", "body", "summary", "text")}
		if e.title == "" || e.content == "" {
			return nil
		}
		if i := slices.Index(o.keys, "score"); i >= 0 {
			e.score, _ = strconv.ParseFloat(fmt.Sprint(o.values[i]), 64)
		}
		entries = append(entries, e)
	}
	return entries
}

// blocks reads search results that are written as labelled text.
func blocks(s string) []entry {
	if !entryLine().MatchString(s) {
		return nil
	}
	var entries []entry
	for block := range strings.SplitSeq(s, "\n---") {
		said := labelled(block)
		entries = append(entries, entry{title: said["Title"], content: said["Content"]})
	}
	return entries
}

// text returns the first of the keys that holds a string.
func (o object) text(keys ...string) string {
	for _, key := range keys {
		if i := slices.Index(o.keys, key); i >= 0 {
			if s, ok := o.values[i].(string); ok {
				return strings.Join(strings.Fields(s), " ")
			}
		}
	}
	return ""
}

// bestEntry tells the first entry whole, since its last sentence may be the one that warns,
// and the titles of the others: whoever searched has ranked them.
func bestEntry(entries []entry, vietnamese bool) string {
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e == entry{} })
	if len(entries) == 0 {
		return ""
	}
	best := entries[0]
	text := sentences(best.content, maxQuoted)
	switch {
	case text == "":
		text = best.title
	case best.title != "":
		text = strings.TrimRight(best.title, ".:") + ": " + text
	}
	var titles []string
	for _, e := range entries[1:] {
		if e.title != "" && len(titles) < maxTitles {
			titles = append(titles, clip(e.title, maxLine))
		}
	}
	if len(titles) == 0 {
		return text
	}
	return text + "\n\n" + pick(vietnamese, "Cũng tìm thấy: ", "Also found: ") + strings.Join(titles, "; ")
}

// labelled returns what stands behind each label, up to the next one.
func labelled(block string) map[string]string {
	said, end := map[string]string{}, len(block)
	for _, m := range slices.Backward(entryLine().FindAllStringSubmatchIndex(block, -1)) {
		said[block[m[2]:m[3]]] = strings.Join(strings.Fields(block[m[1]:end]), " ")
		end = m[0]
	}
	return said
}

// sentences cuts text at the last end of a sentence or line within limit runes, and marks
// the cut.
func sentences(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	for i := limit - 1; i > limit/2; i-- {
		if runes[i] == '\n' || strings.ContainsRune(".!?", runes[i]) && unicode.IsSpace(runes[i+1]) {
			return strings.TrimSpace(string(runes[:i+1])) + " …"
		}
	}
	return clip(text, limit)
}
