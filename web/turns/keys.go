package turns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// A KeyStore stores the outcome of turns with an Idempotency-Key, across restarts.
type KeyStore interface {
	// ClaimKey records the key for the turn. For a known key it changes nothing, and returns
	// the stored record and false.
	ClaimKey(ctx context.Context, k schemas.KeyRecord) (schemas.KeyRecord, bool, error)
	// TakeKey moves the key of a dead turn whose tools did not run to another turn, and
	// reports whether before still had it.
	TakeKey(ctx context.Context, k schemas.KeyRecord, before string) (bool, error)
	// SetKey stores the turn's state. It fails if another turn has the key.
	SetKey(ctx context.Context, k schemas.KeyRecord) error
	// ReleaseKey deletes the key of a turn that had no outcome.
	ReleaseKey(ctx context.Context, owner, key, turnID string) error
}

// An outcome is a finished turn in the form that can be replayed.
type outcome struct {
	Start      *answer.Start      `json:"start,omitempty"`
	Thought    string             `json:"thought,omitempty"`
	Commentary []string           `json:"commentary,omitempty"`
	Text       string             `json:"text,omitempty"`
	Refusal    bool               `json:"refusal,omitempty"`
	Calls      []schemas.ToolCall `json:"calls,omitempty"`
	Done       *answer.Done       `json:"done,omitempty"`
	Failure    *storedFailure     `json:"failure,omitempty"`
}

