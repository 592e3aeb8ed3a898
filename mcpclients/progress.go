package mcpclients

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// progress pairs the progress notifications of a server with its calls under way.
type progress struct {
	mu    sync.Mutex
	last  int64
	calls map[int64]func()
}

// watch calls touch at each sign of progress until forget is called with the token.
func (p *progress) watch(touch func()) (token int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[int64]func(){}
	}
	p.last++
	p.calls[p.last] = touch
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
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(params, &of) != nil {
		return
	}
	token, ok := parseID(of.Token)
	if !ok {
		return
	}
	p.mu.Lock()
	touch := p.calls[token]
	p.mu.Unlock()
	if touch != nil {
		touch()
	}
}

// withIdleLimit returns a ctx that ends when idle has passed since the last touch,
// and in any case [MaxTimeout] from now.
func withIdleLimit(ctx context.Context, idle time.Duration) (_ context.Context, touch, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	last := time.Now().Add(MaxTimeout)
	timer := time.AfterFunc(idle, func() { end(errCallTimeout) })
	touch = func() {
		if left := min(idle, time.Until(last)); left > 0 && ctx.Err() == nil {
			timer.Reset(left)
		}
	}
	return ctx, touch, func() {
		timer.Stop()
		end(context.Canceled)
	}
}
