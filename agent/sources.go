package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"molar/agent/prompts"
	"molar/schemas"
)

// maxSources bounds the list under an answer.
const maxSources = 20

// addSources is step 7: the links of the tool results, never the model's own, as a
// numbered list. A client that asked for JSON gets them as data only, as does an
// answer without text.
func (r *run) addSources(ctx context.Context) error {
	var list sourceList
	list.add(r.grounded...)
	for _, result := range r.found {
		list.addResult(result)
	}
	for _, round := range r.rounds {
		for _, result := range round.Results {
			if !result.IsError {
				list.addResult(result)
			}
		}
	}
	r.sources = list.sources
	defer func() { r.between(ctx, "FORMATTED RESPONSE", r.answer.String()) }()
	r.mark("8.2", fmt.Sprintf("Formatted response. Sources: %d", len(r.sources)))
	if len(r.sources) == 0 {
		return nil
	}
	if !r.turn.JSON && !r.silent() {
		var b strings.Builder
		fmt.Fprintf(&b, "\n\n%s\n\n", prompts.SourcesHeading(r.lang))
		for i, s := range r.sources {
			fmt.Fprintf(&b, "%d. [%s](%s)\n", i+1, escapeLabel(s.Title), s.URL)
		}
		if err := r.say(strings.TrimRight(b.String(), "\n")); err != nil {
			return err
		}
	}
	return r.emit(Event{Kind: EventSources, Sources: r.sources})
}

// escapeLabel keeps a title from ending the Markdown link it stands in.
func escapeLabel(title string) string {
	return strings.NewReplacer("[", "\\[", "]", "\\]", "\n", " ").Replace(title)
}

// A sourceList collects sources, each address once.
type sourceList struct {
	sources []schemas.Source
	seen    map[string]bool
}

func (l *sourceList) add(sources ...schemas.Source) {
	for _, s := range sources {
		address, ok := webAddress(s.URL)
		if !ok || l.seen[address] || len(l.sources) >= maxSources {
			continue
		}
		if l.seen == nil {
			l.seen = make(map[string]bool)
		}
		l.seen[address] = true
		title := strings.TrimSpace(s.Title)
		if title == "" {
			title = hostOf(address)
		}
		l.sources = append(l.sources, schemas.Source{Title: title, URL: address})
	}
}

// webAddress accepts absolute http and https addresses, in a form that is safe
// inside a Markdown link.
func webAddress(raw string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", false
	}
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String()), true
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}

// addResult takes the links out of one result: its resource links, url fields of
// JSON, and in text "Link:" lines and Markdown links.
func (l *sourceList) addResult(result schemas.ToolResult) {
	l.add(result.Links...)
	var value any
	if json.Unmarshal(result.Output, &value) != nil {
		return
	}
	if text, ok := value.(string); ok {
		l.addText(text)
		return
	}
	l.addValue(value, 0)
}

// addValue walks JSON, as deep as a result list goes.
func (l *sourceList) addValue(value any, depth int) {
	const deepest = 6
	if depth > deepest {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			l.addValue(e, depth+1)
		}
	case map[string]any:
		l.add(schemas.Source{Title: firstString(v, "title", "name"), URL: firstString(v, "url", "link", "href", "uri")})
		for _, key := range slices.Sorted(maps.Keys(v)) {
			l.addValue(v[key], depth+1)
		}
	}
}

func firstString(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// addText reads "Title:" and "Link:" lines, then Markdown links.
func (l *sourceList) addText(text string) {
	title := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "Title:"); ok {
			title = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "Link:"); ok {
			l.add(schemas.Source{Title: title, URL: rest})
			title = ""
		}
	}
	l.add(markdownLinks(text)...)
}

// markdownLinks scans for [title](address) by hand: it runs on every text result.
func markdownLinks(text string) []schemas.Source {
	var links []schemas.Source
	for rest := text; len(links) < maxSources; {
		mid := strings.Index(rest, "](")
		if mid < 0 {
			break
		}
		open := strings.LastIndexByte(rest[:mid], '[')
		end := strings.IndexAny(rest[mid:], ") \n")
		if open >= 0 && end > 2 && rest[mid+end] == ')' {
			links = append(links, schemas.Source{Title: rest[open+1 : mid], URL: rest[mid+2 : mid+end]})
		}
		rest = rest[mid+2:]
	}
	return links
}
