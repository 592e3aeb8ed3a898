package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"molar/providers"
)

// modelsTime bounds the listing of models.
const modelsTime = 30 * time.Second

// Models lists the ids of the models that the service has, in its order. Errors
// are of type [*providers.Error]; nothing is tried again.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.models, nil)
	if err != nil {
		return nil, p.fail(providers.KindInvalid, "", p.plain(err))
	}
	resp, err := p.do(req)
	if err != nil {
		return nil, p.transportError(ctx, "", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, p.readRefusal("", resp).err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxLine+1))
	if err != nil {
		return nil, p.transportError(ctx, "", err)
	}
	if len(data) > maxLine {
		return nil, p.fail(providers.KindProtocol, "", errors.New("the list of models is longer than 8 MB"))
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, p.fail(providers.KindProtocol, "", fmt.Errorf("the list of models cannot be read: %w", err))
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}
