package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"molar/providers"
	"molar/providers/wire"
)

const (
	// modelsTime bounds the listing of models.
	modelsTime = 30 * time.Second
	// maxPages bounds the pages of the list, which have up to a thousand models.
	maxPages = 20
)

// Models returns the ids of the service's models, in its order. Errors are of type
// [*providers.Error]; it does not retry.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	var ids []string
	for page, after := 0, ""; page < maxPages; page++ {
		list, err := p.page(ctx, after)
		if err != nil {
			return nil, err
		}
		for _, m := range list.Data {
			if m.ID != "" {
				ids = append(ids, m.ID)
				p.sizes.report(m.ID, m.Window, m.Most)
			}
		}
		if after = list.Last; !list.More || after == "" {
			break
		}
	}
	return ids, nil
}

// modelList is a page of https://platform.claude.com/docs/en/api/models-list.
type modelList struct {
	Data []struct {
		ID     string `json:"id"`
		Window int    `json:"max_input_tokens"`
		Most   int    `json:"max_tokens"`
	} `json:"data"`
	More bool   `json:"has_more"`
	Last string `json:"last_id"`
}

func (p *Provider) page(ctx context.Context, after string) (*modelList, error) {
	address, err := url.Parse(p.models)
	if err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, "", err)
	}
	query := address.Query()
	query.Set("limit", "1000")
	if after != "" {
		query.Set("after_id", after)
	}
	address.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, p.faults.Fail(providers.KindInvalid, "", err)
	}
	resp, err := p.do(req, p.headers())
	if err != nil {
		return nil, p.faults.Transport(ctx, "", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		err, _ := p.readRefusal("", resp)
		if noList(err) {
			err.Kind = providers.KindUnavailable // no model was requested
		}
		return nil, err
	}
	data, err := wire.All(resp.Body)
	if err != nil {
		return nil, p.faults.Broken(ctx, "", err)
	}
	var list modelList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, p.faults.NoList(data, err)
	}
	return &list, nil
}

// noList reports whether an error is that of a server without a model list.
func noList(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, e.Status)
}

// Has returns nil if the service lists the model, also under a name with its date, or if it lists
// none, else an error with the nearest name. The error is a [*providers.Error].
func (p *Provider) Has(ctx context.Context, model string) error {
	ids, err := p.Models(ctx)
	if noList(err) {
		return nil
	}
	if err != nil || len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return means(model, id) }) {
		return err
	}
	return p.faults.Fail(providers.KindModelNotFound, model, errors.New("the service has no such model"+wire.DidYouMean(model, ids)))
}

// means reports whether a model's name is that of the list, or an alias of it: the same without
// the date, or with "latest" for it.
func means(model, id string) bool {
	alias := strings.TrimSuffix(model, "-latest") + "-2"
	return id == model || strings.HasPrefix(id, alias) && len(id) == len(alias)+len("0251001")
}
