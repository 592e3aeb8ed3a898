package serve

import (
	"context"

	"molar/internal/config"
	"molar/web/public"
)

// visitors returns the assistant that visitors of the operator's site ask; nil if there is none.
func (p *port) visitors() (*public.Config, error) {
	cfg := p.Config.Public
	if !cfg.On() {
		return nil, nil //nolint:nilnil // nothing is public
	}
	mark, mediaType, err := cfg.ReadMark()
	if err != nil {
		return nil, err
	}
	out := &public.Config{
		Assistant: cfg.Assistant, Origins: cfg.Origins, Title: textsOf(cfg.Title), Notice: textsOf(cfg.Notice),
		Privacy: cfg.Privacy, Consent: cfg.Consent, Colour: cfg.Colour, Mark: mark, MarkType: mediaType,
		Limits:    public.Limits{Visitor: cfg.Limits.Visitor, Address: cfg.Limits.Address, All: cfg.Limits.All},
		Keep:      cfg.Keep,
		Count:     p.DB.Count,
		Secret:    func(ctx context.Context) ([]byte, error) { return p.DB.Secret(ctx, "visitors") },
		Emergency: p.Agent.Emergency,
		Refused:   p.Telemetry.CountRefusedVisitor,
	}
	if p.Handovers == nil {
		return out, nil
	}
	hours, err := p.Config.Handover.Opening()
	if err != nil {
		return nil, err
	}
	out.Desk = public.Desk{Handovers: p.Handovers, Hours: hours, Ask: p.Config.Handover.Ask, Fallback: textsOf(p.Config.Handover.Fallback)}
	return out, nil
}

// textsOf returns texts by language.
func textsOf(texts config.Texts) map[string]string {
	all := make(map[string]string, len(texts))
	for _, e := range texts {
		all[e.Name] = e.Value
	}
	return all
}
