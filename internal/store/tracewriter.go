package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// The defaults of [TraceWriterConfig]: the age of a trace, and the bytes of all of them.
const (
	DefaultTraceAge   = 7 * 24 * time.Hour
	DefaultTraceBytes = 256 << 20
)

const defaultTraceQueue = 256

const (
	// traceBatch is the most traces that one transaction stores.
	traceBatch = 64
	// traceEvery is the least time between two transactions, unless one is full or somebody waits for it.
	traceEvery = 50 * time.Millisecond
	// pruneEvery is the least time between two prunings.
	pruneEvery = 10 * time.Minute
)

// TraceWriterConfig configures a TraceWriter.
type TraceWriterConfig struct {
	Store *State
	// Logger may be nil.
	Logger *slog.Logger
	// MaxAge and MaxBytes limit the stored traces; zero means 7 days and 256 MiB.
	MaxAge   time.Duration
	MaxBytes int64
	// QueueLen is how many traces may queue; zero means 256.
	QueueLen int
}

// TraceWriter writes traces in the background. A turn never waits for it: when
// the queue is full, the trace is dropped and counted.
type TraceWriter struct {
	cfg     TraceWriterConfig
	queue   chan traceJob
	dropped atomic.Int64
	done    sync.WaitGroup

	mu     sync.RWMutex // guards closed, and queue against a send after its close
	closed bool
}

// traceJob is a trace, the wire traffic of a turn, or, with flushed set, a request to report
// when all before it is written.
type traceJob struct {
	trace   Trace
	wire    *Wire
	flushed chan<- struct{}
}

// NewTraceWriter starts the writer. The caller closes it, before the database.
func NewTraceWriter(cfg TraceWriterConfig) (*TraceWriter, error) {
	if cfg.Store == nil {
		return nil, errors.New("new trace writer: no database given")
	}
	if cfg.MaxAge < 0 || cfg.MaxBytes < 0 || cfg.QueueLen < 0 {
		return nil, errors.New("new trace writer: a limit is below zero")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = DefaultTraceAge
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultTraceBytes
	}
	if cfg.QueueLen == 0 {
		cfg.QueueLen = defaultTraceQueue
	}
	w := &TraceWriter{cfg: cfg, queue: make(chan traceJob, cfg.QueueLen)}
	w.done.Go(w.run)
	return w, nil
}

// Record queues the trace of a turn and returns at once; CreatedAt is set to now. The
// caller must not change the body afterwards. A body above [MaxTrace] is dropped and
// counted, like a trace that finds the queue full or the writer closed.
func (w *TraceWriter) Record(t Trace) {
	if len(t.Body) > MaxTrace {
		w.dropped.Add(1)
		w.cfg.Logger.Warn("trace dropped: too large", "turn", t.TurnID, "bytes", len(t.Body), "limit", MaxTrace)
		return
	}
	t.CreatedAt = w.cfg.Store.db.Now()
	w.send(traceJob{trace: t})
}

// RecordWire queues the wire traffic of a turn, as [TraceWriter.Record] does its trace.
func (w *TraceWriter) RecordWire(wire Wire) { w.send(traceJob{wire: &wire}) }

func (w *TraceWriter) send(job traceJob) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		w.dropped.Add(1)
		return
	}
	select {
	case w.queue <- job:
	default:
		w.dropped.Add(1)
	}
}

// Flush returns when everything recorded before it is written.
func (w *TraceWriter) Flush(ctx context.Context) error {
	flushed := make(chan struct{})
	if err := w.ask(ctx, flushed); err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *TraceWriter) ask(ctx context.Context, flushed chan<- struct{}) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		w.done.Wait() // Close writes the whole queue
		close(flushed)
		return nil
	}
	select {
	case w.queue <- traceJob{flushed: flushed}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dropped returns how many traces were not stored.
func (w *TraceWriter) Dropped() int64 { return w.dropped.Load() }

// Close writes the queue and ends the writer. Later records are dropped.
func (w *TraceWriter) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	w.done.Wait()
	return nil
}

func (w *TraceWriter) run() {
	var pruned, wrote time.Time
	for job := range w.queue {
		batch := w.collect(job, time.Until(wrote.Add(traceEvery)))
		wrote = time.Now()
		w.writeBatch(batch)
		if now := w.cfg.Store.db.Now(); now.Sub(pruned) >= pruneEvery {
			pruned = now
			w.prune()
		}
	}
}

// collect takes what else is queued for a while, up to a batch.
func (w *TraceWriter) collect(first traceJob, wait time.Duration) []traceJob {
	batch := []traceJob{first}
	over := time.NewTimer(wait)
	defer over.Stop()
	for waits := wait > 0; len(batch) < traceBatch; {
		if waits = waits && batch[len(batch)-1].flushed == nil; !waits && len(w.queue) == 0 {
			return batch
		}
		select {
		case job, open := <-w.queue:
			if !open {
				return batch
			}
			batch = append(batch, job)
		case <-over.C:
			waits = false
		}
	}
	return batch
}

func (w *TraceWriter) writeBatch(batch []traceJob) {
	traces := make([]Trace, 0, len(batch))
	for _, job := range batch {
		switch {
		case job.wire != nil:
			if err := w.cfg.Store.PutWire(context.Background(), *job.wire); err != nil {
				w.dropped.Add(1)
				w.cfg.Logger.Warn("wire traffic dropped", "turn", job.wire.TurnID, "error", err)
			}
		case job.flushed == nil:
			traces = append(traces, job.trace)
		}
	}
	// The writer outlives every turn, so no turn's context ends its work.
	if err := w.cfg.Store.PutTraces(context.Background(), traces); err != nil {
		w.dropped.Add(int64(len(traces)))
		w.cfg.Logger.Warn("traces dropped", "count", len(traces), "error", err)
	}
	for _, job := range batch {
		if job.flushed != nil {
			close(job.flushed)
		}
	}
}

func (w *TraceWriter) prune() {
	deleted, err := w.cfg.Store.PruneTraces(context.Background(), w.cfg.MaxAge, w.cfg.MaxBytes)
	if err != nil {
		w.cfg.Logger.Warn("old traces could not be deleted", "error", err)
		return
	}
	if deleted > 0 {
		w.cfg.Logger.Info("old traces deleted", "count", deleted)
	}
}
