package serve

import (
	"context"

	"molar/internal/config"
	"molar/web/public"
)

// visitors returns the assistant that anybody may ask; nil if none is public.
func (p *port) visitors(ctx context.Context) (*public.Config, error) {
	to := p.Config.Public
	if !to.On() {
		return nil, nil //nolint:nilnil // nothing is public
	}
	mark, kind, err := to.ReadMark()
	if err != nil {
		return nil, err
	}
	secret, err := p.DB.Secret(ctx, "visitors")
	if err != nil {
		return nil, err
	}
	cfg := &public.Config{
		Assistant: to.Assistant, Origins: to.Origins, Title: byLanguage(to.Title), Notice: byLanguage(to.Notice), Privacy: to.Privacy,
		Consent: to.Consent, Colour: to.Colour, Mark: mark, MarkType: kind, Limits: public.Limits(to.Limits), Keep: to.Keep,
		Count: p.DB.Count, Secret: secret, Emergency: p.Agent.Emergency, Refused: p.Telemetry.CountRefusedVisitor,
	}
	if p.Handovers != nil { // a nil pointer is no nil interface
		cfg.Desk = p.Handovers
	}
	return cfg, nil
}

func byLanguage(texts config.Texts) map[string]string {
	all := make(map[string]string, len(texts))
	for _, text := range texts {
		all[text.Name] = text.Value
	}
	return all
}
