package search

import (
	"bufio"
	"embed"
	"fmt"
	"strings"
)

//go:embed guide/*.md
var guideFiles embed.FS

// An entry is one topic of the guide in one language.
type entry struct {
	id, lang   string
	title      string
	text       string
	keys       []string
	source     string // who published the facts
	sourceLink string
}

// A guide answers queries from the embedded entries.
type guide struct {
	entries []entry
	index   *index
}

// loadGuide reads and indexes the embedded guide.
func loadGuide() (*guide, error) {
	g := &guide{}
	var anchors []string
	for _, lang := range []string{"vi", "en"} {
		data, err := guideFiles.ReadFile("guide/" + lang + ".md")
		if err != nil {
			return nil, fmt.Errorf("read the dental guide: %w", err)
		}
		entries, words, err := parseGuide(string(data), lang)
		if err != nil {
			return nil, fmt.Errorf("read the dental guide (%s): %w", lang, err)
		}
		g.entries = append(g.entries, entries...)
		anchors = append(anchors, words...)
	}
	g.index = newIndex(g.entries, anchors)
	return g, nil
}

// search returns the entries that answer a query, best first; none when the query
// is not about anything in the guide. An empty lang takes the language
// in which the query hits.
func (g *guide) search(query, lang string) []Result {
	var results []Result
	for _, h := range g.find(query, lang, maxResults) {
		e := g.entries[h.entry]
		results = append(results, Result{
			Title:   e.title + " (" + e.source + ")",
			Content: e.text,
			Link:    e.sourceLink,
			Score:   h.score,
		})
	}
	return results
}

// find looks in one language, or in the one in which the query hits better.
func (g *guide) find(query, lang string, limit int) []hit {
	if lang != "" {
		return g.index.find(query, lang, limit)
	}
	vi, en := g.index.find(query, "vi", limit), g.index.find(query, "en", limit)
	if len(en) == 0 || (len(vi) > 0 && vi[0].score >= en[0].score) {
		return vi
	}
	return en
}

// parseGuide reads the guide's Markdown: a preamble whose comma lists are the words
// of the subject, then one section an entry: "## id | title", "source: name | link",
// "keys: …", text.
func parseGuide(markdown, lang string) (entries []entry, anchors []string, err error) {
	lines := bufio.NewScanner(strings.NewReader(markdown))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		heading, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isHeading:
			id, title, _ := strings.Cut(heading, " | ")
			entries = append(entries, entry{id: id, title: title, lang: lang})
		case len(entries) == 0:
			if !strings.HasPrefix(line, "#") && strings.Contains(line, ",") {
				anchors = append(anchors, split(line)...)
			}
		default:
			entries[len(entries)-1].take(line)
		}
	}
	for _, e := range entries {
		if e.id == "" || e.title == "" || e.text == "" || e.source == "" || !strings.HasPrefix(e.sourceLink, "https://") || len(e.keys) == 0 {
			return nil, nil, fmt.Errorf("entry %q lacks its title, text, keys or source", e.id)
		}
	}
	return entries, anchors, lines.Err()
}

// take reads one line of an entry's section.
func (e *entry) take(line string) {
	if source, ok := strings.CutPrefix(line, "source: "); ok {
		e.source, e.sourceLink, _ = strings.Cut(source, " | ")
		return
	}
	if keys, ok := strings.CutPrefix(line, "keys: "); ok {
		e.keys = split(keys)
		return
	}
	e.text = strings.TrimSpace(e.text + " " + line)
}

func split(line string) []string {
	var items []string
	for item := range strings.SplitSeq(line, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
