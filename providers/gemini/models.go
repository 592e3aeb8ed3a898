package gemini

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"molar/providers"
	"molar/providers/wire"
)

// listTime bounds the listing of models.
const listTime = 3 * time.Second

// Models returns the names of the service's models, without "models/".
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var names []string
	for m, err := range p.client.Models.All(ctx) {
		if err != nil {
			return nil, p.unlisted(ctx, err)
		}
		names = append(names, baseName(m.Name))
	}
	return names, nil
}

// unlisted returns the error of a listing that the SDK ended with err.
func (p *Provider) unlisted(ctx context.Context, err error) error {
	if _, unanswered := errors.AsType[*url.Error](err); unanswered {
		return p.faults.Transport(ctx, "", err)
	}
	reason := "the list cannot be read"
	if f := reported(err); f != nil {
		reason = p.faults.Said(f.Code, f.Message)
	}
	return p.faults.Fail(providers.KindUnavailable, "", errors.New("the models cannot be listed: "+reason))
}

// Has returns nil if the service lists the model or lists none, else an error with the nearest
// name. The error is a [*providers.Error].
func (p *Provider) Has(ctx context.Context, model string) error {
	names, err := p.Models(ctx)
	if err != nil || len(names) == 0 || slices.Contains(names, baseName(model)) {
		return err
	}
	return p.faults.Fail(providers.KindModelNotFound, model, errors.New("the service has no such model"+wire.DidYouMean(baseName(model), names)))
}

func baseName(model string) string { return model[strings.LastIndexByte(model, '/')+1:] }
