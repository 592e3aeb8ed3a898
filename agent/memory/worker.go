package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"molar/agent/prompts"
	"molar/internal/text"
	"molar/schemas"
)

// WorkerConfig configures a [Worker].
type WorkerConfig struct {
	Client *Client
	// Summarise writes the summary of one exchange.
	Summarise func(ctx context.Context, x prompts.SummaryInput) (string, error)
	// Condense shortens a summary that has outgrown its budget; nil leaves it long.
	Condense func(ctx context.Context, x prompts.SummaryInput) (string, error)
	// Title names conversations after their first exchange; nil, or an empty text, keeps the
	// question as the title.
	Title func(ctx context.Context, x prompts.SummaryInput) (string, error)
	// Unread reports whether models must not read an exchange with this answer: its question is
	// then its summary, and it gives no title. Nil means that models may read all.
	Unread func(answer string) bool
	// Queues reports whether the provider answers one request at a time, so that a summary would
	// delay the next turn and evict its conversation from the model's cache. Nil means false.
	Queues func() bool
	// Parallel is how many summaries are made at a time if requests do not queue; 0 means 1.
	Parallel int
	// Threshold is how many unsummarised messages make a conversation due without a quiet period; 0
	// means never.
	Threshold int
	Logger    *slog.Logger
}

// A Worker keeps summaries up to date: after every turn, and at its start for work that an earlier
// process left. It asks the memory server each time what is unsummarised, so a crash loses nothing.
type Worker struct {
	cfg  WorkerConfig
	wake chan struct{}

	mu sync.Mutex
	// due is set when a turn has asked for its summary at once since the last look.
	due   bool
	turns int
}

// lookAfter is how long after a turn the worker looks for conversations above the threshold, if
// requests queue: turns that end together need one look.
const lookAfter = time.Second

// quietFor is how long there must be no turn before a summary is made, if requests queue. It is
// longer than a lease: after it, the leases of an earlier process's turns have expired.
const quietFor = 20 * time.Second

// summaryTimeout bounds one summary. It is shorter than a claim, so that one that times out stays
// claimed and the next claim returns another conversation.
const summaryTimeout = 50 * time.Second

// maxUnread bounds, in bytes, the question that is kept as a summary when no model may read it.
const maxUnread = 400

// retryAfter is how long the worker pauses after a failure: as long as a claim, since a failed
// conversation cannot be claimed again before. The pause doubles after each further failure, up to
// longestRest, so that a conversation that the model always refuses is not paid for every minute.
const retryAfter, longestRest = time.Minute, time.Hour

// failuresInARow is the number of consecutive failures after which the worker pauses. One
// conversation that no model can summarise must not block the others; an unreachable model fails all.
const failuresInARow = 3

// NewWorker returns a worker that does nothing until Run.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if cfg.Client == nil || cfg.Summarise == nil {
		return nil, errors.New("summary worker needs a client and a summariser")
	}
	if cfg.Queues == nil {
		cfg.Queues = func() bool { return false }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg, wake: make(chan struct{}, 1)}, nil
}

// Nudge reports a saved turn; if due, its summary is made at once, even if requests queue. It never
// blocks.
func (w *Worker) Nudge(due bool) {
	w.mu.Lock()
	w.due = w.due || due
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Began reports a running turn, until the returned func is called: if requests queue, no summary
// starts meanwhile, unless one is due.
func (w *Worker) Began() (ended func()) {
	count := func(by int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turns += by
	}
	count(1)
	return sync.OnceFunc(func() { count(-1) })
}

// look reports whether a turn has asked for its summary since the last look, and whether a turn is
// running.
func (w *Worker) look() (due, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, w.due = w.due, false
	return due, w.turns > 0
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	first := time.Duration(0)
	if w.cfg.Queues() {
		first = quietFor
	}
	// Work of an earlier process appears a little later: turns when their leases expire, summaries
	// when its claims do.
	timers := []*time.Timer{time.NewTimer(first), time.NewTimer(quietFor), time.NewTimer(retryAfter), time.NewTimer(lookAfter)}
	quiet, leases, again, look := timers[0], timers[1], timers[2], timers[3]
	look.Stop()
	rest := retryAfter
	work := &crew{w: w, found: make(chan search), ended: make(chan drained), owed: -1}
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
		work.wait()
	}()
	for {
		all := true
		select {
		case <-ctx.Done():
			return
		case s := <-work.found:
			work.join(ctx, s)
			continue
		case d := <-work.ended:
			switch {
			case ctx.Err() != nil:
			case d.err != nil:
				w.cfg.Logger.Warn("summaries are behind", "error", d.err, "again_in", rest)
				again.Reset(rest)
				rest = min(2*rest, longestRest)
			case d.made > 0:
				rest = retryAfter
			}
			work.next(ctx)
			continue
		case <-w.wake:
			due, _ := w.look()
			if all = due || !w.cfg.Queues(); !all {
				quiet.Reset(quietFor)
				look.Reset(lookAfter)
				continue
			}
		case <-look.C:
			all = !w.cfg.Queues()
		case <-leases.C:
			all = !w.cfg.Queues() // to find turns whose process ended
		case <-quiet.C:
			if _, running := w.look(); running && w.cfg.Queues() {
				quiet.Reset(quietFor)
				continue
			}
		case <-again.C:
			if all = !w.cfg.Queues(); !all {
				quiet.Reset(quietFor)
			}
		}
		work.begin(ctx, w.least(all))
	}
}

