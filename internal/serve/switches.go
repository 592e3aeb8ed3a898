package serve

import (
	"context"
	"errors"
	"time"
)

// decisionsRefresh is how often the stored switches, pins, refused tools and added servers are
// reread: the longest delay for another process over the same database.
// If the database tells that nothing in it has changed, they are reread only every decisionsLatest.
const decisionsRefresh, decisionsLatest = 500 * time.Millisecond, time.Minute

// watchDecisions applies, until ctx ends, other processes' decisions about tools and servers,
// and refusals of tools.
func (p *port) watchDecisions(ctx context.Context) {
	tick := time.NewTicker(decisionsRefresh)
	defer tick.Stop()
	said, behind := false, false
	var read time.Time // zero after an error
	var seen int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		version, known := p.DB.Version(ctx) // read first, so that no later change is missed
		if known && version == seen && !behind && time.Since(read) < decisionsLatest {
			continue
		}
		err := errors.Join(p.MCP.Refresh(ctx, p.DB.ToolDigests), p.Refusals.Refresh(ctx))
		if err == nil {
			behind, err = p.takeAdded(ctx, behind)
		}
		if err != nil && ctx.Err() == nil && !said {
			p.Log.Warn("decisions about tools and servers cannot be read; those read before stay in force", "error", err)
		}
		said = err != nil
		if seen, read = version, time.Now(); said {
			read = time.Time{}
		}
	}
}

// takeAdded attaches and detaches servers that were added and removed elsewhere. behind means
// that an earlier try failed; it reports whether this one did.
func (p *port) takeAdded(ctx context.Context, behind bool) (bool, error) {
	changed, err := p.RefreshAdded(ctx)
	if err != nil || !changed && !behind {
		return behind, err
	}
	p.files.mu.Lock()
	defer p.files.mu.Unlock()
	err = p.files.reapply(ctx)
	return err != nil, err
}
