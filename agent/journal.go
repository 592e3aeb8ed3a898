package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"molar/agent/memory"
	"molar/schemas"
)

// Time limits of the journal.
const (
	// storeWait is how long requests to a store that does not answer are repeated, at the
	// beginning and at the end of a turn.
	storeWait = 2 * time.Second
	// storeAgain is the pause between two tries.
	storeAgain = 100 * time.Millisecond
	// turnWait is how long a turn waits for another one of its conversation.
	turnWait = 30 * time.Second
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
	RecordTurn(ctx context.Context, b schemas.StartedTurn) error
	Files(ctx context.Context, owner, conversationID string) ([]schemas.File, error)
	ReadFile(ctx context.Context, owner, conversationID string, seq int64, n int) (memory.File, error)
	PutFile(ctx context.Context, lease schemas.Lease, turnID string, f memory.File) error
	RecordCall(ctx context.Context, lease schemas.Lease, turnID string, call schemas.ToolCall, text string) error
	Renew(ctx context.Context, lease schemas.Lease, text string) (schemas.Lease, error)
	Save(ctx context.Context, r memory.Record) error
	Release(ctx context.Context, lease schemas.Lease) error
	Discard(ctx context.Context, lease schemas.Lease) error
}

// journalConfig is the configuration of a turn's journal.
type journalConfig struct {
	// Memory is nil for a turn that stores nothing.
	Memory Memory
	// Turn opens its conversation; TurnID is its own id.
	Turn   memory.BeginRequest
	TurnID string
	// Fresh means that the turn itself named the conversation: there is nothing to read, and the
	// turn does not wait for the lease.
	Fresh bool
	// ReadOnly stores nothing of the turn: its conversation is only read, under a lease.
	ReadOnly bool
	// Group is waited for at the end of the turn.
	Group *sync.WaitGroup
	// Answer returns the text of the answer so far. It is called concurrently with the turn.
	Answer func() string
	// Log logs failures that are reported nowhere else; Took gets the duration of the read.
	Log  func(msg string, err error)
	Took func(time.Duration)
}

// A journal records the progress of one turn. It can also be used for a turn that stores nothing.
type journal struct {
	cfg     journalConfig
	opening *future[schemas.Opening]
	// recorded is nil until the question has passed the guardrail.
	recorded *future[struct{}]
	// kept is nil if the question has no files.
	kept *future[struct{}]

	mu    sync.Mutex // guards the lease, which is renewed concurrently with the turn
	lease schemas.Lease
	renew *time.Timer
	ended bool
	// renewing is waited for at the end.
	renewing sync.WaitGroup

	// begun is set once the first text has waited for the record.
	begun bool
	// called is set once a call was recorded.
	called atomic.Bool

	// saved is set once the turn is in the store, waits for a turn that continues when its client
	// has run its own tools.
	saved, waits bool
}

// openJournal starts reading the conversation.
func openJournal(ctx context.Context, cfg journalConfig) *journal {
	j := &journal{cfg: cfg}
	if cfg.Memory == nil {
		return j
	}
	if cfg.Fresh { // an interrupted turn is saved too, and needs the lease for that
		ctx = context.WithoutCancel(ctx)
	}
	j.opening = begin(cfg.Group, func() (schemas.Opening, error) { return j.open(ctx) })
	return j
}

// Reads reports whether the turn has a conversation to read.
func (j *journal) Reads() bool { return j.opening != nil }

// Keeps reports whether the turn is to be saved.
func (j *journal) Keeps() bool { return j.Reads() && !j.cfg.ReadOnly }

// Fresh reports whether the turn itself named the conversation, so that there is nothing to
// read.
func (j *journal) Fresh() bool { return j.cfg.Fresh }

// Opening waits for the opening of the conversation. It must not be called unless Reads.
func (j *journal) Opening(ctx context.Context) (schemas.Opening, error) { return j.opening.Wait(ctx) }

// GiveUp lets the turn continue without its conversation.
func (j *journal) GiveUp() { j.opening = nil }

// Recorded reports whether the question was to be recorded.
func (j *journal) Recorded() bool { return j.recorded != nil }

// Called reports whether a call was recorded.
func (j *journal) Called() bool { return j.called.Load() }

// Saved reports whether the turn is in the store.
func (j *journal) Saved() bool { return j.saved }

// Wait keeps the record for the next part of the turn, after its client has run its own tools.
func (j *journal) Wait() { j.waits = true }

// Record records that the question is being answered, concurrently with the turn: the first text
// and a call that writes wait for it. It fills in the journal's fields of b. The question's files
// are stored afterwards.
func (j *journal) Record(ctx context.Context, b schemas.StartedTurn, files []memory.File) {
	if !j.Keeps() || j.recorded != nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	j.recorded = begin(j.cfg.Group, func() (struct{}, error) {
		opening, err := j.opening.Wait(ctx)
		if err != nil || opening.Finished != nil {
			return struct{}{}, err
		}
		ctx, cancel := context.WithTimeout(ctx, storeWait)
		defer cancel()
		b.Lease, b.Owner, b.TurnID, b.Key = opening.Lease, j.cfg.Turn.Owner, j.cfg.TurnID, j.cfg.Turn.Key
		if err = j.cfg.Memory.RecordTurn(ctx, b); err != nil {
			j.cfg.Log("the question could not be recorded", err)
		}
		return struct{}{}, err
	})
	j.keep(ctx, files)
}

// Begun waits until the question is recorded, if it is to be: an answer that was shown must not be
// lost with its question. If the store fails or takes too long, the turn goes on, and its end
// reports it.
func (j *journal) Begun(ctx context.Context) {
	if j.recorded == nil || j.begun {
		return
	}
	j.begun = true
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	_, _ = j.recorded.Wait(ctx) // a failure is logged where it happens
}

// RecordCall records a call that may have an effect, before it is sent. If the store fails, the
// call is sent nevertheless, as the turn was allowed to begin.
func (j *journal) RecordCall(ctx context.Context, call schemas.ToolCall) {
	if j.recorded == nil {
		return
	}
	if _, err := j.recorded.Wait(ctx); err != nil {
		return
	}
	j.called.Store(true)
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := j.cfg.Memory.RecordCall(ctx, j.held(), j.cfg.TurnID, call, j.cfg.Answer()); err != nil {
		j.cfg.Log("a call could not be recorded before it was sent", err)
	}
}

// Save stores the turn and ends the lease. It ignores cancellation: a complete answer must not be
// lost because the client leaves now.
func (j *journal) Save(ctx context.Context, r memory.Record) error {
	ctx = context.WithoutCancel(ctx)
	if j.recorded != nil { // possibly still running: the save must come after it
		_, _ = j.recorded.Wait(ctx) // its own failure is logged, and the save needs no record
		_ = j.Unkept(ctx)           // reported when the turn is saved
	}
	opening, err := j.opening.Wait(ctx)
	if err != nil {
		return err
	}
	r.Lease, r.Owner, r.TurnID = j.held(), j.cfg.Turn.Owner, j.cfg.TurnID
	if r.Lease.Token == "" {
		r.Lease = opening.Lease
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	for err = j.cfg.Memory.Save(ctx, r); err != nil; err = j.cfg.Memory.Save(ctx, r) {
		if memory.Lasting(err) || sleep(ctx, storeAgain) != nil {
			return fmt.Errorf("%w: %w", ErrNotSaved, err)
		}
	}
	j.end()
	j.saved = true
	return nil
}
