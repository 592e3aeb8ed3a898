package agent

import (
	"context"
	"time"

	"molar/agent/memory"
	"molar/schemas"
)

// open takes the lease. It waits for a running turn of the conversation, and repeats the request
// for a moment if the store does not answer.
func (k *keeper) open(ctx context.Context) (schemas.Opening, error) {
	began := time.Now()
	opening, err := k.ask(ctx)
	k.cfg.Took(time.Since(began))
	if err != nil {
		return schemas.Opening{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lease = opening.Lease
	if !k.ended && opening.Finished == nil {
		k.renew = time.AfterFunc(renewEvery, func() { k.renewLease(context.WithoutCancel(ctx)) })
	}
	return opening, nil
}

// ask waits for its place among the turns of the conversation, and repeats the request for a
// moment if the store does not answer.
func (k *keeper) ask(ctx context.Context) (schemas.Opening, error) {
	req := k.cfg.Turn
	req.Wait = k.cfg.Wait
	var failing time.Time
	for {
		began := time.Now()
		opening, err := k.cfg.Memory.Begin(ctx, req)
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

// renewLease renews the lease in the store. It runs concurrently with the turn until that ends.
func (k *keeper) renewLease(ctx context.Context) {
	k.mu.Lock()
	if k.ended {
		k.mu.Unlock()
		return
	}
	lease := k.lease
	k.renewing.Add(1)
	k.mu.Unlock()
	defer k.renewing.Done()
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	renewed, err := k.cfg.Memory.Renew(ctx, lease)
	if err != nil {
		k.cfg.Log("the lease of a running turn could not be renewed", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.lease = renewed
	}
	if !k.ended {
		k.renew.Reset(renewEvery)
	}
}

func (k *keeper) held() schemas.Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease
}

// Release returns the lease of a turn that was not saved. Work that the turn started has ended before,
// as the group waits for it.
func (k *keeper) Release(ctx context.Context) {
	if !k.Reads() || k.end() {
		return
	}
	lease := k.held()
	if lease.Token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if err := k.cfg.Memory.Release(ctx, lease); err != nil {
		k.cfg.Log("the lease of a turn could not be given back; it ends by itself", err)
	}
}

// end stops the renewals and waits for a running one; it reports whether they had been stopped
// before.
func (k *keeper) end() bool {
	k.mu.Lock()
	was := k.ended
	k.ended = true
	if k.renew != nil {
		k.renew.Stop()
	}
	k.mu.Unlock()
	k.renewing.Wait()
	return was
}
