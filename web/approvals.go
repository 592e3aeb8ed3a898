package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"molar/agent"
)

// approvals are the calls that wait for a person. A call waits in the memory of the
// process that runs its turn, so the key of the tokens is the process's own: after a
// restart there is nothing left to approve.
type approvals struct {
	key [32]byte
	now func() time.Time

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

func newApprovals(now func() time.Time) *approvals {
	a := &approvals{now: now, pending: make(map[string]*pendingCall)}
	_, _ = rand.Read(a.key[:]) // never fails, see crypto/rand
	return a
}

// An asker asks the person behind one turn, by an event of that turn.
type asker struct {
	*approvals
	owner, turnID string
	tell          func(agent.Event)
}

var _ agent.Approver = asker{}

// Approve waits for the decision. Without one it fails when ctx ends.
func (k asker) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	p := &pendingCall{
		owner: k.owner, check: ask.Check, decided: make(chan agent.Decision, 1),
		Approval: agent.Approval{
			ID: "approval_" + uuid.NewString(), Tool: ask.Tool.Name, Server: ask.Tool.Server,
			TurnID: k.turnID, CallID: ask.Call.ID, Arguments: argumentsOf(ask.Call.Function.Arguments),
			Why: ask.Why, Expires: ask.Expires.UTC(),
		},
	}
	p.Token = k.sign(p)
	k.mu.Lock()
	k.pending[p.ID] = p
	k.mu.Unlock()
	defer k.forget(p.ID)
	k.tell(agent.Event{Kind: agent.EventApproval, Approval: &p.Approval})
	select {
	case d := <-p.decided:
		return d, nil
	case <-ctx.Done():
		return agent.Decision{}, ctx.Err()
	}
}

func (a *approvals) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, id)
}

// sign binds a token to the call, its arguments, the turn, the owner and the expiry.
func (a *approvals) sign(p *pendingCall) string {
	mac := hmac.New(sha256.New, a.key[:])
	args := sha256.Sum256(p.Arguments)
	for _, field := range []string{p.ID, p.owner, p.TurnID, p.CallID, p.Tool, string(args[:]), strconv.FormatInt(p.Expires.UnixNano(), 10)} {
		fmt.Fprintf(mac, "%d:%s", len(field), field)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// list returns what waits for the owner, the oldest expiry first.
func (a *approvals) list(owner string) []agent.Approval {
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

// decide hands a decision to the call that waits for it. A token counts once.
func (a *approvals) decide(owner, id, token string, d agent.Decision) error {
	a.mu.Lock()
	p, ok := a.pending[id]
	a.mu.Unlock()
	if !ok || p.owner != owner {
		e := *notFound("approval")
		e.message = "no call waits under this id: it was decided, has expired, or its turn has ended"
		return &e
	}
	if !hmac.Equal([]byte(token), []byte(a.sign(p))) {
		return &apiError{
			status: http.StatusForbidden, kind: typeInvalid, code: "invalid_token", param: "token",
			message: "the token is not that of this call; send the one that came with the approval",
		}
	}
	if !a.now().Before(p.Expires) {
		return &apiError{status: http.StatusGone, kind: typeInvalid, code: "approval_expired", message: "nobody decided in time, so the call counts as refused"}
	}
	if d.Allowed && d.Arguments != "" {
		if err := p.check(d.Arguments); err != nil {
			return invalid("arguments", "the arguments do not fit %q: %v", p.Tool, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[id] != p {
		return errDecided
	}
	delete(a.pending, id)
	p.decided <- d
	return nil
}

var errDecided = &apiError{
	status: http.StatusConflict, kind: typeInvalid, code: "already_decided", noRetry: true,
	message: "another decision came first",
}

// argumentsOf are a call's arguments as JSON, whatever the model wrote.
func argumentsOf(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return asJSON(text)
}

// A decisionRequest is the body of POST /v1/approvals/{id}.
type decisionRequest struct {
	Token    string `json:"token"`
	Decision string `json:"decision"`
	// Arguments replace the call's own: an object, or a string that holds one.
	Arguments json.RawMessage `json:"arguments"`
}

// read returns the decision that the request means.
func (q decisionRequest) read() (agent.Decision, error) {
	var d agent.Decision
	switch q.Decision {
	case "approve":
		d.Allowed = true
	case "refuse":
	default:
		return d, invalid("decision", "decision %q is not known; use approve or refuse", clip(q.Decision, 40))
	}
	if len(q.Arguments) == 0 || string(q.Arguments) == "null" {
		return d, nil
	}
	if !d.Allowed {
		return d, invalid("arguments", "a call that is refused takes no arguments")
	}
	d.Arguments = string(q.Arguments)
	if q.Arguments[0] == '"' {
		if err := json.Unmarshal(q.Arguments, &d.Arguments); err != nil {
			return d, invalid("arguments", "arguments cannot be read: %v", err)
		}
	}
	if d.Arguments == "" {
		return d, invalid("arguments", "arguments must be a JSON object")
	}
	return d, nil
}

// listApprovals answers GET /v1/approvals.
func (s *server) listApprovals(c *gin.Context) {
	writeJSON(c.Writer, listOf(s.approvals.list(s.Owner(c.Request))))
}

// decideApproval answers POST /v1/approvals/{id}.
func (s *server) decideApproval(c *gin.Context) {
	var req decisionRequest
	err := readBody(c.Request, &req)
	var d agent.Decision
	if err == nil {
		d, err = req.read()
	}
	if err == nil {
		err = s.approvals.decide(s.Owner(c.Request), c.Param("id"), req.Token, d)
	}
	if err != nil {
		writeError(c.Writer, failureOf(err))
		return
	}
	writeJSON(c.Writer, map[string]string{"id": c.Param("id"), "object": "approval", "decision": req.Decision})
}
