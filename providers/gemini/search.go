package gemini

import (
	"context"
	"errors"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// A Page is a web page that a grounded answer stands on.
type Page struct {
	schemas.Source
	// Said is what the answer takes from the page, empty when the service does not
	// tell.
	Said string
}

// Search answers a question grounded with Google Search, in one request, and
// names the pages that the answer stands on, in the service's order. The error is an
// [*providers.Error]; a question that the service refuses to answer is of
// [providers.KindInvalid].
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
		pages[i] = Page{Source: s, Said: strings.Join(q.said[s.URL], " ")}
	}
	return text.String(), pages, nil
}
