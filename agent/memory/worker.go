package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"molar/agent/prompts"
	"molar/schemas"
)

// A Summarise writes a summary of one exchange, in the given language.
type Summarise func(ctx context.Context, lang, question, answer string) (string, error)

// A Condense writes a summary anew, shorter, in the given language.
type Condense func(ctx context.Context, lang, summary string) (string, error)

// WorkerConfig configures a [Worker].
type WorkerConfig struct {
	Client    *Client
	Summarise Summarise
	// Condense shortens a summary that has outgrown its budget; nil leaves it long.
	Condense Condense
	// Timeout bounds one summary; 0 means 60 s.
	Timeout time.Duration
	Logger  *slog.Logger
}

// A Worker keeps summaries up to date: after every turn, and at its start for what
// an earlier process left behind. What is unsummarised is asked of the memory server
// each time, so a crash loses nothing.
type Worker struct {
	cfg   WorkerConfig
	nudge chan struct{}
}

// claimAtOnce is how many conversations are claimed in one go: a claim holds for a
// minute only, and models are slow.
const claimAtOnce = 1

// retryAfter is how long the worker rests after a failure. It is as long as a claim
// holds: before that, what failed cannot be claimed again.
const retryAfter = time.Minute

// failuresInARow is after how many failures the worker rests. One conversation that no
// model can summarise must not keep the others waiting; a model that is away fails all.
const failuresInARow = 3

// NewWorker returns a worker that does nothing until Run.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if cfg.Client == nil || cfg.Summarise == nil {
		return nil, errors.New("summary worker needs a client and a summariser")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg, nudge: make(chan struct{}, 1)}, nil
}

// Nudge says that a turn was saved. It never blocks.
func (w *Worker) Nudge() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	again := time.After(retryAfter) // an earlier process may have ended with a claim in its hands
	for {
		if err := w.Drain(ctx); err != nil && ctx.Err() == nil {
			w.cfg.Logger.Warn("summaries are behind", "error", err)
			again = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.nudge:
		case <-again:
		}
	}
}

// Drain summarises everything that is behind, and returns the last error. What failed
// stays claimed, so that the next claim brings another conversation.
func (w *Worker) Drain(ctx context.Context) error {
	var failed error
	for failures := 0; failures < failuresInARow; {
		claims, err := w.cfg.Client.ClaimSummaries(ctx, claimAtOnce)
		if err != nil {
			return err
		}
		if len(claims) == 0 {
			return failed
		}
		for _, claim := range claims {
			if _, _, err := w.catchUp(ctx, claim, w.condense); err != nil {
				failed = fmt.Errorf("conversation %q: %w", claim.ConversationID, err)
				failures++
				continue
			}
			failures = 0
		}
		if ctx.Err() != nil {
			return failed
		}
	}
	return failed
}

// CatchUp appends the summary of each uncovered exchange to the one summary text, and
// returns it with the number of the last message that it covers. It condenses nothing:
// somebody waits for an answer.
func (w *Worker) CatchUp(ctx context.Context, c Claim) (string, int64, error) {
	return w.catchUp(ctx, c, func(_ context.Context, _, summary string, _ int) string { return summary })
}

// catchUp is CatchUp, and puts each new text through shorten before it is stored, so
// that appending and condensing are one write.
func (w *Worker) catchUp(ctx context.Context, c Claim, shorten func(ctx context.Context, lang, summary string, before int) string) (string, int64, error) {
	for _, x := range exchanges(c.Messages) {
		sctx, cancel := context.WithTimeout(ctx, w.cfg.Timeout)
		piece, err := w.cfg.Summarise(sctx, c.Language, x.question, x.answer)
		cancel()
		if err != nil {
			return c.Summary, c.Covers, err
		}
		if piece = strings.TrimSpace(piece); piece != "" && c.Summary != "" {
			piece = "\n\n" + piece
		}
		summary := shorten(ctx, c.Language, c.Summary+piece, len(c.Summary))
		if err := w.cfg.Client.SetSummary(ctx, c.Owner, c.ConversationID, summary, x.last); err != nil {
			return c.Summary, c.Covers, err
		}
		c.Summary, c.Covers = summary, x.last
		w.cfg.Logger.Info("[STEP 9.4] Summary updated", "conversation", c.ConversationID, "length", len([]rune(c.Summary)))
	}
	return c.Summary, c.Covers, nil
}

type exchange struct {
	question, answer string
	last             int64
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
			pairs = append(pairs, exchange{question: question, answer: prompts.WithoutSources(m), last: m.Seq})
			question = ""
		}
	}
	return pairs
}
