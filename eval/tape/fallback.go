package tape

import (
	"context"
	"iter"
	"slices"

	"molar/providers"
	"molar/schemas"
)

// A Fallback returns the route that answers from the first request that differs from the tape.
// It is called for each such request, since most tapes need none.
type Fallback func(ctx context.Context) (providers.Route, error)

// SetFallback makes the player leave the tape at the first request that differs, and ask the
// route of f instead. If something differs already, the player leaves the tape at once.
func (p *Player) SetFallback(f Fallback) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fallback = f
	p.left = slices.ContainsFunc(p.drifts, func(d Drift) bool { return !d.late })
}

// Left reports whether the tape was left, and the model calls and tokens since.
func (p *Player) Left() (left bool, calls int, usage schemas.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left, p.calls, p.usage
}

// NoteUnpriced notes that the fallback made a call whose cost is not known.
func (p *Player) NoteUnpriced() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpriced = true
}

// Cost returns what the fallback's calls cost; nil if the cost of one is not known.
func (p *Player) Cost() *schemas.Cost {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unpriced {
		return nil
	}
	return new(p.usage.Cost)
}

// leaveTape leaves the tape if there is a fallback, and reports whether it was left.
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

// A fallbackProvider asks the provider of the tape while requests match, and then the fallback.
type fallbackProvider struct {
	providers.Provider
	p *Player
}

func (l fallbackProvider) Unwrap() providers.Provider { return l.Provider }

func (l fallbackProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if !l.p.hasLeft() {
			begun := false
			for chunk, err := range l.Provider.Stream(ctx, req) {
				if err != nil && !begun && l.p.hasLeft() {
					break // this request differs from the tape
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

// streamFallback asks the fallback, and counts calls and tokens.
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
		if req.Pass.IsSmall() {
			req.Model = route.SmallModel
		}
		for chunk, err := range route.For(req.Pass).Stream(ctx, req) {
			if u := chunk.Usage; u != nil {
				p.mu.Lock()
				p.usage = p.usage.Add(*u)
				p.mu.Unlock()
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// hasFallback reports whether there is a fallback. Then calls on the tape are answered from it
// even if tools are live.
func (p *Player) hasFallback() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fallback != nil
}
