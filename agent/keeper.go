package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"molar/agent/journal"
	"molar/agent/memory"
	"molar/schemas"
)

// Time limits of what a turn stores.
const (
	// storeWait is how long requests to a store that does not answer are repeated, at the
	// beginning and at the end of a turn.
	storeWait = 2 * time.Second
	// storeAgain is the pause between two tries.
	storeAgain = 100 * time.Millisecond
	// turnWait is how long a turn waits for another one of its conversation.
	turnWait = 30 * time.Second
	// resumedWait is the same for a turn whose process is gone: no client waits for it.
	resumedWait = 10 * time.Minute
	// filesWait is how long the files of a question may take on their way to the store.
	filesWait = 20 * time.Second
	// renewEvery is how often a running turn renews its lease.
	renewEvery = 5 * time.Second
)

// ErrNotSaved means that the turn could not be stored, even by repeated attempts.
var ErrNotSaved = errors.New("answer not saved")

// Memory stores conversations; [memory.Client] implements it.
type Memory interface {
	Begin(ctx context.Context, r memory.BeginRequest) (schemas.Opening, error)
	Files(ctx context.Context, owner, conversationID string) ([]schemas.File, error)
	ReadFile(ctx context.Context, owner, conversationID string, seq int64, n int) (memory.File, error)
	PutFile(ctx context.Context, lease schemas.Lease, turnID string, f memory.File) error
	Renew(ctx context.Context, lease schemas.Lease) (schemas.Lease, error)
	Save(ctx context.Context, r memory.Record) error
	Release(ctx context.Context, lease schemas.Lease) error
}

// keeperConfig is the configuration of a turn's keeper.
type keeperConfig struct {
	// Memory is nil for a turn that stores nothing.
	Memory Memory
	// Journal is nil for a turn that is lost with its process.
	Journal *journal.Turn
	// GoesOn means that another process may continue the turn.
	GoesOn bool
	// Turn opens its conversation; TurnID is its own id.
	Turn   memory.BeginRequest
	TurnID string
	// Wait is how long the turn waits for another one of its conversation.
	Wait time.Duration
	// Fresh means that the turn itself named the conversation: there is nothing to read, and the
	// turn does not wait for the lease.
	Fresh bool
	// ReadOnly stores nothing of the turn: its conversation is only read, under a lease.
	ReadOnly bool
	// Group is waited for at the end of the turn.
	Group *sync.WaitGroup
	// Log logs failures that are reported nowhere else; Took gets the duration of the read.
	Log  func(msg string, err error)
	Took func(time.Duration)
}

// A keeper keeps one turn: it holds the lease of its conversation, begins its journal and saves it. It
// can also be used for a turn that stores nothing.
type keeper struct {
	cfg     keeperConfig
	opening *future[schemas.Opening]
	// recorded is nil until the question has passed the guardrail.
	recorded *future[struct{}]
	// files are those of the question; unkept names those that could not be stored.
	files  []memory.File
	unkept error

	mu    sync.Mutex // guards the lease, which is renewed concurrently with the turn, and unrecorded
	lease schemas.Lease
	// unrecorded is why a call was not sent.
	unrecorded error
	renew      *time.Timer
	ended      bool
	// renewing is waited for at the end.
	renewing sync.WaitGroup

	// begun is set once the first text has waited for the record, saved once the turn is in the store.
	begun, saved bool
}

// openKeeper starts reading the conversation.
func openKeeper(ctx context.Context, cfg keeperConfig) *keeper {
	k := &keeper{cfg: cfg}
	if cfg.Memory == nil {
		return k
	}
	if cfg.Fresh { // an interrupted turn is saved too, and needs the lease for that
		ctx = context.WithoutCancel(ctx)
	}
	k.opening = begin(cfg.Group, func() (schemas.Opening, error) { return k.open(ctx) })
	return k
}

// Reads reports whether the turn has a conversation to read.
func (k *keeper) Reads() bool { return k.opening != nil }

// Keeps reports whether the turn is to be saved.
func (k *keeper) Keeps() bool { return k.Reads() && !k.cfg.ReadOnly }

// Fresh reports whether the turn itself named the conversation, so that there is nothing to
// read.
func (k *keeper) Fresh() bool { return k.cfg.Fresh }

// Opening waits for the opening of the conversation. It must not be called unless Reads.
func (k *keeper) Opening(ctx context.Context) (schemas.Opening, error) { return k.opening.Wait(ctx) }

// GiveUp lets the turn continue without its conversation.
func (k *keeper) GiveUp() { k.opening = nil }

