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

// Search answers a question grounded with Google Search, in one request, and returns the pages
// that the answer rests on, in the service's order. The error is a [*providers.Error]; its kind
// is [providers.KindInvalid] if the service refuses to answer.
func (p *Provider) Search(ctx context.Context, model, question string) (string, []Page, error) {
	if err := checkModel(model); err != nil {
		return "", nil, p.faults.Fail(providers.KindInvalid, model, err)
	}
	if strings.TrimSpace(question) == "" {
		return "", nil, p.faults.Fail(providers.KindInvalid, model, errors.New("the search query is empty"))
	}
	var (
		text    strings.Builder
		sources []schemas.Source
	)
	q := searchQuery(model, question)
	err := p.run(ctx, q, providers.Request{Model: model}, func(chunk providers.Chunk) error {
		text.WriteString(chunk.Text)
		sources = slices.Concat(sources, chunk.Sources)
		if chunk.Finish == providers.FinishContentFilter {
			return p.faults.Fail(providers.KindInvalid, model, errors.New(chunk.Note))
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	pages := make([]Page, len(sources))
	for i, s := range sources {
		pages[i] = Page{Source: s, Said: strings.Join(q.quotes[s.URL], " ")}
	}
	return text.String(), pages, nil
}
