package agent

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/agent/prompts"
)

// maxSources bounds the list under an answer.
const maxSources = 20

// addSources is step 7: the links of the tool results, never the model's own, as a
// numbered list. A client that asked for JSON gets them as data only, as does an
// answer without text.
func (r *run) addSources(ctx context.Context) error {
	if err := r.endText(); err != nil {
		return err
	}
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

// maxTitle bounds a title, in characters; maxAddress an address, in bytes.
const (
	maxTitle   = 200
	maxAddress = 2048
)

// escapeLabel keeps a title from ending, or reaching out of, the Markdown link it
// stands in.
func escapeLabel(title string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`).Replace(title)
}

// plainTitle makes one line of visible characters of a title.
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
