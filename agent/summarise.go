package agent

import (
	"context"
	"strings"

	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
)

// Summarise is step 9: it condenses one exchange with the small model, in the
// conversation's language. The summary worker calls it after the turn.
func (a *Agent) Summarise(ctx context.Context, lang, question, answer string) (string, error) {
	system, messages := prompts.Summary(lang, prompts.Nonce(), question, answer)
	return a.smallText(ctx, lang, system, messages)
}

// Condense makes a summary that has grown too long shorter, with the small model. The
// text is what the model wrote; the summary worker checks that it lost nothing.
func (a *Agent) Condense(ctx context.Context, lang, summary string) (string, error) {
	system, messages := prompts.Condense(lang, prompts.Nonce(), summary)
	return a.smallText(ctx, lang, system, messages)
}

// smallText is what the small model writes in a pass of the summary.
func (a *Agent) smallText(ctx context.Context, lang, system string, messages []schemas.Message) (string, error) {
	route, err := a.cfg.Models.Pick(ctx, "", "", "")
	if err != nil {
		return "", err
	}
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
