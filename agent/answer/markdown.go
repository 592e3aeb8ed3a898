package answer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/schemas"
)

const (
	// maxSources bounds the list under an answer.
	maxSources = 20
	// maxTitle bounds a title, in characters.
	maxTitle = 200
	// maxSourceAddress bounds an address, in bytes.
	maxSourceAddress = 2048
)

// Markdown writes sources as a numbered list under a heading: a link, or the title of what has no address,
// and the place in the language of the answer. A link that leads to a heading needs no place: its title
// names that.
func Markdown(heading, lang string, sources []schemas.Source) string {
	var b strings.Builder
	b.WriteString(heading + "\n\n")
	for i, s := range sources {
		title, place := escapeLabel(s.Title), ""
		if s.URL != "" {
			title = "[" + title + "](" + s.URL + ")"
		}
		if p := s.Place; p != nil && (s.URL == "" || p.Page > 0 || p.Sheet != "") {
			place = " (" + escapeLabel(plainTitle(besides(s.Title, *p).Text(lang))) + ")"
		}
		fmt.Fprintf(&b, "%d. %s%s\n", i+1, title, place)
	}
	return strings.TrimRight(b.String(), "\n")
}

// besides returns a place without the heading that its title ends with.
func besides(title string, p schemas.Place) schemas.Place {
	if p.Sheet == "" && p.Heading != "" && strings.HasSuffix(title, p.Heading) {
		p.Heading, p.Line = "", 0
	}
	return p
}

// escapeLabel escapes a title, so that it cannot end the Markdown link that it is the label of.
func escapeLabel(title string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`).Replace(title)
}

// plainTitle returns a title as one line of visible characters.
func plainTitle(title string) string {
	visible := func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}
	title = strings.Join(strings.Fields(strings.Map(visible, title)), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle-1]) + "…"
	}
	return title
}