// A crew runs drains concurrently, so that a slow summary does not delay other conversations while
// a place is free. Most turns leave one conversation to summarise or none, so it begins with one
// drain, and each that finds a conversation has another one look for more.
type crew struct {
	w *Worker
	// found receives the next search when a drain has found a conversation.
	found chan search
	ended chan drained
	busy  int
	// owed is the least messages of a drain that was requested while no place was free; negative if
	// none was.
	owed int
}

// search is a look for conversations with least unsummarised messages or more. It starts at most as
// many drains as it has places, so that an unavailable model is not called for all conversations.
type search struct{ least, places int }

// drained is the result of a drain: how many summaries it has made, and one of its errors.
type drained struct {
	made int
	err  error
}

// begin starts a drain, or records that one is owed.
func (c *crew) begin(ctx context.Context, least int) {
	if !c.join(ctx, search{least, c.w.places()}) && (c.owed < 0 || least < c.owed) {
		c.owed = least
	}
}

// join starts a drain if a place is free.
func (c *crew) join(ctx context.Context, s search) bool {
	if s.places == 0 || c.busy >= c.w.places() {
		return false
	}
	c.busy++
	found := sync.OnceFunc(func() {
		select {
		case c.found <- search{s.least, s.places - 1}:
		case <-ctx.Done():
		}
	})
	go func() { c.ended <- c.w.drainOne(ctx, s.least, found) }()
	return true
}

// next is called when a drain has ended, and starts an owed one.
func (c *crew) next(ctx context.Context) {
	c.busy--
	if owed := c.owed; owed >= 0 {
		c.owed = -1
		c.begin(ctx, owed)
	}
}

// wait waits for all drains.
func (c *crew) wait() {
	for ; c.busy > 0; c.busy-- {
		<-c.ended // the work was cancelled
	}
}

// places returns how many summaries are made at a time.
func (w *Worker) places() int {
	if w.cfg.Queues() {
		return 1
	}
	return max(w.cfg.Parallel, 1)
}

// least returns how many unsummarised messages a conversation needs to be summarised now.
func (w *Worker) least(all bool) int {
	switch {
	case all:
		return 0
	case w.cfg.Threshold > 0:
		return w.cfg.Threshold
	}
	return math.MaxInt32
}

// Drain summarises all conversations that lack a summary, and returns one of the errors. A failed
// conversation stays claimed, so that the next claim returns another.
func (w *Worker) Drain(ctx context.Context) error {
	failed := make([]error, w.places())
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() { failed[i] = w.drainOne(ctx, 0, func() {}).err })
	}
	all.Wait()
	return cmp.Or(failed...)
}

// drainOne makes one summary after the other, of conversations with least unsummarised messages or
// more. It calls found after each claim.
func (w *Worker) drainOne(ctx context.Context, least int, found func()) (d drained) {
	for failures := 0; failures < failuresInARow; {
		claim, err := w.cfg.Client.ClaimSummary(ctx, least, w.cfg.Title != nil && least == 0)
		if err != nil {
			d.err = err
			return d
		}
		if claim == nil {
			return d
		}
		found()
		failures++
		if err := w.summarise(ctx, *claim); err != nil {
			d.err = fmt.Errorf("conversation %q: %w", claim.ConversationID, err)
		} else {
			failures, d.made = 0, d.made+1
		}
		if ctx.Err() != nil {
			return d
		}
	}
	return d
}

