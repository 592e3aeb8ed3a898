package ollama

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// Sizes of context windows, in tokens.
const (
	firstWindow = 8 << 10
	// serverWindow is a server's smallest default window. A prompt that fits into it leaves the
	// window to the server.
	serverWindow = 4 << 10
	// unknownWindow bounds the window of a model that does not report its own.
	unknownWindow = 128 << 10
	// answerRoom is kept free for the answer if the request does not bound it, but at most a quarter
	// of the window: a Modelfile may set a small one.
	answerRoom = 2 << 10
	// bytesPerToken is a low estimate of a prompt token's bytes: English has about 4, Vietnamese
	// and JSON about 3.
	bytesPerToken = 3
	// lookTime bounds the query for a model's loaded window, and freshTime is how long its answer
	// is valid: other clients load models too. That it is not loaded is valid for absentTime, as
	// it may be loading.
	lookTime   = 2 * time.Second
	freshTime  = 5 * time.Second
	absentTime = 2 * time.Second
	// shrinkAfter is how many calls in a row must fit the model's base window before a grown
	// window is released.
	shrinkAfter = 8
)

// windows remembers the windows with which models are loaded, and which of them this process
// requested. Every change makes the server reload the model, for all its clients.
type windows struct {
	mu  sync.Mutex
	all map[string]*modelWindow
}

// A modelWindow holds the window state of one model.
type modelWindow struct {
	// base is the window that prompts are made for: histories are shortened and tools chosen to
	// fit it, so that only the essentials of a turn make it grow. It stays the same from turn to
	// turn, for the server's prompt cache.
	base int
	// requested are the windows that this process made the server load, with 0 for its default
	// until that is known.
	requested map[int]bool
	// idle counts the calls in a row that would have fitted base.
	idle int
	// loaded is the window that the server reported last, and at when it was last asked.
	loaded int
	at     time.Time
	// silent is set if the server reported no window after a call: it was too early, or the server
	// never does.
	silent bool
}

// of returns a model's state. The caller holds the lock.
func (w *windows) of(model string) *modelWindow {
	if w.all == nil {
		w.all = map[string]*modelWindow{}
	}
	if w.all[model] == nil {
		w.all[model] = &modelWindow{requested: map[int]bool{}}
	}
	return w.all[model]
}

// isStale reports whether the caller must ask the server for the loaded window and call saw. While
// it asks, other callers use the answer before.
func (w *windows) isStale(model string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.of(model)
	valid := freshTime
	switch {
	case m.loaded == 0 && m.requested[0] && !m.silent: // our call has made the server load it
		valid = 0
	case m.loaded == 0:
		valid = absentTime
	}
	if m.base > 0 && time.Since(m.at) < valid {
		return false
	}
	m.at = time.Now()
	return true
}

// saw records the window with which the server has the model loaded, 0 if it is not loaded. first
// is the base of a model that is not loaded yet.
func (w *windows) saw(model string, size, first int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.of(model)
	m.loaded, m.at = size, time.Now()
	m.silent = size == 0 && m.requested[0]
	switch {
	case m.base == 0 && size == 0:
		m.base = first
	case size == 0:
	case m.requested[size]:
	case m.requested[0]: // the server's default for our call
		delete(m.requested, 0)
		m.requested[size], m.base = true, max(m.base, size)
	default: // another client's
		m.requested, m.base = map[int]bool{}, size
	}
}

// choose returns the window for a call of need tokens: the loaded one, else the Modelfile's, else
// the server's default (0), if that suffices; else the next sufficient power of two. A need of 0
// returns the base and changes nothing.
func (w *windows) choose(model string, need, modelfile, most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.of(model)
	if need == 0 {
		return m.base
	}
	if m.loaded > m.base && m.requested[m.loaded] && need <= m.base {
		m.idle++
	} else {
		m.idle = 0
	}
	loaded := m.loaded
	if m.idle >= shrinkAfter {
		m.idle, loaded = 0, 0
	}
	size := 0
	switch {
	case loaded > 0 && need <= loaded:
		return loaded
	case loaded == 0 && modelfile > 0 && need <= modelfile:
		size = min(modelfile, most)
	case loaded == 0 && modelfile == 0 && need <= serverWindow:
	default:
		size = windowFor(need, most)
	}
	m.requested[size], m.loaded, m.at = true, size, time.Now()
	return size
}

// Window returns the window that prompts to the model should fit, in tokens, or 0 if the server
// does not answer. Calls with such prompts make the server reload the model at most once.
func (p *Provider) Window(ctx context.Context, model string) int {
	info, err := p.info(ctx, model)
	if err != nil {
		return 0
	}
	return p.window(ctx, model, info, nil)
}

// MaxWindow returns the largest possible window of the model, in tokens, or 0 if the server does
// not answer.
func (p *Provider) MaxWindow(ctx context.Context, model string) int {
	info, err := p.info(ctx, model)
	if err != nil {
		return 0
	}
	return cmp.Or(p.numCtx, p.most(info))
}

// most returns the largest allowed window.
func (p *Provider) most(info modelInfo) int {
	most := cmp.Or(info.context, unknownWindow)
	if p.maxNumCtx > 0 {
		most = min(most, p.maxNumCtx)
	}
	return most
}

// window returns num_ctx for a call, 0 for the server's default: the configured one, else that of
// [windows.choose]. Without a call it returns the base.
func (p *Provider) window(ctx context.Context, model string, info modelInfo, call *need) int {
	if p.numCtx > 0 {
		return p.numCtx
	}
	most, name := p.most(info), fullName(model)
	if p.windows.isStale(name) {
		p.windows.saw(name, p.loadedWindow(ctx, name), min(cmp.Or(info.numCtx, firstWindow), most))
	}
	base := p.windows.choose(name, 0, info.numCtx, most)
	if call == nil {
		return base
	}
	return p.windows.choose(name, call.tokens(base), info.numCtx, most)
}

// windowFor returns the next power of two that suffices for need tokens, at most most.
func windowFor(need, most int) int {
	size := firstWindow
	for size < need && size < most {
		size *= 2
	}
	return min(size, most)
}

// loadedWindow returns the window with which the model is loaded, 0 if it is not.
func (p *Provider) loadedWindow(ctx context.Context, name string) int {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	models, err := p.Loaded(ctx)
	if err != nil {
		return 0
	}
	for _, m := range models {
		if fullName(m.Name) == name {
			return m.ContextLength
		}
	}
	return 0
}

// An overflow is the error of a prompt that did not fit into the window.
type overflow struct {
	error
	window int
}

// Unwrap returns the server's error.
func (e overflow) Unwrap() error { return e.error }

// A need is what a call's prompt and answer take of a window, in tokens.
type need struct {
	// prompt is an estimate; answer is the most that the answer may take, 0 if the request does not say.
	prompt, answer int
	// after is the error of the try before, which may be an overflow.
	after error
}

// tokens returns how many tokens the call needs if the window that prompts are made for is base.
func (n need) tokens(base int) int {
	total := n.prompt + n.answer
	if n.answer <= 0 {
		total = n.prompt + min(answerRoom, base/4)
	}
	if before, ok := errors.AsType[overflow](n.after); ok {
		total = max(total, before.window+1)
	}
	return total
}
