package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"molar/agent/prompts"
	"molar/internal/text"
	"molar/schemas"
)

// An Exchange is what a summary is made of.
type Exchange struct {
	// Language is that of the conversation, such as "vi".
	Language string
	// SummarySoFar is what was said before.
	SummarySoFar string
	Question     string
	// ToolResults is what the tools gave, the beginning of each.
	ToolResults string
	Answer      string
}

// WorkerConfig configures a [Worker].
type WorkerConfig struct {
	Client *Client
	// Summarise writes the summary of one exchange.
	Summarise func(ctx context.Context, x Exchange) (string, error)
	// Condense shortens a summary that has outgrown its budget; nil leaves it long.
	Condense func(ctx context.Context, lang, summary string) (string, error)
	// Title names conversations after their first exchange; nil, or an empty text, leaves them
	// the question.
	Title func(ctx context.Context, x Exchange) (string, error)
	// Unread reports whether no model is to read an exchange with such an answer: its question is kept
	// as its summary, and it names no conversation. Nil means that models may read all.
	Unread func(answer string) bool
	// Queues reports whether the provider answers one request at a time, so that a summary
	// would keep the next turn waiting and push its conversation out of the model's cache.
	// Nil means that it does not.
	Queues func() bool
	// Parallel is how many summaries are made at a time where requests do not queue; 0 means 1.
	Parallel int
	// Threshold is with how many messages without a summary a conversation waits no longer
	// for that; 0 means that it always waits.
	Threshold int
	Logger    *slog.Logger
}

// A Worker keeps summaries up to date: after every turn, and at its start for what
// an earlier process left behind. What is unsummarised is asked of the memory server
// each time, so a crash loses nothing.
type Worker struct {
	cfg  WorkerConfig
	wake chan struct{}

	mu sync.Mutex
	// due says that a turn asked for its summary at once since the last look.
	due   bool
	turns int
}

// lookAfter is how long after a turn the worker looks for conversations above the
// threshold, where requests queue: turns that end together are worth one look.
const lookAfter = time.Second

// quietFor is how long there must be no turn before a summary is made where requests queue. It
// is also longer than a lease holds: by then, the turns of a process that ended before this one
// began can be told from those that run.
const quietFor = 20 * time.Second

// mostTime bounds one summary. It is shorter than a claim holds, so that one that takes too long
// stays claimed and the next claim brings another conversation.
const mostTime = 50 * time.Second

// mostUnread is how much of a question is kept, in bytes, where no model may summarise it.
const mostUnread = 400

// retryAfter is how long the worker rests after a failure. It is as long as a claim
// holds: before that, what failed cannot be claimed again. It rests twice as long after each
// further one, up to longestRest: what a model always refuses is not paid for every minute.
const retryAfter, longestRest = time.Minute, time.Hour

// failuresInARow is after how many failures the worker rests. One conversation that no
// model can summarise must not keep the others waiting; a model that is away fails all.
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

// Nudge says that a turn was saved, and whether its conversation needs the summary soon: it
// is then made at once, also where requests queue. It never blocks.
func (w *Worker) Nudge(due bool) {
	w.mu.Lock()
	w.due = w.due || due
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Began says that a turn runs, until the returned func is called: no summary is begun
// meanwhile where requests queue, unless one is due.
func (w *Worker) Began() (ended func()) {
	count := func(by int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turns += by
	}
	count(1)
	return sync.OnceFunc(func() { count(-1) })
}

// look tells whether a turn asked for its summary since the last look, and whether one runs.
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
	// What an earlier process had in its hands shows itself a little later: turns when their
	// leases end, summaries when its claims do.
	timers := []*time.Timer{time.NewTimer(first), time.NewTimer(quietFor), time.NewTimer(retryAfter), time.NewTimer(lookAfter)}
	quiet, leases, again, look := timers[0], timers[1], timers[2], timers[3]
	look.Stop()
	rest := retryAfter
	work := &crew{w: w, ended: make(chan error), owed: -1}
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
		case err := <-work.ended:
			if err == nil {
				rest = retryAfter
			} else if ctx.Err() == nil {
				w.cfg.Logger.Warn("summaries are behind", "error", err, "again_in", rest)
				again.Reset(rest)
				rest = min(2*rest, longestRest)
			}
			work.goOn(ctx)
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
			all = !w.cfg.Queues() // to see who is gone
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

// A crew are the drains that run beside one another, so that a slow summary holds up no other
// conversation as long as there is a place.
type crew struct {
	w     *Worker
	ended chan error
	busy  int
	// owed is from how many messages on one was wanted while no place was free; below zero none
	// was.
	owed int
}

// begin fills the places that are free, or notes that one is wanted.
func (c *crew) begin(ctx context.Context, least int) {
	places := c.w.places()
	if c.busy >= places && (c.owed < 0 || least < c.owed) {
		c.owed = least
	}
	for ; c.busy < places; c.busy++ {
		go func() { c.ended <- c.w.drainOne(ctx, least) }()
	}
}

// goOn is called when one has ended.
func (c *crew) goOn(ctx context.Context) {
	c.busy--
	if owed := c.owed; owed >= 0 {
		c.owed = -1
		c.begin(ctx, owed)
	}
}

// wait lets all end.
func (c *crew) wait() {
	for ; c.busy > 0; c.busy-- {
		<-c.ended //nolint:errcheck // the work was called off
	}
}

// places is how many summaries are made at a time.
func (w *Worker) places() int {
	if w.cfg.Queues() {
		return 1
	}
	return max(w.cfg.Parallel, 1)
}

// least is from how many messages on a conversation is summarised now.
func (w *Worker) least(all bool) int {
	switch {
	case all:
		return 0
	case w.cfg.Threshold > 0:
		return w.cfg.Threshold
	}
	return math.MaxInt32
}

// Drain summarises everything that is behind, and returns an error of those that failed. What
// failed stays claimed, so that the next claim brings another conversation.
func (w *Worker) Drain(ctx context.Context) error {
	failed := make([]error, w.places())
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() { failed[i] = w.drainOne(ctx, 0) })
	}
	all.Wait()
	return cmp.Or(failed...)
}

