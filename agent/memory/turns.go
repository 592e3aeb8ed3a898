package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"molar/schemas"
)

// BeginRequest is the input of [Client.Begin].
type BeginRequest struct {
	// ConversationID may be empty: the server then makes one up.
	ConversationID string `json:"conversation_id,omitempty"`
	Owner          string `json:"owner"`
	// Key is the client's idempotency key; may be empty.
	Key string `json:"key,omitempty"`
	// Parent is the turn to continue after; empty restarts the conversation, nil continues the
	// newest branch.
	Parent *string `json:"parent,omitempty"`
	// Began is when the turn began: one of an owner who was erased since gets no lease. Zero means now.
	Began time.Time `json:"began,omitzero"`
	// Wait is how long to wait for other turns of the conversation.
	Wait time.Duration `json:"-"`
}

// answerWait is how long a server may take to answer: a hanging server must not delay a turn as
// long as another turn may.
const answerWait = 2 * time.Second

// The pauses between two requests for a conversation that another turn has leased.
const shortPause, longPause = 50 * time.Millisecond, 500 * time.Millisecond

// Begin opens a turn: it reads the conversation and takes its lease, which lasts 15 s and is
// renewed with [Client.Renew]. It writes nothing else. While another turn of the conversation runs,
// it waits; after req.Wait it returns [ErrBusy]. Waiting turns of one process are served in order.
func (c *Client) Begin(ctx context.Context, req BeginRequest) (schemas.Opening, error) {
	turn, leave := c.lines.join(req.Owner + "\x00" + req.ConversationID)
	defer leave()
	waiting, cancel := context.WithTimeout(ctx, req.Wait)
	defer cancel()
	if !turn.TryAcquire(1) && turn.Acquire(waiting, 1) != nil { // without a queue, Wait may be 0
		return schemas.Opening{}, cmp.Or(ctx.Err(), ErrBusy)
	}
	defer turn.Release(1)
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		var o schemas.Opening
		bounded, cancel := context.WithTimeout(ctx, answerWait)
		err := c.request(bounded, "memory/begin_turn", req, &o)
		cancel()
		switch {
		case errors.Is(err, ErrUnknown):
			return schemas.Opening{}, fmt.Errorf("%w: %w", ErrNoParent, err)
		case err == nil:
			return o, nil
		case !errors.Is(err, ErrBusy):
			return schemas.Opening{}, err
		}
		select {
		case <-time.After(pause):
		case <-waiting.Done():
			return schemas.Opening{}, cmp.Or(ctx.Err(), err)
		}
	}
}

// lines queue this process's turns by conversation.
type lines struct {
	mu sync.Mutex
	of map[string]*line
}

// A line is the queue of one conversation; its semaphore is held by the turn that is asking the
// server.
type line struct {
	*semaphore.Weighted
	waiting int
}

// join returns the line of a conversation, and a func that leaves it.
func (l *lines) join(name string) (at *line, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*line{}
	}
	if at = l.of[name]; at == nil {
		at = &line{Weighted: semaphore.NewWeighted(1)}
		l.of[name] = at
	}
	at.waiting++
	return at, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if at.waiting--; at.waiting == 0 {
			delete(l.of, name)
		}
	}
}

// leaseParams are a lease; Discard and TurnID are for end_turn alone.
type leaseParams struct {
	Lease   schemas.Lease `json:"lease"`
	Discard bool          `json:"discard,omitempty"`
	TurnID  string        `json:"turn_id,omitempty"`
}

// Renew extends the lease by 15 s.
func (c *Client) Renew(ctx context.Context, lease schemas.Lease) (schemas.Lease, error) {
	var renewed leaseParams
	err := c.request(ctx, "memory/renew_turn", leaseParams{Lease: lease}, &renewed)
	if err != nil {
		return lease, err
	}
	return renewed.Lease, nil
}

// Release ends a lease without a saved turn.
func (c *Client) Release(ctx context.Context, lease schemas.Lease) error {
	return c.request(ctx, "memory/end_turn", leaseParams{Lease: lease}, nil)
}

// DeleteTurn ends a lease and deletes a saved turn of its conversation.
func (c *Client) DeleteTurn(ctx context.Context, lease schemas.Lease, turnID string) error {
	return c.request(ctx, "memory/end_turn", leaseParams{Lease: lease, Discard: true, TurnID: turnID}, nil)
}

// Turn returns what is stored of the owner's turn, and false if nothing is, or if the server is an
// older version without that method.
func (c *Client) Turn(ctx context.Context, owner, turnID string) (t schemas.StoredTurn, ok bool, err error) {
	err = c.request(ctx, "memory/get_turn", map[string]string{"turn_id": turnID, "owner": owner}, &t)
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrForeign) {
		return schemas.StoredTurn{}, false, nil
	}
	return t, err == nil, err
}

// A Record is a turn to be saved.
type Record struct {
	Lease schemas.Lease `json:"lease"`
	// Owner owns the conversation, so that only its watchers are notified.
	Owner  string `json:"owner,omitempty"`
	Key    string `json:"key"`
	TurnID string `json:"turn_id"`
	User   string `json:"user"`
	// BeganAt is when the question was asked; zero means when the turn is saved.
	BeganAt time.Time `json:"began_at,omitzero"`
	Answer  string    `json:"answer"`
	// Rounds are set for a turn that called tools, and for an answer with its provider's private
	// state.
	Rounds      []schemas.Round  `json:"calls,omitempty"`
	Sources     []schemas.Source `json:"sources,omitempty"`
	Status      string           `json:"status,omitempty"`
	ServersRead []string         `json:"servers_read,omitempty"`
	Language    string           `json:"language,omitempty"`
	Assistant   string           `json:"assistant,omitempty"`
	// Subject is the last self-contained question after this turn; empty keeps the previous one.
	Subject string `json:"subject,omitempty"`
	// Due is set if the next turn compacts the conversation, so that its summaries should not wait for
	// a quiet moment.
	Due bool `json:"-"`
	// Later is set if the summary of the answer can wait until a compaction is near.
	Later bool `json:"later,omitempty"`
	// Compaction is the one that the prompt began with; nil means the previous turn's.
	Compaction *schemas.Compaction `json:"compaction,omitempty"`
}

// Save stores a turn in one transaction and ends its lease. Saving the same turn or key twice stores
// it once; a complete turn replaces an interrupted one. If a later turn took the lease, that is
// [ErrStale].
func (c *Client) Save(ctx context.Context, r Record) error {
	var saved struct {
		TurnID string `json:"turn_id"`
	}
	return c.request(ctx, "memory/save_turn", r, &saved)
}
