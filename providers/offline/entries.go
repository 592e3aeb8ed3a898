package offline

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Limits of what is quoted of search results.
const (
	maxEntries = 3
	maxEntry   = 400 // runes
)

// An entry is one search result.
type entry struct{ title, content string }

// entryLine finds the labels of a search result entry.
var entryLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(Title|Content|Link|URL|Source):[ \t]*`)
})

// quoteText quotes plain text; search results become the content of the best entries.
func quoteText(s string) string {
	s = strings.TrimSpace(s)
	if !entryLine().MatchString(s) {
		return clip(s, maxQuoted)
	}
	var entries []entry
	for block := range strings.SplitSeq(s, "\n---") {
		entries = append(entries, entry{title: labelled(block, "Title"), content: labelled(block, "Content")})
	}
	return paragraphs(entries)
}

// entriesOf reads structured search results: a list of objects that all have a title
// and a text, alone or as the only list of an object. Anything else gives none.
func entriesOf(v any) []entry {
	if o, ok := v.(object); ok {
		var list any
		for _, value := range o.values {
			if _, isList := value.([]any); !isList {
				continue
			}
			if list != nil {
				return nil
			}
			list = value
		}
		v = list
	}
	items, _ := v.([]any)
	entries := make([]entry, 0, len(items))
	for _, item := range items {
		o, _ := item.(object)
		e := entry{title: o.text("title", "name"), content: o.text("content", "snippet", "body", "summary", "text")}
		if e.title == "" || e.content == "" {
			return nil
		}
		entries = append(entries, e)
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

// paragraphs tells the first entries: whoever searched has ranked them.
func paragraphs(entries []entry) string {
	var texts []string
	for _, e := range entries[:min(len(entries), maxEntries)] {
		text := sentences(e.content, maxEntry)
		switch {
		case text == "" && e.title == "":
			continue
		case text == "":
			text = e.title
		case e.title != "":
			text = strings.TrimRight(e.title, ".:") + ": " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n\n")
}

// labelled returns what stands after a label, up to the next one.
func labelled(block, label string) string {
	marks := entryLine().FindAllStringSubmatchIndex(block, -1)
	for i, m := range marks {
		if block[m[2]:m[3]] != label {
			continue
		}
		end := len(block)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		return strings.Join(strings.Fields(block[m[1]:end]), " ")
	}
	return ""
}

// sentences cuts text at the last sentence end within limit runes.
func sentences(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	for i := limit - 1; i > limit/2; i-- {
		if strings.ContainsRune(".!?", runes[i]) && unicode.IsSpace(runes[i+1]) {
			return string(runes[:i+1])
		}
	}
	return clip(text, limit)
}
