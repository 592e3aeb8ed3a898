package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"molar/agent"
	"molar/schemas"
)

// A KeyStore remembers what became of turns with an Idempotency-Key, also over a
// restart.
type KeyStore interface {
	// Claim notes the key for the turn. For a key that is known it changes nothing and
	// returns what is stored, and false.
	Claim(ctx context.Context, k KeyRecord) (KeyRecord, bool, error)
	// Set stores what has become of the turn.
	Set(ctx context.Context, k KeyRecord) error
	// Release forgets the key: nothing came of its turn.
	Release(ctx context.Context, owner, key string) error
}

// A KeyRecord is a key and its turn.
type KeyRecord struct {
	Owner string
	Key   string
	// Hash is that of the body that the key belongs to.
	Hash           string
	TurnID         string
	ConversationID string
	// Acted says that a tool of the turn may have had its effect.
	Acted bool
	// Outcome is what the client was told; empty while the turn runs.
	Outcome json.RawMessage
}

// An outcome is a finished turn as it is told again.
type outcome struct {
	Start   *agent.Start       `json:"start,omitempty"`
	Thought string             `json:"thought,omitempty"`
	Text    string             `json:"text,omitempty"`
	Calls   []schemas.ToolCall `json:"calls,omitempty"`
	Done    *agent.Done        `json:"done,omitempty"`
	Failure *storedFailure     `json:"failure,omitempty"`
	// text and thought gather what Text and Thought will be.
	text, thought strings.Builder
}

