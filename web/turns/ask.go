package turns

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// An asker asks the person of one turn, by events of that turn.
type asker struct {
	h             *Host
	turn          *Live
	owner, turnID string
	// asking is the person who asks, as somebody who may decide.
	asking schemas.Decider
	// send sends an event, and may block until it is read; news sends one without blocking.
	send, news func(answer.Event)
	// sharing is nil if there are no other replicas.
	sharing *Sharing
}

var (
	_ agent.Approver = asker{}
	_ agent.Person   = asker{}
)

// A decision is a person's decision about a call.
type decision struct {
	Token string `json:"token"`
	// Decider is who decided, as the replica that they asked knows them.
	Decider schemas.Decider `json:"decider"`
	agent.Decision
}

// Approve waits for the decision. Without one it fails when ctx ends.
func (k asker) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	w := k.h.Waits
	a := answer.Approval{
		ID: callKind.newID(), Tool: ask.Tool.Name, Server: ask.Tool.Server, TurnID: k.turnID, CallID: ask.Call.ID,
		Arguments: argumentsOf(ask.Call.Function.Arguments), Shown: agent.ShownArguments(ask), Question: agent.Explain(ask), Why: ask.Reason.String(), Reason: ask.Reason,
		Unsure: ask.Reason.Rule == agent.RuleUnsure, Destinations: ask.Destinations, Scopes: ask.Scopes, Expires: ask.Expires.UTC(),
		Approvers: ask.Tool.Rules.Approvers, Person: k.asking.Name,
	}
	a.Mine = k.asking.SayAbout(k.owner, a.Approvers) == schemas.SayAll
	a.Token = w.sign(k.owner, a)
	decided := make(chan agent.Decision, 1)
	p := &wait{id: a.ID, turnID: k.turnID, owner: k.owner, content: a, ask: ask, approvers: a.Approvers}
	p.allow = func() { decided <- agent.Decision{Allowed: true} }
	p.read = func(by schemas.Decider, reply []byte) (func(), error) {
		d, err := decodeDecision[decision](reply)
		d.By, d.ByName = "", ""
		if len(a.Approvers) > 0 {
			d.By, d.ByName = by.Owner, by.Name
		}
		switch {
		case err != nil || !hmac.Equal([]byte(d.Token), []byte(a.Token)):
			return nil, errToken
		case d.Allowed && by.SayAbout(k.owner, a.Approvers) != schemas.SayAll:
			return nil, errNotTheirs(a.Approvers)
		case !w.now().Before(a.Expires):
			return nil, errExpired
		case d.Allowed && d.Scope != "" && d.Scope != agent.Once && !slices.Contains(a.Scopes, d.Scope): // the right to allow includes allowing once
			return nil, wire.Invalid("scope", "%q may be allowed for: %v", a.Tool, a.Scopes)
		}
		if err := checkDestination(a, d.Decision); err != nil {
			return nil, err
		}
		if d.Allowed && d.Arguments != "" {
			if err := ask.Check(d.Arguments); err != nil {
				return nil, wire.Invalid("arguments", "the arguments do not fit %q: %v", a.Tool, err)
			}
		}
		return func() {
			decided <- d.Decision
			if d.Allowed && d.Arguments == "" && d.Scope != "" && d.Scope != agent.Once {
				w.allowAlike(p, func(other agent.Ask) bool { return ask.CoversToo(d.Decision, other) })
			}
		}, nil
	}
	d, err := await(ctx, k, p, decided, func() {
		k.send(answer.Event{Kind: answer.KindApproval, Approval: &a})
		k.h.tell(ctx, answer.ApprovalRequested, k.owner, a, nil)
	})
	if err == nil {
		k.h.tell(ctx, answer.ApprovalDecided, k.owner, a, &d)
	}
	return d, err
}

// checkDestination returns what is wrong with the destination that a person chose for a lasting
// approval.
func checkDestination(a answer.Approval, d agent.Decision) error {
	var known []string
	for _, to := range a.Destinations {
		known = append(known, to.ID)
	}
	switch {
	case d.Destination == "":
		return nil
	case !d.Allowed || d.Scope == "" || d.Scope == agent.Once:
		return wire.Invalid("destination", "a destination belongs to an approval that lasts; set scope to conversation or always")
	case d.Arguments != "":
		return wire.Invalid("destination", "the approval of changed arguments lasts for their own destination; leave destination out")
	case !slices.Contains(known, d.Destination):
		return wire.Invalid("destination", "destination %q is not among those of this call: %q", wire.Clip(d.Destination, 80), known)
	}
	return nil
}

// Answer waits for the answer to a server's question. Without one it fails when ctx ends.
func (k asker) Answer(ctx context.Context, q agent.Question) (schemas.Answer, error) {
	asked := answer.PendingQuestion{ID: questionKind.newID(), TurnID: k.turnID, Question: q.Question, Expires: q.Expires.UTC()}
	answered := make(chan schemas.Answer, 1)
	p := &wait{id: asked.ID, turnID: k.turnID, owner: k.owner, content: asked}
	p.read = func(_ schemas.Decider, reply []byte) (func(), error) {
		a, err := decodeDecision[schemas.Answer](reply)
		switch {
		case err != nil:
			return nil, err
		case a.Action == schemas.ActionAccept:
			if err := q.Check(a.Content); err != nil {
				return nil, wire.Invalid("content", "the content does not fit the form: %v", err)
			}
		case a.Action == schemas.ActionDecline, a.Action == schemas.ActionCancel:
			a.Content = nil
		default:
			return nil, wire.Invalid("action", "action %q is not known; use accept, decline or cancel", wire.Clip(a.Action, 40))
		}
		return func() { answered <- a }, nil
	}
	return await(ctx, k, p, answered, func() { k.send(answer.Event{Kind: answer.KindQuestion, Asked: &asked}) })
}

// OnNews sends a server's progress or log message as an event.
func (k asker) OnNews(n schemas.News) {
	kind := answer.KindProgress
	if n.Level != "" {
		kind = answer.KindLog
	}
	k.news(answer.Event{Kind: kind, News: &n})
}

var (
	errToken = &wire.Error{
		Status: http.StatusForbidden, Kind: wire.TypeInvalid, Code: "invalid_token", Param: "token",
		Message: "the token is not that of this call; send the one that came with the approval",
	}
	errExpired = &wire.Error{
		Status: http.StatusGone, Kind: wire.TypeInvalid, Code: "approval_expired",
		Message: "nobody decided in time, so the call counts as refused",
	}
)

// sign binds a token to the call, its arguments, the turn, the owner and the expiry.
func (w *Waits) sign(owner string, a answer.Approval) string {
	mac := hmac.New(sha256.New, w.key[:])
	args := sha256.Sum256(a.Arguments)
	for _, field := range []string{a.ID, owner, a.TurnID, a.CallID, a.Tool, string(args[:]), strconv.FormatInt(a.Expires.UnixNano(), 10)} {
		fmt.Fprintf(mac, "%d:%s", len(field), field)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// argumentsOf returns a call's arguments as JSON: an empty object if the model wrote none, and a
// string if they are not valid JSON.
func argumentsOf(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return wire.AsJSON(text)
}
