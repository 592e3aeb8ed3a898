package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// showAnswer is the used part of /api/show, including fields of newer servers that the api
// package lacks.
type showAnswer struct {
	Capabilities  []string                   `json:"capabilities"`
	Template      string                     `json:"template"`
	Parameters    string                     `json:"parameters"`
	ModelInfo     map[string]json.RawMessage `json:"model_info"`
	ProjectorInfo map[string]json.RawMessage `json:"projector_info"`
	Thinking      struct {
		Values []any `json:"values"`
	} `json:"thinking"`
}

// show asks the server about a model. The error may be a [*providers.Error].
func (p *Provider) show(ctx context.Context, model string) (*showAnswer, error) {
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base.JoinPath("/api/show").String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := p.do(req, schemas.RevealAll(p.tuning.Headers))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, p.answerError(model, resp)
	}
	data, err := wire.All(resp.Body)
	if err != nil {
		return nil, err
	}
	var show showAnswer
	if err := json.Unmarshal(data, &show); err != nil {
		return nil, p.faults.Fail(providers.KindProtocol, model, errors.New("the server does not answer like Ollama"))
	}
	return &show, nil
}

func readInfo(show *showAnswer) modelInfo {
	has := func(capability string) bool { return slices.Contains(show.Capabilities, capability) }
	info := modelInfo{tools: has("tools"), thinking: has("thinking"), vision: has("vision"), thoughts: show.Thinking.Values}
	if len(show.Capabilities) == 0 {
		// Servers before 0.6.4 report no capabilities; tools show in the template.
		info.tools = strings.Contains(show.Template, ".Tools")
		info.vision = len(show.ProjectorInfo) > 0
	}
	var arch string
	_ = json.Unmarshal(show.ModelInfo["general.architecture"], &arch)
	info.leveled = arch == "gptoss"
	var length float64
	if json.Unmarshal(show.ModelInfo[arch+".context_length"], &length) == nil && length >= 1 && length < 1<<30 {
		info.context = int(length)
	}
	for line := range strings.Lines(show.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			info.numCtx, _ = strconv.Atoi(f[1])
		}
	}
	return info
}

// think returns the values that set how much a model thinks, the best first; nil to send none.
func (i modelInfo) think(wish schemas.Thinking) []any {
	if !i.thinking {
		return nil
	}
	takes := func(v any) bool { return slices.Contains(i.thoughts, v) }
	if wish == "" || wish == schemas.ThinkingOff {
		switch {
		case len(i.thoughts) == 0 && i.leveled:
			return []any{"low"}
		case len(i.thoughts) == 0, takes(false):
			return []any{false, "low"}
		case takes("none"):
			return []any{"none", false}
		}
		return []any{i.thoughts[0]}
	}
	if takes(string(wish)) || len(i.thoughts) == 0 && i.leveled {
		return []any{string(wish), true}
	}
	return []any{true}
}

// paramThink is the parameter that models may reject.
const paramThink = "think"

// parameters returns what the model may reject in a request.
func (chat *chatRequest) parameters() []wire.Parameter {
	if chat.Think == nil {
		return nil
	}
	return []wire.Parameter{{
		Name: paramThink, Forms: len(chat.thinkForms),
		About: func(r wire.Refusal) bool {
			return r.Status == http.StatusBadRequest && strings.Contains(r.Message, paramThink)
		},
	}}
}
