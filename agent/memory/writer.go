package memory

import (
	"context"
	"fmt"
	"strings"

	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
)

// A Writer writes summaries with the small model.
type Writer struct {
	// Pick returns the route of the small model for the texts of an assistant, which may be "".
	Pick func(ctx context.Context, assistant string) (providers.Route, error)
	// Groups returns the groups that the calls for an owner are charged to besides them; nil means none.
	Groups func(ctx context.Context, owner string) ([]string, error)
}

// Summarise condenses one exchange, in the conversation's language.
func (w Writer) Summarise(ctx context.Context, x prompts.SummaryInput) (string, error) {
	system, messages := prompts.Summary(x)
	return w.smallText(ctx, x, system, messages)
}

// Condense shortens the summary so far, which has grown too long. It returns the model's text
// unchecked; the worker checks that nothing is lost.
func (w Writer) Condense(ctx context.Context, x prompts.SummaryInput) (string, error) {
	system, messages := prompts.Condense(x.Language, x.SoFar)
	return w.smallText(ctx, x, system, messages)
}

// noModel is the name of the provider that only quotes.
const noModel = "offline"

// Title returns a title for a conversation after its first exchange, in its language. It is empty
// without a model, or if the model wrote no title.
func (w Writer) Title(ctx context.Context, x prompts.SummaryInput) (string, error) {
	if route, err := w.Pick(ctx, x.Assistant); err != nil || route.Provider.Name() == noModel {
		return "", err
	}
	system, messages := prompts.Title(x.Language, x.Question, x.Answer)
	text, err := w.smallText(ctx, x, system, messages)
	return prompts.ReadTitle(text), err
}

// smallText returns the small model's text for a summary pass.
func (w Writer) smallText(ctx context.Context, x prompts.SummaryInput, system string, messages []schemas.Message) (string, error) {
	route, err := w.Pick(ctx, x.Assistant)
	if err != nil {
		return "", err
	}
	payer := providers.Payer{Owner: x.Owner, Assistant: x.Assistant}
	if w.Groups != nil {
		if payer.Groups, err = w.Groups(ctx, x.Owner); err != nil {
			return "", fmt.Errorf("read the groups of the conversation's owner: %w", err)
		}
	}
	req := providers.Request{
		Pass:        providers.PassSummary,
		Payer:       payer,
		Model:       route.SmallModel,
		System:      system,
		Messages:    messages,
		Language:    x.Language,
		Temperature: new(0.0),
	}
	var text strings.Builder
	for chunk, err := range route.For(req.Pass).Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		text.WriteString(chunk.Text)
	}
	return text.String(), nil
}
