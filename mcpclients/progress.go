package mcpclients

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// progress matches a server's progress notifications to its calls under way.
type progress struct {
	mu    sync.Mutex
	last  int64
	calls map[int64]*watched
	held  int // open questions to a person
}

// A watched is a call that may report progress.
type watched struct {
	limit    *idleLimit
	hear     func(schemas.News)
	lastNews time.Time // last call of hear
}

// watch extends limit and calls hear on each sign of progress, until forget is called with the
// token.
func (p *progress) watch(limit *idleLimit, hear func(schemas.News)) (token int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[int64]*watched{}
	}
	p.last++
	p.calls[p.last] = &watched{limit: limit, hear: hear}
	return p.last
}

func (p *progress) forget(token int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, token)
}

// notified handles the params of one notification.
func (p *progress) notified(params json.RawMessage) {
	var of struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	if json.Unmarshal(params, &of) != nil {
		return
	}
	token, ok := transport.ParseID(of.Token)
	if !ok {
		return
	}
	p.mu.Lock()
	call := p.calls[token]
	if call == nil {
		p.mu.Unlock()
		return
	}
	if p.held == 0 {
		call.limit.touch()
	}
	due := time.Since(call.lastNews) >= newsEvery || of.Total > 0 && of.Progress >= of.Total
	if due {
		call.lastNews = time.Now()
	}
	p.mu.Unlock()
	if due {
		call.hear(schemas.News{Text: newsText(of.Message), Progress: of.Progress, Total: of.Total})
	}
}

// hold stops the clocks of all calls while a person answers a question; release restarts them.
func (p *progress) hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held++
	for _, call := range p.calls {
		call.limit.timer.Stop()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.held--; p.held == 0 {
			for _, call := range p.calls {
				call.limit.touch()
			}
		}
	}
}

// An idleLimit ends a call when idle has passed since the last sign of progress, and at the
// latest [transport.MaxTimeout] after its start.
type idleLimit struct {
	idle  time.Duration
	last  time.Time
	timer *time.Timer
}

// withIdleLimit returns a context that ends at the limit.
func withIdleLimit(ctx context.Context, idle time.Duration) (context.Context, *idleLimit, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	limit := &idleLimit{idle: idle, last: time.Now().Add(transport.MaxTimeout)}
	limit.timer = time.AfterFunc(idle, func() { end(errCallTimeout) })
	return ctx, limit, func() {
		limit.timer.Stop()
		end(context.Canceled)
	}
}

// touch restarts the idle time.
func (l *idleLimit) touch() {
	if left := min(l.idle, time.Until(l.last)); left > 0 {
		l.timer.Reset(left)
	}
}
