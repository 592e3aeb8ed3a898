package turns

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// How long a decision for a turn of another replica waits for that replica's reply, and how
// often the reply is polled.
const (
	answerFor   = 10 * time.Second
	answerEvery = 50 * time.Millisecond
)

// ackOK is the outcome of a decision that the replica of the turn accepted.
const ackOK = "ok"

// Approvals lists somebody's own pending approvals, the oldest expiry first.
func (h *Host) Approvals(ctx context.Context, by schemas.Decider) ([]answer.Approval, error) {
	all, err := pending(ctx, h, callKind, by.Owner, func(a answer.Approval) (string, time.Time) { return a.ID, a.Expires })
	if err != nil {
		return nil, err
	}
	held, err := h.held(ctx)
	for _, a := range held {
		if a.Owner == by.Owner {
			all = append(all, a.Approval)
		}
	}
	for i := range all {
		all[i].Mine = by.SayAbout(by.Owner, all[i].Approvers) == schemas.SayAll
	}
	return all, err
}

// Questions lists servers' pending questions, the oldest expiry first.
func (h *Host) Questions(ctx context.Context, owner string) ([]answer.PendingQuestion, error) {
	return pending(ctx, h, questionKind, owner, func(q answer.PendingQuestion) (string, time.Time) { return q.ID, q.Expires })
}

// Decide passes a decision to the pending call, on whichever replica its turn runs. A token is
// valid once.
func (h *Host) Decide(ctx context.Context, by schemas.Decider, id, token string, d agent.Decision) error {
	if strings.HasPrefix(id, answer.HeldPrefix) {
		return h.decideHeld(ctx, by, id, token, d)
	}
	return h.decide(ctx, callKind, by, id, decision{token, by, d})
}

// Answer passes an answer to the server that waits for it, on whichever replica its turn runs.
// Only the first answer counts.
func (h *Host) Answer(ctx context.Context, owner, id string, a schemas.Answer) error {
	return h.decide(ctx, questionKind, schemas.Decider{Owner: owner}, id, a)
}

