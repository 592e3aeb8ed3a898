package turns

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/web/wire"
)

// Approvals are the calls that wait for a person. A call waits in the memory of the
// process that runs its turn, so the key of the tokens is the process's own: after a
// restart there is nothing left to approve.
type Approvals struct {
	key [32]byte
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex
	pending map[string]*pendingCall
}

// A pendingCall waits for its decision.
type pendingCall struct {
	agent.Approval
	owner   string
	check   func(arguments string) error
	decided chan agent.Decision
}

// NewApprovals returns an empty set, whose tokens are good in this process alone.
func NewApprovals(now func() time.Time, log *slog.Logger) *Approvals {
	a := &Approvals{now: now, log: log, pending: make(map[string]*pendingCall)}
	_, _ = rand.Read(a.key[:]) // never fails, see crypto/rand
	return a
}

// ask waits for the decision. Without one it fails when ctx ends. sharing is nil for a turn that
// other replicas know nothing of.
func (a *Approvals) ask(ctx context.Context, owner, turnID string, ask agent.Ask, tell func(agent.Event), sharing *Sharing) (agent.Decision, error) {
	p := &pendingCall{
		owner: owner, check: ask.Check, decided: make(chan agent.Decision, 1),
		Approval: agent.Approval{
			ID: "approval_" + uuid.NewString(), Tool: ask.Tool.Name, Server: ask.Tool.Server,
			TurnID: turnID, CallID: ask.Call.ID, Arguments: argumentsOf(ask.Call.Function.Arguments),
			Why: ask.Why, Expires: ask.Expires.UTC(),
		},
	}
	p.Token = a.sign(p)
	a.mu.Lock()
	a.pending[p.ID] = p
	a.mu.Unlock()
	defer a.forget(p.ID)
	if sharing != nil {
		defer sharing.ask(ctx, p)()
	}
	tell(agent.Event{Kind: agent.EventApproval, Approval: &p.Approval})
	select {
	case d := <-p.decided:
		return d, nil
	case <-ctx.Done():
		return agent.Decision{}, ctx.Err()
	}
}

func (a *Approvals) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, id)
}

// sign binds a token to the call, its arguments, the turn, the owner and the expiry.
func (a *Approvals) sign(p *pendingCall) string {
	mac := hmac.New(sha256.New, a.key[:])
	args := sha256.Sum256(p.Arguments)
	for _, field := range []string{p.ID, p.owner, p.TurnID, p.CallID, p.Tool, string(args[:]), strconv.FormatInt(p.Expires.UnixNano(), 10)} {
		fmt.Fprintf(mac, "%d:%s", len(field), field)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// List returns what waits for the owner, the oldest expiry first.
func (a *Approvals) List(owner string) []agent.Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := []agent.Approval{}
	for _, p := range a.pending {
		if p.owner == owner {
			waiting = append(waiting, p.Approval)
		}
	}
	slices.SortFunc(waiting, func(x, y agent.Approval) int { return x.Expires.Compare(y.Expires) })
	return waiting
}

// Decide hands a decision to the call that waits for it. A token counts once.
func (a *Approvals) Decide(owner, id, token string, d agent.Decision) error {
	a.mu.Lock()
	p, ok := a.pending[id]
	a.mu.Unlock()
	if !ok || p.owner != owner {
		return noApproval()
	}
	if !hmac.Equal([]byte(token), []byte(a.sign(p))) {
		return &wire.Error{
			Status: http.StatusForbidden, Kind: wire.TypeInvalid, Code: "invalid_token", Param: "token",
			Message: "the token is not that of this call; send the one that came with the approval",
		}
	}
	if !a.now().Before(p.Expires) {
		return &wire.Error{Status: http.StatusGone, Kind: wire.TypeInvalid, Code: "approval_expired", Message: "nobody decided in time, so the call counts as refused"}
	}
	if d.Allowed && d.Arguments != "" {
		if err := p.check(d.Arguments); err != nil {
			return wire.Invalid("arguments", "the arguments do not fit %q: %v", p.Tool, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[id] != p {
		return errDecided
	}
	delete(a.pending, id)
	p.decided <- d
	a.log.Info("a person decided about a call", "by", owner, "allowed", d.Allowed, "edited", d.Arguments != "", "server", p.Server,
		"tool", p.Tool, "turn_id", p.TurnID, "call_id", p.CallID, "approval_id", id, "arguments_sha256", argumentsHash(p, d))
	return nil
}

// argumentsHash identifies what the tool is called with, which may hold what nobody wants in a
// log.
func argumentsHash(p *pendingCall, d agent.Decision) string {
	arguments := []byte(d.Arguments)
	if d.Arguments == "" {
		arguments = p.Arguments
	}
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:])
}

func noApproval() *wire.Error {
	e := *wire.NotFound("approval")
	e.Message = "no call waits under this id: it was decided, has expired, or its turn has ended"
	return &e
}

// has reports whether a call of this process waits under the id.
func (a *Approvals) has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending[id] != nil
}

var errDecided = &wire.Error{
	Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: "already_decided", NoRetry: true,
	Message: "another decision came first",
}

// argumentsOf are a call's arguments as JSON, whatever the model wrote.
func argumentsOf(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return wire.AsJSON(text)
}
