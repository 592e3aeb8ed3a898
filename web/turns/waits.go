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

	"molar/agent/answer"
	"molar/web/wire"
)

// Waits are what turns wait for of people: decisions about calls, and answers to questions of
// servers. Each waits in the memory of the process that runs its turn, so the key of the tokens
// is the process's own: after a restart there is nothing left to approve.
type Waits struct {
	key [32]byte
	now func() time.Time

	mu   sync.Mutex
	open map[string]*wait
}

// NewWaits returns an empty set, whose tokens are good in this process alone.
func NewWaits(now func() time.Time) *Waits {
	w := &Waits{now: now, open: make(map[string]*wait)}
	_, _ = rand.Read(w.key[:]) // never fails, see crypto/rand
	return w
}

// A wait is one that nobody answered yet.
type wait struct {
	id, turnID, owner string
	// shown is what its owner sees: an [answer.Approval] or an [answer.Asked].
	shown any
	// read says what is wrong with what a person said, or returns what hands it over.
	read func(said []byte) (hand func(), err error)
	// allow lets a call run, beside one of the same subject.
	allow func()
}

// A waitKind tells the two apart, by their ids.
type waitKind struct {
	prefix, noun string
	// gone and late word the errors of one that waits no more.
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

// await shows a wait, to other replicas too unless sharing is nil, and waits for what comes
// through said. Without that it fails when ctx ends.
func await[T any](ctx context.Context, w *Waits, p *wait, said <-chan T, sharing *Sharing, tell func()) (T, error) {
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
	tell()
	select {
	case s := <-said:
		return s, nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// waiting is what waits here for the owner, of one kind.
func waiting[T any](w *Waits, owner string) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := []T{}
	for _, p := range w.open {
		if shown, ok := p.shown.(T); ok && p.owner == owner {
			found = append(found, shown)
		}
	}
	return found
}

// has reports whether one waits here under the id.
func (w *Waits) has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[id] != nil
}

// take hands over what a person said, as JSON, to the one that waits for it. It counts once.
func (w *Waits) take(kind *waitKind, owner, id string, said []byte) error {
	w.mu.Lock()
	p := w.open[id]
	w.mu.Unlock()
	if p == nil || p.owner != owner {
		return kind.errGone()
	}
	hand, err := p.read(said)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[id] != p {
		return kind.errLate()
	}
	delete(w.open, id)
	hand()
	return nil
}

// allowAlike lets the calls of the same turn run that wait for what was just allowed. w.mu is
// held.
func (w *Waits) allowAlike(as *wait, subject string) {
	for id, p := range w.open {
		if a, ok := p.shown.(answer.Approval); ok && p.owner == as.owner && p.turnID == as.turnID && a.Subject == subject {
			delete(w.open, id)
			p.allow()
		}
	}
}

// readSaid is for JSON of this package's own.
func readSaid[T any](said []byte) (v T, err error) {
	err = json.Unmarshal(said, &v)
	return v, err
}