// pending lists the approvals or questions that are pending here and on other replicas.
func pending[T any](ctx context.Context, h *Host, kind *waitKind, owner string, of func(T) (id string, expires time.Time)) ([]T, error) {
	all := waiting[T](h.Waits, owner)
	if h.Sharing != nil {
		asks, err := h.Sharing.ledger.Waiting(ctx, owner)
		if err != nil {
			h.Logger.Error("list the approvals and questions of other replicas", "error", err)
			return nil, wire.ErrStore
		}
		for _, ask := range asks {
			if !kind.names(ask.ID) || h.Waits.has(ask.ID) {
				continue
			}
			var v T
			if err := json.Unmarshal([]byte(ask.Body), &v); err != nil {
				return nil, err
			}
			if _, expires := of(v); h.Now().Before(expires) {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, func(x, y T) int {
		_, first := of(x)
		_, second := of(y)
		return first.Compare(second)
	})
	return all, nil
}

// decide applies a person's decision.
func (h *Host) decide(ctx context.Context, kind *waitKind, by schemas.Decider, id string, reply any) error {
	body, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	if !kind.names(id) {
		return kind.errGone()
	}
	if h.Sharing == nil || h.Waits.has(id) {
		return h.Waits.take(kind, by, id, body)
	}
	err = h.decideRemotely(ctx, kind, by, id, string(body))
	if _, known := err.(*wire.Error); err != nil && !known { //nolint:errorlint // made here, as it is
		h.Logger.Error("pass a decision to a turn of another replica", "id", id, "error", err)
		return wire.ErrStore
	}
	return err
}

func (h *Host) decideRemotely(ctx context.Context, kind *waitKind, by schemas.Decider, id, reply string) error {
	ledger := h.Sharing.ledger
	asks, err := ledger.Waiting(ctx, by.Owner)
	if err != nil {
		return err
	}
	others, err := h.elsewhere(ctx, by)
	if err != nil {
		return err
	}
	for _, o := range others {
		asks = append(asks, o.ask)
	}
	i := slices.IndexFunc(asks, func(a schemas.LiveAsk) bool { return a.ID == id })
	if i < 0 {
		return kind.errGone()
	}
	first, err := ledger.Decide(ctx, id, reply)
	if err != nil {
		return err
	}
	if !first {
		return kind.errLate()
	}
	_ = ledger.Wake(ctx, asks[i].TurnID) // otherwise its replica reads the decision at its next poll
	return h.outcome(ctx, id)
}

// outcome waits until the replica that asked has replied to the decision.
func (h *Host) outcome(ctx context.Context, id string) error {
	late := time.NewTimer(answerFor)
	defer late.Stop()
	poll := time.NewTicker(answerEvery)
	defer poll.Stop()
	for {
		outcome, err := h.Sharing.ledger.Outcome(ctx, id)
		switch {
		case err != nil:
			return err
		case outcome == ackOK:
			return nil
		case outcome != "":
			e := &wire.Error{}
			if err := json.Unmarshal([]byte(outcome), e); err != nil {
				return err
			}
			if e.Status == http.StatusBadRequest || e.Status == http.StatusForbidden { // it stays pending
				err = h.Sharing.ledger.Reopen(ctx, id)
			}
			if err != nil {
				return err
			}
			return e
		}
		select {
		case <-poll.C:
		case <-late.C:
			return &wire.Error{
				Status: http.StatusGatewayTimeout, Kind: wire.TypeServer, Code: "replica_silent",
				Message: "the decision is stored for the replica that runs the turn, which did not answer yet; read the turn for the outcome",
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// decideEvery is how often decisions are looked for without a notification.
const decideEvery = time.Second

// decideHere applies decisions made on other replicas until ctx ends.
func (s *Sharing) decideHere(ctx context.Context) {
	tick := time.NewTicker(decideEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.calls:
		}
		s.applyRemote(ctx)
	}
}

// applyRemote applies decisions made on other replicas to the approvals and questions of this
// process.
func (s *Sharing) applyRemote(ctx context.Context) {
	if s.asking.Load() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerFor)
	defer cancel()
	decided, err := s.ledger.Decided(ctx)
	for _, a := range decided {
		kind, outcome, by := callKind, ackOK, schemas.Decider{Owner: a.Owner}
		if questionKind.names(a.ID) {
			kind = questionKind
		} else if d, err := decodeDecision[decision]([]byte(a.Decision)); err == nil && len(d.Decider.Groups)+len(d.Decider.Owner) > 0 {
			by = d.Decider // an earlier version does not name them: its owner decided
		}
		if err := s.waits.take(kind, by, a.ID, []byte(a.Decision)); err != nil {
			b, _ := json.Marshal(wire.Failure(err)) // strings and numbers
			outcome = string(b)
		}
		err = s.ledger.Answer(ctx, a.ID, outcome)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("decisions made on other replicas cannot be read; retrying", "error", err)
	}
}

// ask shows a pending approval or question to the other replicas, until settled is called.
func (s *Sharing) ask(ctx context.Context, p *wait) (settled func()) {
	s.asking.Add(1)
	whole := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(whole, ledgerFor)
	defer cancel()
	body, err := json.Marshal(p.content)
	if err == nil {
		err = s.ledger.Ask(ctx, schemas.LiveAsk{ID: p.id, TurnID: p.turnID, Owner: p.owner, Body: string(body)})
	}
	if err != nil {
		s.log.Error("an approval or question is visible on this replica only", "turn_id", p.turnID, "error", err)
	}
	return func() {
		s.asking.Add(-1)
		ctx, cancel := context.WithTimeout(whole, ledgerFor)
		defer cancel()
		_ = s.ledger.Settle(ctx, p.id) // otherwise it is deleted together with its turn
	}
}
