package mcpclients

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// progress pairs the progress notifications of a server with its calls under way.
type progress struct {
	mu    sync.Mutex
	last  int64
	calls map[int64]*watched
	held  int // questions to a person that are open
}

// A watched call is one that may bring signs of progress.
type watched struct {
	limit *idleLimit
	hear  func(schemas.News)
	told  time.Time // when hear was called last
}

// watch notes each sign of progress with limit, and tells hear of it, until forget is called
// with the token.
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

// notified takes the params of one notification.
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
	due := time.Since(call.told) >= newsEvery || of.Total > 0 && of.Progress >= of.Total
	if due {
		call.told = time.Now()
	}
	p.mu.Unlock()
	if due {
		call.hear(schemas.News{Text: newsText(of.Message), Progress: of.Progress, Total: of.Total})
	}
}

// hold stops the clocks of all calls while a person thinks about a question; release lets
// them run again.
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

// An idleLimit ends a call when idle has passed since the last sign of progress, and in
// any case [transport.MaxTimeout] after its beginning.
type idleLimit struct {
	idle  time.Duration
	last  time.Time
	timer *time.Timer
}

// withIdleLimit returns a ctx that ends at the limit.
func withIdleLimit(ctx context.Context, idle time.Duration) (context.Context, *idleLimit, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	limit := &idleLimit{idle: idle, last: time.Now().Add(transport.MaxTimeout)}
	limit.timer = time.AfterFunc(idle, func() { end(errCallTimeout) })
	return ctx, limit, func() {
		limit.timer.Stop()
		end(context.Canceled)
	}
}

// touch starts the time anew.
func (l *idleLimit) touch() {
	if left := min(l.idle, time.Until(l.last)); left > 0 {
		l.timer.Reset(left)
	}
}
