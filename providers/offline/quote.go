package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"molar/internal/text"
	"molar/schemas"
)

// Limits of the quotation of one result.
const (
	maxQuoted = 2500 // bytes of plain text
	maxLine   = 400  // bytes of one value
	maxItems  = 20   // entries of a list
	maxTitles = 5    // search results that are listed below the quoted one
	maxDepth  = 4
)

// quote writes a result as readable lines, without links: the agent lists the sources.
func quote(r schemas.ToolResult, vietnamese bool) string {
	if found := entriesOf(r.Output); len(found) > 0 {
		return bestEntry(found, vietnamese)
	}
	var s string
	if schemas.CheckJSON(r.Output) != nil { // other text is quoted unchanged
		s = string(r.Output)
	} else if json.Unmarshal(r.Output, &s) != nil {
		dec := json.NewDecoder(bytes.NewReader(r.Output))
		dec.UseNumber()
		lines, _ := linesOf(dec, 0)
		s = strings.Join(lines, "\n")
	}
	return sentences(strings.TrimSpace(s), maxQuoted)
}

// linesOf writes a complete JSON value as lines, without links and empty values. It keeps the order
// of the keys, which a server chose for readers. height is the depth of nested lists and objects.
func linesOf(dec *json.Decoder, depth int) (lines []string, height int) {
	tok, _ := dec.Token()
	open, nested := tok.(json.Delim)
	if !nested {
		s := oneLine(fmt.Sprint(tok))
		if tok == nil || s == "" || strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
			return nil, 0
		}
		return []string{sentences(s, maxLine)}, 0
	}
	n := 0
	for ; dec.More(); n++ {
		label := "-"
		if open == '{' {
			key, _ := dec.Token()
			label = fmt.Sprint(key, ":")
		}
		inner, deep := linesOf(dec, depth+1)
		switch {
		case len(inner) == 0, depth > maxDepth, open == '[' && n >= maxItems:
			continue
		case deep == 0, open == '[' && deep == 1: // an object of plain values takes one line
			lines = append(lines, label+" "+strings.Join(inner, ", "))
		case open == '[':
			lines = append(lines, "- "+inner[0])
			lines = append(lines, indent(inner[1:])...)
		default:
			lines = append(append(lines, label), indent(inner)...)
		}
		height = max(height, deep+1)
	}
	_, _ = dec.Token() // the closing bracket
	if open == '[' && n > maxItems {
		lines = append(lines, fmt.Sprintf("- … (+%d)", n-maxItems))
	}
	return lines, height
}

func indent(lines []string) []string {
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}

// An entry is one search result. Its score is 0 if the tool returns no scores.
type entry struct {
	title, content string
	score          float64
}

// blockForm matches a search result that is written as labelled text.
var blockForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^Title:[ \t]*(\S.*)\nContent:((?s:.*?))(?:^(?:Place|Link|URL|Source):|^---|\z)`)
})

// quoteSign matches the sign before each line of a text in a block.
var quoteSign = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^> `) })

// entriesOf parses search results: labelled blocks of text, or a list "results" of objects that all
// have a title and a text. For anything else it returns nil.
func entriesOf(output json.RawMessage) []entry {
	var found []entry
	var s string
	if json.Unmarshal(output, &s) == nil {
		for _, m := range blockForm().FindAllStringSubmatch(s, -1) {
			found = append(found, entry{title: oneLine(m[1]), content: oneLine(quoteSign().ReplaceAllString(m[2], ""))})
		}
		return found
	}
	var list struct {
		Results []struct {
			Title, Content, Snippet string
			Score                   float64
		}
	}
	if json.Unmarshal(output, &list) != nil {
		return nil
	}
	for _, r := range list.Results {
		e := entry{oneLine(r.Title), oneLine(cmp.Or(r.Content, r.Snippet)), r.Score}
		if e.title == "" || e.content == "" {
			return nil
		}
		found = append(found, e)
	}
	return found
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// bestEntry writes the first entry in full, as its last sentence may be a warning, and the titles of
// the others. The entries are in the order of the search tool's ranking.
func bestEntry(found []entry, vietnamese bool) string {
	best := found[0].title
	if found[0].content != "" {
		best = strings.TrimRight(best, ".:") + ": " + sentences(found[0].content, maxQuoted)
	}
	if len(found) == 1 {
		return best
	}
	var titles []string
	for _, e := range found[1:min(len(found), maxTitles+1)] {
		titles = append(titles, text.Clip(e.title, maxLine, "…"))
	}
	return best + "\n\n" + pick(vietnamese, "Cũng tìm thấy: ", "Also found: ") + strings.Join(titles, "; ")
}

var sentenceForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\n]*?(?:[.!?](?:\s|$)|\n|$)`) })

// firstSentences returns at most n sentences; a line end ends a sentence too.
func firstSentences(s string, n int) []string {
	var out []string
	for _, s := range sentenceForm().FindAllString(s, -1) {
		if s = strings.TrimSpace(s); s != "" && len(out) < n {
			out = append(out, s)
		}
	}
	return out
}

// sentences cuts a text at the last end of a sentence or line within limit bytes, and marks
// the cut.
func sentences(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	begun := text.Clip(s, limit, "")
	end := max(strings.LastIndexByte(begun, '\n'), strings.LastIndex(begun, ". "), strings.LastIndex(begun, "! "), strings.LastIndex(begun, "? "))
	if end < limit/2 {
		return strings.TrimSpace(begun) + "…"
	}
	return strings.TrimSpace(begun[:end+1]) + " …"
}
