package turns

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"molar/agent"
	"molar/web/wire"
)

// How long one who decides here about a call of another replica waits for its answer, and
// how often it is looked for.
const (
	answerFor   = 10 * time.Second
	answerEvery = 50 * time.Millisecond
)

// decided is the answer to a decision that was taken.
const decided = "ok"

// A decision is what another replica leaves for the one that asked.
type decision struct {
	Token string `json:"token"`
	agent.Decision
}

// Waiting lists the calls of an owner that wait for a person, the oldest expiry first.
func (h *Host) Waiting(ctx context.Context, owner string) ([]agent.Approval, error) {
	waiting := h.Approvals.List(owner)
	if h.Sharing == nil {
		return waiting, nil
	}
	asks, err := h.Sharing.ledger.Waiting(ctx, owner)
	if err != nil {
		h.Logger.Error("list the approvals of other replicas", "error", err)
		return nil, wire.ErrStore
	}
	for _, ask := range asks {
		var a agent.Approval
		if err := json.Unmarshal([]byte(ask.Body), &a); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(waiting, func(w agent.Approval) bool { return w.ID == a.ID }) && h.Now().Before(a.Expires) {
			waiting = append(waiting, a)
		}
	}
	slices.SortFunc(waiting, func(x, y agent.Approval) int { return x.Expires.Compare(y.Expires) })
	return waiting, nil
}

// Decide hands a decision to the call that waits for it, wherever its turn runs. A token
// counts once.
func (h *Host) Decide(ctx context.Context, owner, id, token string, d agent.Decision) error {
	if h.Sharing == nil || h.Approvals.has(id) {
		return h.Approvals.Decide(owner, id, token, d)
	}
	err := h.decideElsewhere(ctx, owner, id, token, d)
	if _, known := err.(*wire.Error); err != nil && !known { //nolint:errorlint // made here, as it is
		h.Logger.Error("decide about a call of another replica", "approval_id", id, "error", err)
		return wire.ErrStore
	}
	return err
}

func (h *Host) decideElsewhere(ctx context.Context, owner, id, token string, d agent.Decision) error {
	ledger := h.Sharing.ledger
	asks, err := ledger.Waiting(ctx, owner)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(asks, func(a LedgerAsk) bool { return a.ID == id })
	if i < 0 {
		return noApproval()
	}
	body, err := json.Marshal(decision{token, d})
	if err != nil {
		return err
	}
	first, err := ledger.Decide(ctx, id, string(body))
	if err != nil {
		return err
	}
	if !first {
		return errDecided
	}
	_ = ledger.Wake(ctx, asks[i].TurnID) // else its replica looks by itself
	return h.answer(ctx, id)
}

// answer waits for what the replica that asked makes of a decision.
func (h *Host) answer(ctx context.Context, id string) error {
	late := time.NewTimer(answerFor)
	defer late.Stop()
	look := time.NewTicker(answerEvery)
	defer look.Stop()
	for {
		outcome, err := h.Sharing.ledger.Outcome(ctx, id)
		switch {
		case err != nil:
			return err
		case outcome == decided:
			return nil
		case outcome != "":
			e := &wire.Error{}
			if err := json.Unmarshal([]byte(outcome), e); err != nil {
				return err
			}
			if e.Status == http.StatusBadRequest || e.Status == http.StatusForbidden { // it waits on
				err = h.Sharing.ledger.Reopen(ctx, id)
			}
			if err != nil {
				return err
			}
			return e
		}
		select {
		case <-look.C:
		case <-late.C:
			return &wire.Error{
				Status: http.StatusGatewayTimeout, Kind: wire.TypeServer, Code: "replica_silent",
				Message: "the decision was left for the replica that runs the turn, which did not answer yet; see the turn for what came of it",
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answerCalls hands decisions of other replicas to the calls that wait here.
func (s *Sharing) answerCalls(ctx context.Context) {
	if s.asking.Load() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerFor)
	defer cancel()
	left, err := s.ledger.Decided(ctx)
	for _, a := range left {
		outcome := decided
		var d decision
		if err := json.Unmarshal([]byte(a.Decision), &d); err != nil {
			d = decision{}
		}
		if err := s.decide(a.Owner, a.ID, d.Token, d.Decision); err != nil {
			b, _ := json.Marshal(wire.Failure(err)) // strings and numbers
			outcome = string(b)
		}
		err = s.ledger.Answer(ctx, a.ID, outcome)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("decisions of other replicas cannot be read; it is tried again", "error", err)
	}
}

// ask shows a call that waits to the other replicas, until settled is called.
func (s *Sharing) ask(ctx context.Context, p *pendingCall) (settled func()) {
	s.asking.Add(1)
	whole := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(whole, ledgerFor)
	defer cancel()
	body, err := json.Marshal(p.Approval)
	if err == nil {
		err = s.ledger.Ask(ctx, LedgerAsk{ID: p.ID, TurnID: p.TurnID, Owner: p.owner, Body: string(body)})
	}
	if err != nil {
		s.log.Error("a call that waits for a person is shown by this replica alone", "turn_id", p.TurnID, "error", err)
	}
	return func() {
		s.asking.Add(-1)
		ctx, cancel := context.WithTimeout(whole, ledgerFor)
		defer cancel()
		_ = s.ledger.Settle(ctx, p.ID) // else it goes with its turn
	}
}
