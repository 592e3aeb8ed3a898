package agent

import (
	"context"
	"time"

	"molar/agent/memory"
	"molar/schemas"
)

// open takes the lease. It waits for a running turn of the conversation, and repeats the request
// for a moment if the store does not answer.
func (j *journal) open(ctx context.Context) (schemas.Opening, error) {
	began := time.Now()
	opening, err := j.ask(ctx)
	j.cfg.Took(time.Since(began))
	if err != nil {
		return schemas.Opening{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lease = opening.Lease
	if !j.ended && opening.Finished == nil {
		j.renew = time.AfterFunc(renewEvery, func() { j.renewLease(context.WithoutCancel(ctx)) })
	}
	return opening, nil
}

// ask waits for its place among the turns of the conversation, and repeats the request for a
// moment if the store does not answer.
func (j *journal) ask(ctx context.Context) (schemas.Opening, error) {
	req := j.cfg.Turn
	req.Wait = turnWait
	var failing time.Time
	for {
		began := time.Now()
		opening, err := j.cfg.Memory.Begin(ctx, req)
		if err == nil || memory.Lasting(err) {
			return opening, err
		}
		if failing.IsZero() {
			failing = began
		}
		if time.Since(failing)+storeAgain > storeWait || sleep(ctx, storeAgain) != nil {
			return opening, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// renewLease renews the lease in the store, with the text so far. It runs concurrently with the
// turn until that ends.
func (j *journal) renewLease(ctx context.Context) {
	j.mu.Lock()
	if j.ended {
		j.mu.Unlock()
		return
	}
	lease := j.lease
	j.renewing.Add(1)
	j.mu.Unlock()
	defer j.renewing.Done()
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	text := ""
	if !j.cfg.ReadOnly { // not Keeps, which depends on fields that the turn may still change
		text = j.cfg.Answer()
	}
	renewed, err := j.cfg.Memory.Renew(ctx, lease, text)
	if err != nil {
		j.cfg.Log("the lease of a running turn could not be renewed", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		j.lease = renewed
	}
	if !j.ended {
		j.renew.Reset(renewEvery)
	}
}

func (j *journal) held() schemas.Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lease
}

// Release returns the lease of a turn that was not saved. If the turn waits for its client, its
// record stays; after any other turn that ended without failure, the record is deleted. Work that
// the turn started has ended before, as the group waits for it.
func (j *journal) Release(ctx context.Context, failed bool) {
	if !j.Reads() || j.end() {
		return
	}
	lease := j.held()
	if lease.Token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	end := j.cfg.Memory.Discard
	if j.Keeps() && (failed || j.waits) {
		end = j.cfg.Memory.Release
	}
	if err := end(ctx, lease); err != nil {
		j.cfg.Log("the lease of a turn could not be given back; it ends by itself", err)
	}
}

// end stops the renewals and waits for a running one; it reports whether they had been stopped
// before.
func (j *journal) end() bool {
	j.mu.Lock()
	was := j.ended
	j.ended = true
	if j.renew != nil {
		j.renew.Stop()
	}
	j.mu.Unlock()
	j.renewing.Wait()
	return was
}
