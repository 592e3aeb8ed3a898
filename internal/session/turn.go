package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/terminal"
	"molar/internal/text"
)

const (
	// stopWait is how long the prompt waits for a stopped turn to end; it ends in the
	// background otherwise.
	stopWait = 60 * time.Millisecond
	// maxQueue is how many lines typed during an answer are kept.
	maxQueue = 100
)

// A turnEvent is an event of a turn, or its error.
type turnEvent struct {
	event answer.Event
	err   error
}

// ask runs a turn and shows it.
func (s *session) ask(ctx context.Context, prompt string) error {
	asked, err := Question{Prompt: prompt, Pasted: s.pasted, Attached: s.files}.WithFiles()
	s.files = nil
	if err != nil {
		return err
	}
	return s.run(ctx, asked)
}

// run answers a question. Ctrl-C or Escape stops the answer, not the session.
func (s *session) run(ctx context.Context, asked Question) error {
	s.last = &asked
	s.turns.Wait() // a stopped turn may still be saving
	turnCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.f.Timeout > 0 {
		var end context.CancelFunc
		turnCtx, end = context.WithTimeoutCause(turnCtx, s.f.Timeout, fmt.Errorf("no whole answer within %s", s.f.Timeout))
		defer end()
	}
	turn := s.f.turn(asked)
	turn.Approver, turn.Person = sessionApprover{s.asks}, sessionPerson{s.wants, s.notes}
	if s.f.Yes {
		turn.Approver = yes{}
	}
	happenings, abandoned := make(chan turnEvent), make(chan struct{})
	defer close(abandoned)
	s.turns.Go(func() {
		defer close(happenings)
		for event, err := range s.h.Runner().Run(turnCtx, turn) {
			select {
			case happenings <- turnEvent{event, err}:
			case <-abandoned:
				return
			}
		}
	})
	v := &turnView{s: s, began: time.Now(), running: map[string]time.Time{}}
	s.editor.SetPrompt(promptMark)
	s.editor.SetBusy(true)
	s.log.news() // what came before is not about this turn
	err := s.follow(turnCtx, cancel, happenings, v)
	v.pause()
	if n := s.log.news(); n > 0 && !v.warned {
		s.lines(text.Counted(n, "warning")+" in the log; /log shows it", terminal.Dim)
	}
	if errors.Is(turnCtx.Err(), context.DeadlineExceeded) {
		return context.Cause(turnCtx)
	}
	return err
}

// follow shows the events until the turn has ended.
func (s *session) follow(ctx context.Context, cancel func(), happenings <-chan turnEvent, v *turnView) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var late <-chan time.Time // set once the person has stopped the turn
	stopped, kept := false, agent.StoredPart("")
	for {
		select {
		case h, ok := <-happenings:
			if !ok && stopped {
				v.stopped(kept)
			}
			if !ok {
				return nil
			}
			if stopped {
				kept = agent.StoredOf(h.err)
				continue
			}
			if h.err != nil {
				return h.err
			}
			err := s.editor.Together(func() error {
				if err := v.event(h.event); err != nil {
					return err
				}
				return s.editor.Paint()
			})
			if err != nil {
				return err
			}
		case key, ok := <-s.keys:
			if !ok {
				return errLeave
			}
			stops := key.Code == terminal.KeyInterrupt || key.Code == terminal.KeyEscape && !s.editor.MenuOpen()
			if stops && !stopped {
				stopped, late = true, v.stop(cancel)
			} else if !stops {
				s.typeAhead(key)
				if err := s.editor.Together(s.editor.Paint); err != nil {
					return err
				}
			}
		case f := <-s.finds:
			if err := s.keepAndShow(f); err != nil {
				return err
			}
		case ask := <-s.asks:
			v.pause()
			began := time.Now()
			allowed := s.approve(ctx, ask)
			v.excludeWait(began)
			if !allowed && !stopped {
				stopped, late = true, v.stop(cancel)
			}
		case want := <-s.wants:
			v.pause()
			began := time.Now()
			answered := s.answer(ctx, want)
			v.excludeWait(began)
			if !answered && !stopped {
				stopped, late = true, v.stop(cancel)
			}
		case note := <-s.notes:
			v.note(note)
			if err := s.editor.Together(s.editor.Paint); err != nil {
				return err
			}
		case <-tick.C:
			if err := v.tick(); err != nil {
				return err
			}
		case <-s.sized:
			if err := v.resized(); err != nil {
				return err
			}
		case <-late:
			v.stopped(kept)
			return nil
		}
	}
}

// stop cancels the turn for Ctrl-C.
func (v *turnView) stop(cancel func()) <-chan time.Time {
	cancel()
	v.pause()
	v.s.queue = nil // typed for an answer that was cancelled
	return time.After(stopWait)
}

// stopped shows what is stored of a stopped turn, which may be unknown yet.
func (v *turnView) stopped(kept agent.StoredPart) {
	said := map[agent.StoredPart]string{
		agent.StoredAnswer:   "stopped; what was answered is kept as interrupted",
		agent.StoredQuestion: "stopped; the question is kept",
		agent.StoredNothing:  "stopped; nothing of this turn is kept",
	}[kept]
	v.s.say("%s", terminal.Dim(cmp.Or(said, "stopped; what is stored of this turn is kept as interrupted")))
}
