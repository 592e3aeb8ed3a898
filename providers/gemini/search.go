package gemini

import (
	"context"
	"errors"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// A Page is a web page that a grounded answer rests on.
type Page struct {
	schemas.Source
	// Said is what the answer takes from the page, empty if the service does not report it.
	Said string
}

// Found is what a search found.
type Found struct {
	Text string
	// Pages are those that the text rests on, in the service's order.
	Pages []Page
	// Usage is what the service counts, and nil if it does not: tokens, but not the searches, which it
	// bills apart.
	Usage *schemas.Usage
}

// Search answers a question grounded with Google Search, in one request. The error is a
// [*providers.Error]; its kind is [providers.KindInvalid] if the service refuses to answer. The usage is
// set after an error too.
func (p *Provider) Search(ctx context.Context, model, question string) (found Found, err error) {
	if err := checkModel(model); err != nil {
		return found, p.faults.Fail(providers.KindInvalid, model, err)
	}
	if strings.TrimSpace(question) == "" {
		return found, p.faults.Fail(providers.KindInvalid, model, errors.New("the search query is empty"))
	}
	var (
		text    strings.Builder
		sources []schemas.Source
	)
	q := searchQuery(model, question)
	err = p.run(ctx, q, providers.Request{Model: model}, func(chunk providers.Chunk) error {
		if chunk.Usage != nil {
			found.Usage = chunk.Usage
		}
		text.WriteString(chunk.Text)
		sources = slices.Concat(sources, chunk.Sources)
		if chunk.Finish == providers.FinishContentFilter {
			return p.faults.Fail(providers.KindInvalid, model, errors.New(chunk.Note))
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	found.Text, found.Pages = text.String(), make([]Page, len(sources))
	for i, s := range sources {
		found.Pages[i] = Page{Source: s, Said: strings.Join(q.quotes[s.URL], " ")}
	}
	return found, nil
}