// A storedFailure is the error of a turn that failed after a tool had run. It is final.
type storedFailure struct {
	Status  int    `json:"status"`
	Kind    string `json:"kind"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

var (
	errOtherBody = &wire.Error{
		Status: http.StatusUnprocessableEntity, Kind: wire.TypeInvalid, Code: "idempotency_key_reused", NoRetry: true,
		Message: "this Idempotency-Key was sent with another body; choose a new key for a new request",
	}
	errGoesOn = &wire.Error{
		Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "turn_interrupted", RetryAfter: time.Second,
		Message: "the process that ran the turn of this Idempotency-Key is gone, and another one continues it: send the request again for its answer",
	}
	errTurnLost = &wire.Error{
		Status: wire.StatusActed, Kind: wire.TypeInvalid, Code: "turn_lost", NoRetry: true,
		Message: "the server ended in the middle of the turn of this Idempotency-Key, after a tool had run; send a new key only if that may happen twice",
	}
)

// RequestHash returns a hash that identifies the request of a key: of its body, and of the header
// X-Conversation-Id.
func RequestHash(body []byte, h http.Header) string {
	sum := sha256.New()
	sum.Write(body)
	sum.Write([]byte(h.Get("X-Conversation-Id")))
	return hex.EncodeToString(sum.Sum(nil))
}

// forgetFailed frees the key of a turn that failed before it had an effect.
func (h *Host) forgetFailed(t *Live, err error, acted bool) {
	if err != nil && !acted {
		h.Set.forgetKey(t)
	}
}

// runKeyed runs the turn of a key once, and stores the outcome: a key that already has one is
// replayed. A turn that goes on has its key; the items that its log holds are part of the outcome.
func (h *Host) runKeyed(ctx context.Context, t *Live, turn *agent.Turn) {
	k := schemas.KeyRecord{Owner: t.owner, Key: t.key, Hash: t.hash, TurnID: t.ID, ConversationID: turn.ConversationID}
	if !t.goesOn {
		claimed, err := h.claim(ctx, t, k)
		if err != nil {
			h.Set.forgetKey(t)
			t.add(Item{Err: err})
		}
		if err != nil || !claimed {
			return
		}
	}
	seen, done := &answer.Collector{}, Effects{}
	items, _ := t.Log.until(math.MaxInt)
	for _, it := range items {
		seen.Add(it.Event)
		done.Add(it.Event)
	}
	k.Acted = done.Any()
	err := h.run(ctx, t, turn, func(ev answer.Event) error {
		seen.Add(ev)
		if ev.Kind == answer.KindStart && ev.Start != nil {
			k.ConversationID = ev.Start.ConversationID
		}
		done.Add(ev)
		if !Acts(ev) || k.Acted {
			return nil
		}
		k.Acted = true // stored before the tool runs, since nothing can store it after a crash
		if err := h.Keys.SetKey(ctx, k); err != nil {
			h.Logger.Error("a call of the turn of an Idempotency-Key could not be recorded, so it is not made", "turn_id", t.ID, "error", err)
			return wire.ErrStore
		}
		return nil
	})
	if t.book().IsHandedOver() { // another process settles it
		return
	}
	k.Acted = done.Any() // a recorded call may not have been sent after all
	h.settle(context.WithoutCancel(ctx), t, k, seen, err)
}

// keyFor is how long a turn waits for the store of keys, as for the store of conversations.
const keyFor = 2 * time.Second

func (h *Host) claimOnce(ctx context.Context, k schemas.KeyRecord) (schemas.KeyRecord, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, keyFor)
	defer cancel()
	return h.Keys.ClaimKey(ctx, k)
}

// claim records the key for the turn. If the key belongs to another turn, which has ended or
// runs elsewhere, that one is replayed instead and claim returns false.
func (h *Host) claim(ctx context.Context, t *Live, k schemas.KeyRecord) (bool, error) {
	failed := func(err error) (bool, error) {
		h.Logger.Error("claim an Idempotency-Key", "turn_id", t.ID, "error", err)
		return false, wire.ErrStore
	}
	for {
		known, claimed, err := h.claimOnce(ctx, k)
		switch {
		case err != nil:
			return failed(err)
		case claimed:
			return true, nil
		case known.Hash != t.hash:
			return false, errOtherBody
		case len(known.Outcome) > 0:
			if err := replay(t, known); err != nil {
				return failed(err)
			}
			return false, nil
		}
		mirrored, err := h.mirrorKeyed(ctx, t, known)
		if mirrored || err != nil {
			return false, err
		}
		switch open, err := h.Journal.GoesOn(ctx, t.owner, known.TurnID); {
		case err != nil:
			return failed(err)
		case open:
			return false, errGoesOn
		case known.Acted:
			return false, errTurnLost
		}
		taken, err := h.Keys.TakeKey(ctx, k, known.TurnID)
		if err != nil {
			return failed(err)
		}
		if taken {
			return true, nil
		}
	}
}

// replay adds the outcome of a known key to the log.
func replay(t *Live, k schemas.KeyRecord) error {
	var o outcome
	if err := json.Unmarshal(k.Outcome, &o); err != nil {
		return err
	}
	for _, it := range o.items() {
		t.add(it)
	}
	return nil
}

// mirrorKeyed replays the turn of a key that runs on another replica; it returns false if no
// replica runs it.
func (h *Host) mirrorKeyed(ctx context.Context, t *Live, k schemas.KeyRecord) (ok bool, err error) {
	if h.Sharing == nil {
		return false, nil
	}
	turn, ok, err := h.Sharing.ledger.Find(ctx, t.owner, k.TurnID)
	if err != nil || !ok || turn.Ended { // a turn that ended well stored its outcome before its end
		return false, err
	}
	other, ok, err := h.Find(ctx, t.owner, k.TurnID)
	if err != nil || !ok {
		return false, err
	}
	for n := 0; ; {
		items, err := other.Log.After(ctx, n)
		if err != nil {
			return true, err
		}
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			if it.Err != nil {
				h.Set.forgetKey(t)
			}
			t.add(it)
		}
		n += len(items)
	}
	if ctx.Err() != nil { // the request to stop concerns the turn itself
		other.cancel(context.Cause(ctx))
		return true, context.Cause(ctx)
	}
	return true, nil
}

// settle stores the outcome of the turn of a key. For a turn that failed before any tool ran it
// releases the key instead, so that the same request can be sent again.
func (h *Host) settle(ctx context.Context, t *Live, k schemas.KeyRecord, seen *answer.Collector, failed error) {
	const settleFor = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	var err error
	switch {
	case !k.Acted && (failed != nil || seen.Done == nil):
		h.Set.forgetKey(t)
		err = h.Keys.ReleaseKey(ctx, k.Owner, k.Key, k.TurnID)
	default:
		if failed == nil && seen.Done == nil {
			failed = ErrCut
		}
		if k.Outcome, err = json.Marshal(outcomeOf(seen, failed)); err == nil {
			err = h.Keys.SetKey(ctx, k)
		}
	}
	if err != nil {
		h.Logger.Error("the outcome of an Idempotency-Key could not be stored", "turn_id", t.ID, "error", err)
	}
}

// outcomeOf returns the outcome to store for a turn, with its failure if it failed.
func outcomeOf(seen *answer.Collector, failed error) outcome {
	o := outcome{
		Start: seen.Start, Thought: seen.Thinking(), Commentary: seen.Commentary, Text: seen.Answer(),
		Refusal: seen.Refusal, Calls: seen.ClientCalls, Done: seen.Done,
	}
	if failed != nil {
		e := wire.Failure(failed).AfterTurnTool()
		o.Failure = &storedFailure{Status: e.Status, Kind: e.Kind, Code: e.Code, Message: e.Message}
	}
	return o
}

// items returns the outcome as the items of a turn.
func (o *outcome) items() []Item {
	items := []Item{{Event: answer.Event{Kind: answer.KindStart, Start: o.Start}}}
	if o.Failure != nil {
		e := &wire.Error{Status: o.Failure.Status, Kind: o.Failure.Kind, Code: o.Failure.Code, Message: o.Failure.Message, NoRetry: true}
		return append(items, Item{Err: e})
	}
	if o.Thought != "" {
		items = append(items, Item{Event: answer.Event{Kind: answer.KindThinking, Text: o.Thought}})
	}
	for _, text := range o.Commentary {
		items = append(items, Item{Event: answer.Event{Kind: answer.KindText, Text: text}},
			Item{Event: answer.Event{Kind: answer.KindCommentary, Text: text}},
			Item{Event: answer.Event{Kind: answer.KindText, Text: "\n\n"}}) // separates it from the text that follows
	}
	if o.Text != "" {
		items = append(items, Item{Event: answer.Event{Kind: answer.KindText, Text: o.Text, Refusal: o.Refusal}})
	}
	if len(o.Calls) > 0 {
		items = append(items, Item{Event: answer.Event{Kind: answer.KindClientCalls, Calls: o.Calls}})
	}
	return append(items, Item{Event: answer.Event{Kind: answer.KindDone, Done: o.Done}})
}
