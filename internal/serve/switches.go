package serve

import (
	"context"
	"errors"
	"time"
)

// decisionsRefresh is how often the stored switches, pins, refused tools and added servers are
// read anew: how long another process over the same database goes on as before at most.
const decisionsRefresh = 500 * time.Millisecond

// watchDecisions takes over, until ctx ends, what other processes decided about tools and
// servers, and learnt of tools.
func (p *port) watchDecisions(ctx context.Context) {
	tick := time.NewTicker(decisionsRefresh)
	defer tick.Stop()
	said, behind := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := errors.Join(p.MCP.Refresh(ctx, p.DB.ToolDigests), p.Refusals.Refresh(ctx))
		if err == nil {
			behind, err = p.takeAdded(ctx, behind)
		}
		if err != nil && ctx.Err() == nil && !said {
			p.Log.Warn("what was decided about tools and servers cannot be taken over; what is known so far stays in force", "error", err)
		}
		said = err != nil
	}
}

// takeAdded attaches and detaches what was added and removed elsewhere. It is behind until that
// succeeds.
func (p *port) takeAdded(ctx context.Context, behind bool) (bool, error) {
	changed, err := p.RefreshAdded(ctx)
	if err != nil || !changed && !behind {
		return behind, err
	}
	p.files.mu.Lock()
	defer p.files.mu.Unlock()
	err = p.files.again(ctx)
	return err != nil, err
}
