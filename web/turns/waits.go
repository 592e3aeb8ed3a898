package turns

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/wire"
)

// Waits are the pending approvals and questions of the turns of this process. The key of the
// tokens is random and ends with the process, since after a restart nothing is pending.
type Waits struct {
	key [32]byte
	now func() time.Time

	mu   sync.Mutex
	open map[string]*wait
}

// NewWaits returns an empty set, whose tokens are valid in this process alone.
func NewWaits(now func() time.Time) *Waits {
	w := &Waits{now: now, open: make(map[string]*wait)}
	_, _ = rand.Read(w.key[:]) // never fails, see crypto/rand
	return w
}

// A wait is a pending approval or question.
type wait struct {
	id, turnID, owner string
	// content is sent to its owner: an [answer.Approval] or an [answer.PendingQuestion].
	content any
	// approvers are the groups whose members decide, if not its owner.
	approvers []string
	// read checks a person's decision, and returns the func that applies it.
	read func(by schemas.Decider, reply []byte) (apply func(), err error)
	// allow approves a pending call when a permission for the same subject was given for
	// another call. It is nil for a question.
	allow func()
	// ask is the call that waits; zero for a question.
	ask agent.Ask
}

// A waitKind distinguishes approvals from questions, by their ids.
type waitKind struct {
	prefix, noun string
	// gone and late are error texts: for an id that is not pending, and for a decision that is not
	// the first. code is the error code of the latter.
	gone, code, late string
}

var (
	callKind = &waitKind{
		prefix: "approval_", noun: "approval", code: "already_decided", late: "another decision came first",
		gone: "no call waits under this id: it was decided, has expired, or its turn has ended",
	}
	questionKind = &waitKind{
		prefix: "question_", noun: "question", code: "already_answered", late: "another answer came first",
		gone: "no server waits for an answer under this id: it was given, the question has expired, or its turn has ended",
	}
)

func (k *waitKind) newID() string        { return k.prefix + uuid.NewString() }
func (k *waitKind) names(id string) bool { return strings.HasPrefix(id, k.prefix) }

func (k *waitKind) errGone() error {
	e := *wire.NotFound(k.noun)
	e.Message = k.gone
	return &e
}

func (k *waitKind) errLate() error {
	return &wire.Error{Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: k.code, NoRetry: true, Message: k.late}
}

// await publishes a wait, to other replicas too unless sharing is nil, and blocks until it receives
// a value from reply. It fails if ctx ends first. send sends the event for the client.
func await[T any](ctx context.Context, k asker, p *wait, reply <-chan T, send func()) (T, error) {
	w, sharing, leaving := k.h.Waits, k.sharing, k.h.Set.leaving
	w.mu.Lock()
	w.open[p.id] = p
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, p.id)
	}()
	if sharing != nil {
		defer sharing.ask(ctx, p)()
	}
	send()
	for {
		select {
		case s := <-reply:
			return s, nil
		case <-leaving:
			leaving = nil
			k.h.pauseWaiting(k.turn)
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// withdraw withdraws the pending approvals of a turn, so that no decision reaches it any more, if each
// of the calls is one of them. It reports whether it did.
func (w *Waits) withdraw(turnID string, calls []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := make(map[string]string)
	for id, p := range w.open {
		if p.turnID == turnID && p.allow != nil {
			asked[p.ask.Call.ID] = id
		}
	}
	if len(asked) == 0 || slices.ContainsFunc(calls, func(call string) bool { return asked[call] == "" }) {
		return false
	}
	for _, id := range asked {
		delete(w.open, id)
	}
	return true
}

// waiting returns the owner's pending items of one kind in this process.
func waiting[T any](w *Waits, owner string) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []T{}
	for _, p := range w.open {
		if v, ok := p.content.(T); ok && p.owner == owner {
			all = append(all, v)
		}
	}
	return all
}

// has reports whether an approval or question with the id is pending in this process.
func (w *Waits) has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[id] != nil
}

// take applies a person's decision, as JSON, to the wait with the id. Only the first decision
// counts.
func (w *Waits) take(kind *waitKind, by schemas.Decider, id string, reply []byte) error {
	w.mu.Lock()
	p := w.open[id]
	w.mu.Unlock()
	if p == nil || by.SayAbout(p.owner, p.approvers) == schemas.SayNothing {
		return kind.errGone()
	}
	apply, err := p.read(by, reply)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[id] != p {
		return kind.errLate()
	}
	delete(w.open, id)
	apply()
	return nil
}

// allowAlike approves the turn's other pending calls that the permission just given covers. The
// caller holds w.mu.
func (w *Waits) allowAlike(as *wait, covered func(agent.Ask) bool) {
	for id, p := range w.open {
		if _, ok := p.content.(answer.Approval); ok && p.owner == as.owner && p.turnID == as.turnID && covered(p.ask) {
			delete(w.open, id)
			p.allow()
		}
	}
}

// decodeDecision decodes JSON that this package wrote.
func decodeDecision[T any](reply []byte) (v T, err error) {
	err = json.Unmarshal(reply, &v)
	return v, err
}
