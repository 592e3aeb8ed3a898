package tape

import (
	"context"
	"iter"

	"molar/providers"
	"molar/schemas"
)

// A GoOn finds who answers from the first request on that differs from the tape. It is
// asked at each such request, since most tapes need nobody.
type Fallback func(ctx context.Context) (providers.Route, error)

// GoOn lets the player leave the tape at the first request that differs, for what g finds
// to answer. What was noted as different by then is reason enough to leave at once.
func (p *Player) SetFallback(g Fallback) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fallback = g
	p.left = len(p.drifts) > 0
}

// Left reports whether the tape was left, and what was asked since.
func (p *Player) Left() (left bool, calls int, usage schemas.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left, p.calls, p.usage
}

// leave notes that the tape does not fit any more; false where nobody would go on.
func (p *Player) leaveTape() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = p.left || p.fallback != nil
	return p.left
}

func (p *Player) hasLeft() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// leaving asks the provider of the tape while the tape fits, and then the other one.
type fallbackProvider struct {
	providers.Provider
	p *Player
}

func (l fallbackProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if !l.p.hasLeft() {
			begun := false
			for chunk, err := range l.Provider.Stream(ctx, req) {
				if err != nil && !begun && l.p.hasLeft() {
					break // it was this request that did not fit
				}
				begun = true
				if !yield(chunk, err) || err != nil {
					return
				}
			}
			if begun {
				return
			}
		}
		for chunk, err := range l.p.streamFallback(ctx, req) {
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// goesOn asks the provider behind the tape, and counts.
func (p *Player) streamFallback(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	p.mu.Lock()
	then := p.fallback
	p.calls++
	p.mu.Unlock()
	return func(yield func(providers.Chunk, error) bool) {
		route, err := then(ctx)
		if err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		req.Model = route.Model
		if req.Pass == providers.PassGuardrail || req.Pass == providers.PassLanguage || req.Pass == providers.PassSummary {
			req.Model = route.SmallModel
		}
		for chunk, err := range route.Provider.Stream(ctx, req) {
			if u := chunk.Usage; u != nil {
				p.mu.Lock()
				p.usage.PromptTokens += u.PromptTokens
				p.usage.CompletionTokens += u.CompletionTokens
				p.usage.TotalTokens += u.TotalTokens
				p.mu.Unlock()
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// plays reports whether calls that the tape has are answered by it, though servers are
// live: where somebody goes on behind the tape.
func (p *Player) hasFallback() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fallback != nil
}
