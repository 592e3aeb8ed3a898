package transport

import "sync"

// inflight matches answers to the waiting requests.
type inflight struct {
	mu      sync.Mutex
	lastID  int64
	waiting map[int64]waiter
	err     error
}

type waiter struct {
	method string
	answer chan Reply
}

// add registers a request under a new id. It fails once the connection has failed.
func (f *inflight) add(method string) (int64, <-chan Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, nil, notSent(f.err)
	}
	if f.waiting == nil {
		f.waiting = map[int64]waiter{}
	}
	f.lastID++
	w := waiter{method: method, answer: make(chan Reply, 1)}
	f.waiting[f.lastID] = w
	return f.lastID, w.answer, nil
}

// busy reports whether an answer is waited for. The request for news of a server stays open for ever.
func (f *inflight) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.waiting {
		if w.method != MethodListen {
			return true
		}
	}
	return false
}

// remove drops a request; a later answer is ignored.
func (f *inflight) remove(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, id)
}

// resolve passes a response to its request. An error without an id goes to the only request under
// way, if there is just one.
func (f *inflight) resolve(m *rpcMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ok := ParseID(m.ID)
	if !ok && IsNull(m.ID) && !IsNull(m.Error) && len(f.waiting) == 1 {
		for only := range f.waiting {
			id = only
		}
	}
	if w, waits := f.waiting[id]; waits {
		delete(f.waiting, id)
		w.answer <- m.Reply(w.method)
	}
}

// failOnly fails the only request under way, if there is just one.
func (f *inflight) failOnly(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) != 1 {
		return
	}
	for id, w := range f.waiting {
		delete(f.waiting, id)
		w.answer <- Reply{Err: err}
	}
}

// fail fails all requests with err, and all later ones.
func (f *inflight) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	for id, w := range f.waiting {
		delete(f.waiting, id)
		w.answer <- Reply{Err: f.err}
	}
}
