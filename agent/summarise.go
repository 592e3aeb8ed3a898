package agent

import (
	"context"
	"strings"

	"molar/agent/prompts"
	"molar/providers"
)

// Summarise is step 9: it condenses one exchange with the small model, in the
// conversation's language. The summary worker calls it after the turn.
func (a *Agent) Summarise(ctx context.Context, lang, question, answer string) (string, error) {
	route, err := a.cfg.Models.Pick(ctx, "", "", "")
	if err != nil {
		return "", err
	}
	system, messages := prompts.Summary(lang, prompts.Nonce(), question, answer)
	req := providers.Request{
		Pass:        providers.PassSummary,
		Model:       route.SmallModel,
		System:      system,
		Messages:    messages,
		Language:    lang,
		Temperature: new(0.0),
	}
	var text strings.Builder
	for chunk, err := range route.Provider.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		text.WriteString(chunk.Text)
	}
	return text.String(), nil
}
