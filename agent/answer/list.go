package answer

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"molar/schemas"
)

// A List collects sources, each page and each place of a document once, at most 20.
type List struct {
	sources []schemas.Source
	seen    map[string]bool
}

// All returns the sources in the order they were added.
func (l *List) All() []schemas.Source { return l.sources }

// Add adds sources with an absolute http or https address, without a place: what names one may not be of
// this host.
func (l *List) Add(sources ...schemas.Source) {
	for _, s := range sources {
		if address, page, ok := webAddress(s.URL); ok {
			l.add(page, schemas.Source{Title: cmp.Or(plainTitle(s.Title), hostOf(address)), URL: address})
		}
	}
}

// add adds a source, unless there is one of the same key.
func (l *List) add(key string, s schemas.Source) {
	if l.seen[key] || len(l.sources) >= maxSources {
		return
	}
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	l.seen[key] = true
	l.sources = append(l.sources, s)
}

// webAddress returns an absolute http or https address in a form that is safe inside a Markdown
// link. page is the same for all addresses of one page.
func webAddress(raw string) (address, page string, ok bool) {
	u, err := url.Parse(strings.Trim(strings.TrimSpace(raw), "<>"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || len(raw) > maxSourceAddress {
		return "", "", false
	}
	u.Host = strings.ToLower(u.Host)
	address = strings.NewReplacer(
		"(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", `"`, "%22", `\`, "%5C", "`", "%60", "|", "%7C",
	).Replace(u.String())
	if !strings.HasPrefix(u.Fragment, "/") && !strings.HasPrefix(u.Fragment, "!") { // else the fragment names a page
		u.Fragment, u.RawFragment = "", ""
	}
	u.Scheme = ""
	return address, strings.TrimRight(u.String(), "/"), true
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return address
}

// AddResult adds the sources of one result: the passages of a folder of this host; else its resource
// links, url fields of JSON, and in text "Link:" lines and Markdown links.
func (l *List) AddResult(result schemas.ToolResult) {
	if l.addPassages(result, string(result.Output)) {
		return
	}
	l.Add(result.Links...)
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

// AddCut adds the passages of the whole text of a result that the model was shown a part of: those whose
// place stands in that part.
func (l *List) AddCut(result schemas.ToolResult, whole string) { l.addPassages(result, whole) }

// addPassages adds the passages of the search of a folder, and reports whether the result is one. A
// place opens a document of this host to the reader, so only its own tool server may name one, and only in
// the folder that the tool searches.
func (l *List) addPassages(result schemas.ToolResult, whole string) bool {
	var found struct {
		Results, Perhaps []struct {
			Title, Link string
			Place       json.RawMessage
		}
	}
	if result.Server != schemas.ToolServer || json.Unmarshal([]byte(whole), &found) != nil {
		return false
	}
	isFolder := false
	for _, p := range slices.Concat(found.Results, found.Perhaps) {
		var place schemas.Place
		if json.Unmarshal(p.Place, &place) != nil || place.File == "" || place.Folder != result.ToolName {
			continue
		}
		isFolder = true
		if result.Cut != nil && !strings.Contains(result.OutputText(), string(p.Place)) {
			continue
		}
		address, _, _ := webAddress(p.Link)
		where := place
		where.Part = 0 // passages at one place are one source
		l.add(where.Address(), schemas.Source{Title: cmp.Or(plainTitle(p.Title), plainTitle(place.File)), URL: address, Place: &place})
	}
	return isFolder
}

// addValue walks JSON, to the depth of a result list.
func (l *List) addValue(value any, depth int) {
	const deepest = 6
	if depth > deepest {
		return
	}
	switch v := value.(type) {
	case string:
		l.addText(v)
	case []any:
		for _, e := range v {
			l.addValue(e, depth+1)
		}
	case map[string]any:
		title := firstString(v, "title", "name")
		for _, key := range []string{"url", "link", "href", "uri"} {
			if address, ok := v[key].(string); ok {
				l.Add(schemas.Source{Title: title, URL: address})
			}
		}
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
func (l *List) addText(text string) {
	title := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "Title:"); ok {
			title = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "Link:"); ok {
			link := schemas.Source{Title: title, URL: rest}
			if inner := markdownLinks(rest); len(inner) > 0 { // some tools write the line as a link
				link.URL = inner[0].URL
			}
			l.Add(link)
			title = ""
		}
	}
	l.Add(markdownLinks(text)...)
}

// markdownLinks scans for [title](address) by hand, as it runs on every text result. It skips
// images.
func markdownLinks(text string) []schemas.Source {
	var links []schemas.Source
	for rest := text; len(links) < maxSources; {
		mid := strings.Index(rest, "](")
		if mid < 0 {
			break
		}
		open := strings.LastIndexByte(rest[:mid], '[')
		address, ok := linkTarget(rest[mid+2:])
		if open >= 0 && ok && (open == 0 || rest[open-1] != '!') {
			links = append(links, schemas.Source{Title: rest[open+1 : mid], URL: address})
		}
		rest = rest[mid+2:]
	}
	return links
}

// linkTarget reads the address after "](", up to its closing bracket; an address may contain pairs
// of brackets, and a title may follow it.
func linkTarget(text string) (string, bool) {
	depth := 0
	for i, c := range []byte(text[:min(len(text), maxSourceAddress)]) {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return text[:i], i > 0
			}
		case ' ':
			end := strings.IndexAny(text, ")\n")
			return text[:i], i > 0 && end > i && text[end] == ')'
		case '\n':
			return "", false
		}
	}
	return "", false
}
