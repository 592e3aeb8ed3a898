package tape

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"molar/providers"
	"molar/schemas"
)

// callIDs gives each call of a model an id that is the same in every run. The host makes up random ones,
// and a model sees them: a result that is cut names the call under which the rest can be read.
type callIDs struct {
	mu sync.Mutex
	n  map[int]int // the calls so far, by turn
}

// next returns the id of the next call of a turn.
func (c *callIDs) next(turn int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[int]int)
	}
	c.n[turn]++
	return fmt.Sprintf("00000000-0000-4000-8001-%06x%06x", turn, c.n[turn])
}

// A numbered provider gives the calls of a model the ids of a function.
type numbered struct {
	providers.Provider
	id func(turn int, call schemas.ToolCall) string
}

// Unwrap returns the wrapped provider.
func (n numbered) Unwrap() providers.Provider { return n.Provider }

func (n numbered) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for chunk, err := range n.Provider.Stream(ctx, req) {
			if chunk.Call != nil {
				call := *chunk.Call
				call.ID = n.id(turnOf(ctx), call)
				chunk.Call = &call
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// callID returns the id that the tape has for a call, since its later requests may name it; else a new one.
func (p *Player) callID(turn int, call schemas.ToolCall) string {
	if turn < 1 || turn > len(p.cfg.Tape.Turns) {
		return p.ids.next(turn)
	}
	call.Function.Arguments = p.cfg.Redactor.Text(call.Function.Arguments)
	made := callText(TurnCall{Call: call})
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.cfg.Tape.Turns[turn-1].Calls {
		if was := &p.cfg.Tape.Turns[turn-1].Calls[i]; !p.named[was] && was.Call.ID != "" && callText(*was) == made {
			p.named[was] = true
			return was.Call.ID
		}
	}
	return p.ids.next(turn)
}
