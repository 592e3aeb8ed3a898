package turns

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/agent/answer"
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
	// read checks a person's decision, and returns the func that applies it.
	read func(reply []byte) (apply func(), err error)
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
func await[T any](ctx context.Context, w *Waits, p *wait, reply <-chan T, sharing *Sharing, send func()) (T, error) {
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
	select {
	case s := <-reply:
		return s, nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
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
func (w *Waits) take(kind *waitKind, owner, id string, reply []byte) error {
	w.mu.Lock()
	p := w.open[id]
	w.mu.Unlock()
	if p == nil || p.owner != owner {
		return kind.errGone()
	}
	apply, err := p.read(reply)
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