// A storedFailure is an error that stands for ever, since a tool had run.
type storedFailure struct {
	Status  int    `json:"status"`
	Kind    string `json:"kind"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

var (
	errOtherBody = &apiError{
		status: http.StatusUnprocessableEntity, kind: typeInvalid, code: "idempotency_key_reused", noRetry: true,
		message: "this Idempotency-Key was sent with another body; choose a new key for a new request",
	}
	errTurnLost = &apiError{
		status: statusActed, kind: typeInvalid, code: "turn_lost", noRetry: true,
		message: "the server ended in the middle of the turn of this Idempotency-Key, after a tool had run; send a new key only if that may happen twice",
	}
)

// requestHash identifies what a key belongs to: the body, and what a header adds.
func requestHash(body []byte, h http.Header) string {
	sum := sha256.New()
	sum.Write(body)
	sum.Write([]byte(h.Get("X-Conversation-Id")))
	return hex.EncodeToString(sum.Sum(nil))
}

// detach runs a turn that does not end with its client's connection, or finds the one
// that its key began.
func (s *server) detach(r *http.Request, req *chatRequest, turn agent.Turn) (*liveTurn, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	t := s.newLiveTurn(turn, cancel)
	t.key, t.hash = turn.Key, req.hash
	if req.Molar.Detach || req.Stream && req.Molar.Events {
		turn.Approver = asker{s.approvals, turn.Owner, turn.ID, func(ev agent.Event) { t.log.add(item{event: ev}) }}
	}
	found, mine, err := s.Turns.detach(t, func() {
		if t.key == "" || s.Keys == nil {
			s.forgetFailed(t, s.runDetached(ctx, t, turn, nil), false)
			return
		}
		s.runKeyed(ctx, t, turn)
	})
	if !mine {
		cancel(nil)
	}
	if err == nil && found.hash != t.hash && !mine {
		err = errOtherBody
	}
	return found, err
}

// forgetFailed lets a key whose turn failed before it did anything be used again.
func (s *server) forgetFailed(t *liveTurn, err error, acted bool) {
	if err != nil && !acted {
		s.Turns.forgetKey(t)
	}
}

// runKeyed runs the turn of a key, once: what the key stands for already is told
// again.
func (s *server) runKeyed(ctx context.Context, t *liveTurn, turn agent.Turn) {
	k := KeyRecord{Owner: t.owner, Key: t.key, Hash: t.hash, TurnID: t.id, ConversationID: turn.ConversationID}
	known, claimed, err := s.Keys.Claim(ctx, k)
	if err == nil && !claimed {
		var again bool
		if again, err = s.tellAgain(t, known); again {
			return
		}
	}
	if err != nil {
		s.Turns.forgetKey(t)
		t.log.add(item{err: err})
		return
	}
	kept := &outcome{}
	err = s.runDetached(ctx, t, turn, func(ev agent.Event) error {
		kept.take(ev)
		if ev.Kind == agent.EventStart && ev.Start != nil {
			k.ConversationID = ev.Start.ConversationID
		}
		if !isTool(ev) || k.Acted {
			return nil
		}
		k.Acted = true // noted before the tool runs, since nobody can note it after a crash
		return s.Keys.Set(ctx, k)
	})
	s.settle(context.WithoutCancel(ctx), t, k, kept, err)
}

// tellAgain puts what a known key stands for into the log. It says false when nothing
// came of the turn, so that it may run now.
func (s *server) tellAgain(t *liveTurn, k KeyRecord) (bool, error) {
	var kept outcome
	switch {
	case k.Hash != t.hash:
		return false, errOtherBody
	case len(k.Outcome) == 0 && k.Acted:
		return false, errTurnLost
	case len(k.Outcome) == 0:
		return false, nil
	}
	if err := json.Unmarshal(k.Outcome, &kept); err != nil {
		return false, err
	}
	for _, it := range kept.items() {
		t.log.add(it)
	}
	return true, nil
}

// settle stores how the turn of a key ended. A turn that failed before any tool ran
// leaves nothing: the same request may be sent again.
func (s *server) settle(ctx context.Context, t *liveTurn, k KeyRecord, kept *outcome, failed error) {
	const settleFor = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	var err error
	switch {
	case !k.Acted && (failed != nil || kept.Done == nil):
		s.Turns.forgetKey(t)
		err = s.Keys.Release(ctx, k.Owner, k.Key)
	default:
		if failed == nil && kept.Done == nil {
			failed = errCut
		}
		if failed != nil {
			e := failureOf(failed).afterTurnTool()
			kept.Failure = &storedFailure{Status: e.status, Kind: e.kind, Code: e.code, Message: e.message}
		}
		kept.Text, kept.Thought = kept.text.String(), kept.thought.String()
		if k.Outcome, err = json.Marshal(kept); err == nil {
			err = s.Keys.Set(ctx, k)
		}
	}
	if err != nil {
		s.Logger.Error("the outcome of an Idempotency-Key could not be stored", "turn_id", t.id, "error", err)
	}
}

// take gathers an event.
func (o *outcome) take(ev agent.Event) {
	switch ev.Kind {
	case agent.EventStart:
		o.Start = ev.Start
	case agent.EventThinking:
		o.thought.WriteString(ev.Text)
	case agent.EventText:
		o.text.WriteString(ev.Text)
	case agent.EventClientCalls:
		o.Calls = ev.Calls
	case agent.EventDone:
		o.Done = ev.Done
	}
}

// items tells the outcome as a turn would.
func (o *outcome) items() []item {
	items := []item{{event: agent.Event{Kind: agent.EventStart, Start: o.Start}}}
	if o.Failure != nil {
		e := &apiError{status: o.Failure.Status, kind: o.Failure.Kind, code: o.Failure.Code, message: o.Failure.Message, noRetry: true}
		return append(items, item{err: e})
	}
	if o.Thought != "" {
		items = append(items, item{event: agent.Event{Kind: agent.EventThinking, Text: o.Thought}})
	}
	if o.Text != "" {
		items = append(items, item{event: agent.Event{Kind: agent.EventText, Text: o.Text}})
	}
	if len(o.Calls) > 0 {
		items = append(items, item{event: agent.Event{Kind: agent.EventClientCalls, Calls: o.Calls}})
	}
	return append(items, item{event: agent.Event{Kind: agent.EventDone, Done: o.Done}})
}