// drainOne makes one summary after the other, of conversations with at least so many messages
// that have none.
func (w *Worker) drainOne(ctx context.Context, least int) error {
	var failed error
	for failures := 0; failures < failuresInARow; {
		claim, err := w.cfg.Client.ClaimSummary(ctx, least)
		if err != nil {
			return err
		}
		if claim == nil {
			return failed
		}
		failures++
		if err := w.summarise(ctx, *claim); err != nil {
			failed = fmt.Errorf("conversation %q: %w", claim.ConversationID, err)
		} else {
			failures = 0
		}
		if ctx.Err() != nil {
			return failed
		}
	}
	return failed
}

// summarise writes a piece for each exchange of a claim. Where the summary has outgrown its
// budget by that, a condensed text comes with the piece, in one write.
func (w *Worker) summarise(ctx context.Context, c schemas.SummaryWork) error {
	for _, x := range exchanges(c.Messages) {
		x.Language, x.SummarySoFar = c.Language, c.Summary
		said := text.Clip(x.Question, mostUnread, " […]")
		if w.cfg.Unread == nil || !w.cfg.Unread(x.Answer) {
			if c.Untitled {
				c.Untitled = false
				w.title(ctx, c, x.Exchange)
			}
			var err error
			sctx, cancel := context.WithTimeout(ctx, mostTime)
			said, err = w.cfg.Summarise(sctx, x.Exchange)
			cancel()
			if err != nil {
				return err
			}
		}
		piece := schemas.Piece{Seq: x.last, Text: strings.TrimSpace(said)}
		whole := strings.Trim(c.Summary+"\n\n"+piece.Text, "\n")
		if short := w.condense(ctx, c.Language, whole, len(c.Summary)); short != whole {
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

// title names a conversation. Where that fails it keeps its question as a name, and the next
// exchange is another chance.
func (w *Worker) title(ctx context.Context, c schemas.SummaryWork, x Exchange) {
	if w.cfg.Title == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	title, err := w.cfg.Title(ctx, x)
	if err == nil && title != "" {
		err = w.cfg.Client.SuggestTitle(ctx, c.Owner, c.ConversationID, title)
	}
	if err != nil {
		w.cfg.Logger.Info("a conversation keeps its first question as title", "conversation", c.ConversationID, "error", err)
	}
}

// An exchange ends with the message last.
type exchange struct {
	Exchange
	last int64
}

// exchanges pairs each answer with the question before it. An interrupted answer is
// not summarised; it is passed over when a whole one follows.
func exchanges(messages []schemas.StoredMessage) []exchange {
	var pairs []exchange
	question := ""
	for _, m := range messages {
		switch {
		case m.Role == schemas.RoleUser:
			question = m.Content
		case m.Role == schemas.RoleAssistant && m.Status == "":
			pairs = append(pairs, exchange{
				Exchange: Exchange{Question: question, ToolResults: resultsOf(m.Rounds()), Answer: prompts.WithoutSources(m)},
				last:     m.Seq,
			})
			question = ""
		}
	}
	return pairs
}

// How much of tools' results a summary is made of, in bytes: of all, and of each.
const allResults, oneResult = 4 << 10, 1 << 10

// resultsOf is what the tools of a turn gave, a line each, cut where it is long.
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
