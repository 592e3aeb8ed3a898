package gemini

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/genai"

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

// Search answers a question grounded with Google Search, in one model call, and
// names the pages that the answer stands on, in the service's order. The error is an
// [*providers.Error]; a question that the service refuses to answer is of
// [providers.KindInvalid].
func (p *Provider) Search(ctx context.Context, model, question string) (string, []Page, error) {
	if err := checkModel(model); err != nil {
		return "", nil, p.fail(providers.KindInvalid, model, err)
	}
	if strings.TrimSpace(question) == "" {
		return "", nil, p.fail(providers.KindInvalid, model, errors.New("the search query is empty"))
	}
	var (
		text    strings.Builder
		sources []schemas.Source
		failed  error
	)
	q := searchQuery(model, question)
	p.run(ctx, q, func(chunk providers.Chunk, err error) bool {
		text.WriteString(chunk.Text)
		sources = slices.Concat(sources, chunk.Sources)
		switch {
		case err != nil:
			failed = err
		case chunk.Finish == providers.FinishContentFilter:
			failed = p.fail(providers.KindInvalid, model, errors.New(chunk.Note))
		}
		return true
	})
	if failed != nil {
		return "", nil, failed
	}
	pages := make([]Page, len(sources))
	for i, s := range sources {
		pages[i] = Page{Source: s, Said: strings.Join(q.said[s.URL], " ")}
	}
	return text.String(), pages, nil
}

// note keeps which sentences of the answer rest on which page.
func (q *query) note(g *genai.GroundingMetadata) {
	for _, support := range g.GroundingSupports {
		if support == nil || support.Segment == nil || strings.TrimSpace(support.Segment.Text) == "" {
			continue
		}
		said := strings.TrimSpace(support.Segment.Text)
		for _, i := range support.GroundingChunkIndices {
			if i < 0 || int(i) >= len(g.GroundingChunks) || g.GroundingChunks[i] == nil || g.GroundingChunks[i].Web == nil {
				continue
			}
			address := g.GroundingChunks[i].Web.URI
			if !slices.Contains(q.said[address], said) {
				q.said[address] = append(q.said[address], said)
			}
		}
	}
}
