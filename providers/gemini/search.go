package gemini

import (
	"context"
	"errors"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// Search answers a question grounded with Google Search, and names the pages that
// the answer stands on, in the service's order. The error is an [*providers.Error];
// a question that the service refuses to answer is of [providers.KindInvalid].
func (p *Provider) Search(ctx context.Context, model, question string) (string, []schemas.Source, error) {
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
	p.run(ctx, searchQuery(model, question), func(chunk providers.Chunk, err error) bool {
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
	return text.String(), sources, nil
}
