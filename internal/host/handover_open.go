package host

import (
	"context"

	"molar/internal/config"
	"molar/internal/telemetry/webhook"
	"molar/schemas"
)

// openHandovers opens how visitors reach somebody at the desk, and what tells the desk's inbox; both are nil if
// nobody can be reached.
func (h *Host) openHandovers() (*Handovers, *webhook.Sender, error) {
	to := h.Config.Handover
	if !to.On() || h.taped { // a tape tells nobody
		return nil, nil, nil
	}
	hours, err := to.Opening()
	if err != nil {
		return nil, nil, err
	}
	client, err := Client(h.Config.CAFile)
	if err != nil {
		return nil, nil, err
	}
	var all *Handovers
	hook, err := webhook.New(webhook.Config{
		Hook: "handover", URL: to.Webhook.Reveal(), Key: to.Key(), Store: h.DB, Client: client, Logger: h.Log, Count: h.Telemetry.CountWebhook,
		Ended: func(ctx context.Context, e schemas.WebhookEvent, delivered bool) error {
			return all.Ended(ctx, e, delivered)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	traces := TraceStore{DB: h.DB, Writer: h.Traces, Memory: h.Memory}
	all, err = NewHandovers(HandoversConfig{
		Store: h.DB, Memory: h.Memory, Outbox: hook, NotFound: traces.foundNothing, Hours: hours, Ask: to.Ask, Logger: h.Log,
		Emergency: func(assistant, text string) bool {
			_, ok := h.Agent.Emergency(assistant, text)
			return ok
		},
		Fallback: func(language string) string { return textIn(to.Fallback, language) },
		URL:      h.Config.Address(h.Config.Listen) + "/desk",
	})
	return all, hook, err
}

// foundNothing reports whether the newest turn of an owner found nothing.
func (s TraceStore) foundNothing(ctx context.Context, owner string) (bool, error) {
	newest, _, err := s.Turns(ctx, schemas.TurnFilter{Owner: owner, Limit: 1})
	return len(newest) > 0 && newest[0].Outcome == schemas.OutcomeNotFound, err
}

// textIn returns the text for a language: the first one if there is none, "" without any.
func textIn(texts config.Texts, language string) string {
	if text, ok := texts.Get(language); ok || len(texts) == 0 {
		return text
	}
	return texts[0].Value
}