// Recorded reports whether the question was to be recorded.
func (k *keeper) Recorded() bool { return k.recorded != nil }

// Saved reports whether the turn is in the store.
func (k *keeper) Saved() bool { return k.saved }

// Record begins the journal of a turn whose question has passed, concurrently with the turn: the first
// text and a call that may have an effect wait for it. It fills in the keeper's fields of b.
func (k *keeper) Record(ctx context.Context, b begunTurn) {
	if !k.Keeps() && !k.cfg.GoesOn || k.recorded != nil {
		return
	}
	k.files = b.Files
	keeps, ctx := k.Keeps(), context.WithoutCancel(ctx)
	k.recorded = begin(k.cfg.Group, func() (struct{}, error) {
		b.Owner = k.cfg.Turn.Owner
		if keeps {
			opening, err := k.opening.Wait(ctx)
			if err != nil || opening.Finished != nil {
				return struct{}{}, nil // there is no journal, so no other process continues the turn
			}
			b.Lease, b.Parent, b.First = opening.Lease, k.cfg.Turn.Parent, !opening.Known
		}
		ctx, cancel := context.WithTimeout(ctx, storeWait)
		defer cancel()
		state, err := json.Marshal(b)
		if err == nil {
			err = k.cfg.Journal.Begin(ctx, state, k.cfg.GoesOn)
		}
		if err != nil {
			k.cfg.Log("the question could not be recorded", err)
		}
		return struct{}{}, err
	})
}

// Begun waits until the question is recorded, if it is to be: an answer that was shown must not be
// lost with its question. If the store fails or takes too long, the turn goes on, and its end
// reports it.
func (k *keeper) Begun(ctx context.Context) {
	if k.recorded == nil || k.begun {
		return
	}
	k.begun = true
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	_, _ = k.recorded.Wait(ctx) // a failure is logged where it happens
}

// RecordCall writes the journal up to a call that may have an effect to the disk, before the call is
// sent. If the store fails, a call of a turn that another process may continue must not be sent, as that
// process would send it too; the turn ends with the error of [keeper.Unrecorded]. Any other call is
// sent nevertheless, as the turn was allowed to begin.
func (k *keeper) RecordCall(ctx context.Context, call schemas.ToolCall) error {
	err := k.recordCall(ctx, call)
	switch {
	case ctx.Err() != nil: // a person stopped the turn, or it turned out to be another process's
		return context.Cause(ctx)
	case err == nil:
		return nil
	case k.cfg.GoesOn:
		err = fmt.Errorf("%w: the call could not be recorded, so it was not sent: %w", ErrStore, err)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.unrecorded = err
		return err
	}
	k.cfg.Log("a call could not be recorded before it was sent", err)
	return nil
}

func (k *keeper) recordCall(ctx context.Context, call schemas.ToolCall) error {
	if k.recorded != nil {
		if _, err := k.recorded.Wait(ctx); err != nil {
			return err
		}
	}
	k.cfg.Journal.Sent(call.ID)
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return k.cfg.Journal.Sync(ctx)
}

// Unrecorded returns why a call was not sent; nil if all could be recorded.
func (k *keeper) Unrecorded() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unrecorded
}

// Save stores the turn and ends the lease. It ignores cancellation: a complete answer must not be
// lost because the client leaves now.
func (k *keeper) Save(ctx context.Context, r memory.Record) error {
	ctx = context.WithoutCancel(ctx)
	if k.recorded != nil { // possibly still running: the journal must not begin after the save
		_, _ = k.recorded.Wait(ctx) // its own failure is logged, and the save needs no record
	}
	opening, err := k.opening.Wait(ctx)
	if err != nil {
		return err
	}
	r.Lease, r.Owner, r.TurnID = k.held(), k.cfg.Turn.Owner, k.cfg.TurnID
	if r.Lease.Token == "" {
		r.Lease = opening.Lease
	}
	limit, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	for err = k.cfg.Memory.Save(limit, r); err != nil; err = k.cfg.Memory.Save(limit, r) {
		if memory.Lasting(err) || sleep(limit, storeAgain) != nil {
			return fmt.Errorf("%w: %w", ErrNotSaved, err)
		}
	}
	k.end()
	k.saved = true
	k.unkept = putFiles(ctx, k.cfg.Memory, r.Lease, r.TurnID, k.files)
	return nil
}

// Unkept returns an error that names the files of the question that were not stored.
func (k *keeper) Unkept() error { return k.unkept }