// summarise writes a piece for each exchange of a claim, or only its title. If the summary then exceeds its budget,
// the same write includes a condensed text.
func (w *Worker) summarise(ctx context.Context, c schemas.SummaryWork) error {
	for seq, x := range exchanges(c.Messages) {
		x.Language, x.SoFar, x.Owner = c.Language, c.Summary, c.Owner
		if c.TitleOnly {
			return w.title(ctx, c, x)
		}
		summary := text.Clip(x.Question, maxUnread, " […]")
		switch {
		case x.Assistant == schemas.Desk:
			summary = prompts.DeskSummary(x.Language, text.Clip(x.Answer, maxUnread, " […]"))
		case x.Answer == "": // it was for the desk
		case w.cfg.Unread == nil || !w.cfg.Unread(x.Answer):
			if c.Untitled {
				c.Untitled = false
				if err := w.title(ctx, c, x); err != nil {
					w.cfg.Logger.Info("a conversation keeps its first question as title", "conversation", c.ConversationID, "error", err)
				}
			}
			var err error
			sctx, cancel := context.WithTimeout(ctx, summaryTimeout)
			summary, err = w.cfg.Summarise(sctx, x)
			cancel()
			if err != nil {
				return err
			}
		}
		piece := schemas.Piece{Seq: seq, Text: strings.TrimSpace(summary)}
		whole := strings.Trim(c.Summary+"\n\n"+piece.Text, "\n")
		x.SoFar = whole
		if short := w.condense(ctx, x, len(c.Summary)); short != whole {
			piece.Condensed, whole = short, short
		}
		switch err := w.cfg.Client.AddPiece(ctx, c.Owner, c.ConversationID, piece); {
		case errors.Is(err, ErrStale), errors.Is(err, ErrUnknown):
			return nil // another worker was faster, or the conversation was cleared
		case err != nil:
			return err
		}
		c.Summary = whole
		w.cfg.Logger.Info("[STEP 9.4] Summary updated", "conversation", c.ConversationID, "length", len([]rune(c.Summary)))
	}
	return nil
}

// title names a conversation, once: if the model writes no title, or must not read the exchange, it
// is the question. After a failure the next answer tries again.
func (w *Worker) title(ctx context.Context, c schemas.SummaryWork, x prompts.SummaryInput) error {
	if w.cfg.Title == nil {
		return nil
	}
	title := ""
	if w.cfg.Unread == nil || !w.cfg.Unread(x.Answer) {
		var err error
		tctx, cancel := context.WithTimeout(ctx, summaryTimeout)
		defer cancel()
		if title, err = w.cfg.Title(tctx, x); err != nil {
			return fmt.Errorf("write a title: %w", err)
		}
	}
	title = cmp.Or(title, prompts.QuestionTitle(x.Question))
	return w.cfg.Client.SuggestTitle(ctx, c.Owner, c.ConversationID, title)
}

// exchanges pairs each answer with the question before it, by the sequence number of the answer.
// It skips interrupted answers.
func exchanges(messages []schemas.StoredMessage) iter.Seq2[int64, prompts.SummaryInput] {
	return func(yield func(int64, prompts.SummaryInput) bool) {
		question := ""
		for _, m := range messages {
			switch {
			case m.Role == schemas.RoleUser:
				question = m.Content
			case m.Role == schemas.RoleAssistant && m.Status == "":
				if !yield(m.Seq, prompts.SummaryInput{Assistant: m.Assistant, Question: question, Results: resultsOf(m.Rounds()), Answer: prompts.WithoutSources(m)}) {
					return
				}
				question = ""
			}
		}
	}
}

// The limits of the tool results in a summary's input, in bytes: of all, and of each.
const allResults, oneResult = 4 << 10, 1 << 10

// resultsOf returns the tool results of a turn, a line each, cut if long.
func resultsOf(rounds []schemas.Round) string {
	var all strings.Builder
	for _, round := range rounds {
		for _, r := range round.Results {
			line := text.Clip(r.ToolName+": "+r.OutputText(), oneResult, " […]") + "\n"
			if all.Len()+len(line) > allResults {
				return strings.TrimSpace(all.String())
			}
			all.WriteString(line)
		}
	}
	return strings.TrimSpace(all.String())
}
