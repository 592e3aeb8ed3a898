package ollama

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"molar/providers"
)

// Sizes of context windows, in tokens.
const (
	firstWindow = 8 << 10
	// serverWindow is the least that a server gives a model by itself. A prompt that fits
	// into it leaves the window to the server.
	serverWindow = 4 << 10
	// unknownWindow bounds the window of a model that does not tell its own.
	unknownWindow = 128 << 10
	// answerRoom is kept free for the answer when the request does not bound it.
	answerRoom = 2 << 10
	// bytesPerToken is what a token of prompt amounts to, on the low side: English
	// has about 4, Vietnamese and JSON about 3.
	bytesPerToken = 3
	// lookTime bounds the question with which window a model is loaded, and freshTime is
	// how long its answer is believed: other clients load models too.
	lookTime  = 2 * time.Second
	freshTime = 5 * time.Second
	// shrinkAfter is how many calls in a row must fit the model's base window, until one that
	// was grown for an earlier call is given back.
	shrinkAfter = 8
)

// windows remembers with which windows models are loaded, and which of them are our own.
// Every change makes the server load the model again, for all its clients.
type windows struct {
	mu  sync.Mutex
	all map[string]*modelWindow
}

// A modelWindow is what is known of the window of one model.
type modelWindow struct {
	// base is the window that prompts are made for: histories are shortened and tools are
	// chosen to fit it, so that only what one turn cannot do without makes it grow. It stays
	// the same from turn to turn, for the sake of the server's cache of prompts.
	base int
	// asked are the windows that calls of ours made the server load, 0 standing for its own
	// default until it is known.
	asked map[int]bool
	// idle counts the calls in a row that would have fitted the base.
	idle int
	// loaded is what the server told last, and at when.
	loaded int
	at     time.Time
}

// of returns what is known of a model. The caller holds the lock.
func (w *windows) of(model string) *modelWindow {
	if w.all == nil {
		w.all = map[string]*modelWindow{}
	}
	if w.all[model] == nil {
		w.all[model] = &modelWindow{asked: map[int]bool{}}
	}
	return w.all[model]
}

// fresh reports whether it is known with which window the model is loaded.
func (w *windows) fresh(model string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.of(model)
	return m.loaded > 0 && time.Since(m.at) < freshTime
}

// saw takes in with which window the server has the model loaded, 0 for not at all. first
// is the base of a model that nobody has loaded yet.
func (w *windows) saw(model string, size, first int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.of(model)
	m.loaded, m.at = size, time.Now()
	switch {
	case m.base == 0 && size == 0:
		m.base = first
	case size == 0:
	case m.asked[size]:
	case m.asked[0]: // the server chose it for our call
		delete(m.asked, 0)
		m.asked[size], m.base = true, max(m.base, size)
	default: // another client's
		m.asked, m.base = map[int]bool{}, size
	}
}

// choose returns the window for a call of need tokens: as the model is loaded, else what its
// Modelfile sets, else the server's own (0), where that suffices; else the next power of two
// that does. A need of 0 asks for the base, and changes nothing.
func (w *windows) choose(model string, need, modelfile, most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.of(model)
	if need == 0 {
		return m.base
	}
	if m.loaded > m.base && m.asked[m.loaded] && need <= m.base {
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
	m.asked[size], m.loaded, m.at = true, size, time.Now()
	return size
}

// Window returns the window that prompts to the model are to be made for, in tokens, or 0
// when the server does not answer. Calls whose prompts fit it make the server load the
// model anew at most once.
func (p *Provider) Window(ctx context.Context, model string) int {
	info, err := p.info(ctx, model)
	if err != nil {
		return 0
	}
	return p.window(ctx, model, info, 0)
}

// MaxWindow returns the largest window that a prompt to the model can have, in tokens, or 0
// when the server does not answer.
func (p *Provider) MaxWindow(ctx context.Context, model string) int {
	info, err := p.info(ctx, model)
	if err != nil {
		return 0
	}
	return cmp.Or(p.numCtx, p.most(info))
}

// most is the largest window that may be asked for.
func (p *Provider) most(info modelInfo) int {
	most := cmp.Or(info.context, unknownWindow)
	if p.maxNumCtx > 0 {
		most = min(most, p.maxNumCtx)
	}
	return most
}

// window chooses num_ctx for a prompt and its answer of need tokens, 0 for the server's own:
// the configured one, else what [windows.choose] does.
func (p *Provider) window(ctx context.Context, model string, info modelInfo, need int) int {
	if p.numCtx > 0 {
		return p.numCtx
	}
	most, name := p.most(info), fullName(model)
	if !p.windows.fresh(name) {
		p.windows.saw(name, p.loadedWindow(ctx, name), min(cmp.Or(info.numCtx, firstWindow), most))
	}
	return p.windows.choose(name, need, info.numCtx, most)
}

// windowFor is the next power of two that suffices for need tokens, and at most most.
func windowFor(need, most int) int {
	size := firstWindow
	for size < need && size < most {
		size *= 2
	}
	return min(size, most)
}

// loadedWindow is the window with which the model is loaded, 0 when it is not.
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

// needOf says how many tokens a request may need, knowing the try before it.
func needOf(chat *chatRequest, req providers.Request) int {
	need := estimate(chat.promptBytes(), req.MaxTokens)
	if before, ok := errors.AsType[overflow](req.After); ok {
		need = max(need, before.window+1)
	}
	return need
}

// estimate says how many tokens a prompt of n bytes may come to, with room for
// an answer of at most maxTokens (0: unbounded).
func estimate(n, maxTokens int) int {
	if maxTokens <= 0 {
		maxTokens = answerRoom
	}
	return n/bytesPerToken + maxTokens
}
