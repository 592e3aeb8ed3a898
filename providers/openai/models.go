package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// modelsTime bounds the listing of models.
const modelsTime = 30 * time.Second

// Models returns the ids of the service's models, in its order. Errors are of type
// [*providers.Error]; it does not retry.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.models, nil)
	if err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, "", err)
	}
	resp, err := p.do(req, schemas.RevealAll(p.tuning.Headers))
	if err != nil {
		return nil, p.faults.Transport(ctx, "", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		err, _, _ := p.readRefusal("", resp)
		if noList(err) != nil {
			err.Kind = providers.KindUnavailable // no model was requested
		}
		return nil, err
	}
	data, err := wire.All(resp.Body)
	if err != nil {
		return nil, p.faults.Broken(ctx, "", err)
	}
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			OwnedBy string `json:"owned_by"`
			reportedWindow
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, p.faults.NoList(data, err)
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
			p.windows.report(m.ID, m.tokens())
			p.windows.served(m.OwnedBy)
		}
	}
	return ids, nil
}

// Usable chooses the models for a route on the operator's own server. A named model must exist;
// instead of a missing default it picks the first of the server's list, or for judging the
// answering model. Empty names mean the defaults. If the server's list is empty, the named models
// or the defaults are used; if it has no list, the model must be named. The error is a
// [*providers.Error].
func (p *Provider) Usable(ctx context.Context, model, small string) (chosen, chosenSmall, why string, err error) {
	ids, err := p.Models(ctx)
	if refusal := noList(err); refusal != nil {
		if model != "" {
			return model, cmp.Or(small, model), "it is configured, and the server has no list of models", nil
		}
		refusal.Err = fmt.Errorf("%w; where the server has no list of models, name one in %s.model", refusal.Err, p.setting)
	}
	if err != nil {
		return "", "", "", err
	}
	if len(ids) == 0 {
		return cmp.Or(model, DefaultModel), cmp.Or(small, model, DefaultSmallModel), "it answers", nil
	}
	for _, named := range []string{model, small} {
		if named != "" && !slices.Contains(ids, named) {
			return "", "", "", p.unknownModel(named, ids)
		}
	}
	chosen, why = cmp.Or(model, DefaultModel), "it answers"
	if !slices.Contains(ids, chosen) {
		chosen, why = ids[0], "it answers, and has no "+DefaultModel
		p.log.Warn("another model stands in for the default: name one in "+p.setting+".model", "model", chosen)
	}
	if small = cmp.Or(small, DefaultSmallModel); !slices.Contains(ids, small) {
		small = chosen
	}
	return chosen, small, why, nil
}

// noList returns the error of a server without a model list; nil for any other error.
func noList(err error) *providers.Error {
	refusal, _ := errors.AsType[*providers.Error](err)
	if refusal == nil || !slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, refusal.Status) {
		return nil
	}
	return refusal
}

// Has returns nil if the service lists the model or lists none, else an error with the nearest
// name. The error is a [*providers.Error].
func (p *Provider) Has(ctx context.Context, model string) error {
	ids, err := p.Models(ctx)
	if err != nil || len(ids) == 0 || slices.Contains(ids, model) {
		return err
	}
	return p.unknownModel(model, ids)
}

// unknownModel returns the error of a model that the service does not list.
func (p *Provider) unknownModel(model string, ids []string) *providers.Error {
	message := "the server has no such model" + wire.DidYouMean(model, ids)
	if !p.original {
		message += " (it has: " + p.faults.Clean(strings.Join(ids, ", ")) + ")"
	}
	return p.faults.Fail(providers.KindModelNotFound, model, errors.New(message))
}
