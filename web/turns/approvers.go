package turns

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// A HeldStore stores calls for their approvers after their turns have ended.
type HeldStore interface {
	// HeldTurns returns what is stored under ids with the prefix, of all owners.
	HeldTurns(ctx context.Context, prefix string) ([]schemas.PauseRecord, error)
	// ReplaceKeptTurn replaces a state with another; ok is false if it is no longer that state.
	ReplaceKeptTurn(ctx context.Context, owner, id string, before, after json.RawMessage) (ok bool, err error)
}

// tell passes on what happened to a call, if it needs approvers.
func (h *Host) tell(ctx context.Context, event, owner string, a answer.Approval, d *agent.Decision) {
	if h.Told != nil && len(a.Approvers) > 0 {
		h.Told(ctx, event, owner, a, d)
	}
}

// errNotTheirs refuses the yes of the person who asks.
func errNotTheirs(approvers []string) error {
	return &wire.Error{
		Status: http.StatusForbidden, Kind: "permission_error", Code: "approver_required", NoRetry: true,
		Message: "only a member of " + strings.Join(approvers, " or ") + " may approve this call, and you may not approve your own; wait for one of them",
	}
}

// ForApprover lists the calls of others that somebody may decide about, the oldest expiry first.
func (h *Host) ForApprover(ctx context.Context, by schemas.Decider) ([]answer.Approval, error) {
	all := h.Waits.others(by)
	elsewhere, err := h.elsewhere(ctx, by)
	if err != nil {
		h.Logger.Error("list the approvals of other replicas", "error", err)
		return nil, wire.ErrStore
	}
	for _, o := range elsewhere {
		all = append(all, o.approval)
	}
	held, err := h.held(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range held {
		if isFor(by, a.Owner, a.Approval) {
			all = append(all, a.Approval)
		}
	}
	for i := range all {
		all[i].Mine = true
	}
	slices.SortFunc(all, func(x, y answer.Approval) int { return x.Expires.Compare(y.Expires) })
	return all, nil
}

// isFor reports whether somebody may decide about a call of somebody else.
func isFor(by schemas.Decider, owner string, a answer.Approval) bool {
	return owner != by.Owner && by.SayAbout(owner, a.Approvers) == schemas.SayAll
}

// others returns the calls of others that wait in this process and that somebody may decide about.
func (w *Waits) others(by schemas.Decider) []answer.Approval {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []answer.Approval{}
	for _, p := range w.open {
		if a, ok := p.content.(answer.Approval); ok && isFor(by, p.owner, a) && w.now().Before(a.Expires) {
			all = append(all, a)
		}
	}
	return all
}

// A remoteAsk is an approval that is pending on another replica.
type remoteAsk struct {
	ask      schemas.LiveAsk
	approval answer.Approval
}

// elsewhere returns the calls of others that wait on other replicas and that somebody may decide about.
func (h *Host) elsewhere(ctx context.Context, by schemas.Decider) ([]remoteAsk, error) {
	if h.Sharing == nil || len(by.Groups) == 0 {
		return nil, nil
	}
	asks, err := h.Sharing.ledger.ForApprovers(ctx)
	if err != nil {
		return nil, err
	}
	var all []remoteAsk
	for _, ask := range asks {
		if !callKind.names(ask.ID) || h.Waits.has(ask.ID) {
			continue
		}
		one := remoteAsk{ask: ask}
		if err := json.Unmarshal([]byte(ask.Body), &one.approval); err != nil {
			return nil, err
		}
		if isFor(by, ask.Owner, one.approval) && h.Now().Before(one.approval.Expires) {
			all = append(all, one)
		}
	}
	return all, nil
}

// A heldCall is a stored call, with its state as it is stored.
type heldCall struct {
	answer.Held
	state json.RawMessage
}

// held returns the stored calls without a decision.
func (h *Host) held(ctx context.Context) ([]heldCall, error) {
	if h.Held == nil {
		return nil, nil
	}
	stored, err := h.Held.HeldTurns(ctx, answer.HeldPrefix)
	if err != nil {
		h.Logger.Error("list the calls that are stored for approvers", "error", err)
		return nil, wire.ErrStore
	}
	var all []heldCall
	for _, s := range stored {
		a := heldCall{state: s.State}
		if err := json.Unmarshal(s.State, &a.Held); err != nil {
			return nil, err
		}
		if a.Decision == nil {
			all = append(all, a)
		}
	}
	return all, nil
}

// decideHeld stores an approver's decision about a stored call. The next yes of the person who asked runs
// it, if it was approved.
func (h *Host) decideHeld(ctx context.Context, by schemas.Decider, id, token string, d agent.Decision) error {
	all, err := h.held(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(a heldCall) bool { return a.ID == id })
	if i < 0 {
		return callKind.errGone()
	}
	a := all[i]
	say := by.SayAbout(a.Owner, a.Approvers)
	switch {
	case say == schemas.SayNothing:
		return callKind.errGone()
	case !hmac.Equal([]byte(token), []byte(a.Token)):
		return errToken
	case d.Allowed && say != schemas.SayAll:
		return errNotTheirs(a.Approvers)
	case d.Scope != "" && d.Scope != agent.Once:
		return wire.Invalid("scope", "%q may be allowed for: %v", a.Tool, a.Scopes)
	case d.Arguments != "" || d.Destination != "":
		return wire.Invalid("arguments", "the turn of this call has ended, so it can only be approved as it is, or refused")
	}
	d.By, d.ByName = by.Owner, by.Name
	a.Decision = &answer.HeldDecision{Allowed: d.Allowed, By: by.Owner, ByName: by.Name}
	after, err := json.Marshal(a.Held)
	if err != nil {
		return err
	}
	first, err := h.Held.ReplaceKeptTurn(ctx, a.Owner, id, a.state, after)
	switch {
	case err != nil:
		h.Logger.Error("store a decision about a call", "id", id, "error", err)
		return wire.ErrStore
	case !first:
		return callKind.errLate()
	}
	if h.Audit != nil {
		h.Audit(ctx, heldRuling(a.Held, d))
	}
	h.tell(ctx, answer.ApprovalDecided, a.Owner, a.Approval, &d)
	return nil
}

// heldRuling returns the decision about a stored call for the audit.
func heldRuling(a answer.Held, d agent.Decision) agent.Ruling {
	call := schemas.ToolCall{ID: a.CallID, Function: schemas.FunctionCall{Name: a.Tool, Arguments: string(a.Arguments)}}
	tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: a.Tool, Server: a.Server}}
	return agent.Ruling{Owner: a.Owner, TurnID: a.TurnID, Call: call, Tool: tool, Reason: a.Reason, How: agent.ByApprover, Decision: d}
}
