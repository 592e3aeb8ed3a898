// Package crash kills a memory server, or a whole host, at random moments, starts it again, and
// compares its content with what it promised before. It owns the children, the history of
// promises and the judgement; it uses the server only over JSON-RPC on two pipes and the host
// only over HTTP, and never reads their store.
package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes the child to kill, and how often.
type Config struct {
	// Command returns the command of the child, which answers JSON-RPC as [Serve] does.
	Command func() *exec.Cmd
	// Cycles is the number of starts and kills.
	Cycles int
	// Writers is the number of clients that save turns concurrently, each in its own
	// conversation.
	Writers int
	// Name distinguishes the conversations of this run from those of other runs on the same
	// store; may be empty.
	Name string
	// Uptime is the longest time from the first saved turn to the kill; zero means
	// 50 ms.
	Uptime time.Duration
	// Seed determines the moments of the kills; runs differ nevertheless.
	Seed uint64
	// Kill ends the child, and possibly more; nil sends SIGKILL.
	Kill func(child *exec.Cmd) error
	// Between runs while no child runs; may be nil.
	Between func() error
	// Trouble breaks something in the middle of each cycle and repairs it before it returns; may
	// be nil. Meanwhile the child may fail, and requests are repeated.
	Trouble func() error
	// ForgetsRecords allows a trouble or a kill to lose data that is not synced to the disk, such
	// as a recorded question.
	ForgetsRecords bool
}

const (
	defaultUptime = 50 * time.Millisecond
	// patience is the longest time for one answer of a child.
	patience = 20 * time.Second
)

// Report is the result of a run. Faults is empty if every promise was kept.
type Report struct {
	Cycles int
	// Saved is the number of turns that were reported saved, Unsure those whose
	// answer the kill cut off.
	Saved, Unsure int
	// Faults are broken promises, one sentence each.
	Faults []string
}

// Run kills and checks. An error means that the run itself could not continue.
func Run(ctx context.Context, cfg Config) (Report, error) {
	return run(ctx, cfg, startPiped)
}

// run is Run over any kind of child.
func run(ctx context.Context, cfg Config, start func(context.Context, *exec.Cmd) (session, error)) (Report, error) {
	if cfg.Command == nil || cfg.Cycles < 1 || cfg.Writers < 1 {
		return Report{}, errors.New("crash: command, cycles and writers are needed")
	}
	if cfg.Uptime <= 0 {
		cfg.Uptime = defaultUptime
	}
	if cfg.Kill == nil {
		cfg.Kill = func(child *exec.Cmd) error { return child.Process.Kill() }
	}
	r := &runner{cfg: cfg, start: start, chance: rand.New(rand.NewPCG(cfg.Seed, 0))}
	for i := range cfg.Writers {
		r.writers = append(r.writers, &writer{conversation: fmt.Sprintf("%swriter-%d", cfg.Name, i), seed: cfg.Seed + uint64(i) + 1, troubled: cfg.Trouble != nil})
	}
	var report Report
	for range cfg.Cycles {
		if err := r.cycle(ctx); err != nil {
			return report, err
		}
		report.Cycles++
	}
	err := r.lastCheck(ctx)
	for _, w := range r.writers {
		report.Saved += w.saved
		report.Unsure += w.unsure
		report.Faults = append(report.Faults, w.faults...)
	}
	return report, err
}

type runner struct {
	cfg     Config
	start   func(context.Context, *exec.Cmd) (session, error)
	chance  *rand.Rand
	writers []*writer
}

// cycle starts a child, checks what the earlier ones left, lets the writers save, and kills the
// child meanwhile.
func (r *runner) cycle(ctx context.Context) error {
	c, err := r.start(ctx, r.cfg.Command())
	if err != nil {
		return err
	}
	if err := r.check(ctx, c); err != nil {
		return errors.Join(err, c.end(r.cfg.Kill))
	}
	var wg sync.WaitGroup
	var once sync.Once
	var failed atomic.Pointer[error]
	saved := make(chan struct{})
	for _, w := range r.writers {
		wg.Go(func() {
			if err := w.save(ctx, c, func() { once.Do(func() { close(saved) }) }); !errors.Is(err, errGone) {
				failed.Store(&err)
				once.Do(func() { close(saved) })
			}
		})
	}
	<-saved
	<-time.After(time.Duration(r.chance.Int64N(int64(r.cfg.Uptime))))
	if r.cfg.Trouble != nil {
		err = r.cfg.Trouble()
		<-time.After(time.Duration(r.chance.Int64N(int64(r.cfg.Uptime))))
	}
	err = errors.Join(err, c.end(r.cfg.Kill))
	wg.Wait()
	if r.cfg.ForgetsRecords {
		for _, w := range r.writers {
			w.forgetRecords()
		}
	}
	if other := failed.Load(); other != nil {
		err = errors.Join(*other, err)
	}
	if err == nil && r.cfg.Between != nil {
		err = r.cfg.Between()
	}
	return err
}

// lastCheck runs a final check, which covers the last kill.
func (r *runner) lastCheck(ctx context.Context) error {
	c, err := r.start(ctx, r.cfg.Command())
	if err != nil {
		return err
	}
	err = errors.Join(r.check(ctx, c), c.end(r.cfg.Kill))
	if r.cfg.Between != nil {
		err = errors.Join(err, r.cfg.Between())
	}
	return err
}

func (r *runner) check(ctx context.Context, c session) error {
	for _, w := range r.writers {
		if err := w.settle(ctx, c); err != nil {
			return err
		}
		if err := w.check(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
