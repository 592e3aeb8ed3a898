package wire

import (
	"errors"
	"sync"

	"molar/providers"
	"molar/schemas"
)

// ErrStarved means that a model spent all tokens of its answer on thoughts.
var ErrStarved = errors.New("the model spent all tokens of its answer on thoughts")

// Starving wraps the error of such an answer: the retry gets more tokens.
func Starving(err *providers.Error) *providers.Error {
	err.Again, err.Changed = "all tokens went into thoughts, asked again with more", true
	return err
}

// thinkingRoom is how many extra tokens a small answer gets for thoughts that cannot be switched
// off.
const thinkingRoom = 1024

// Thinkers remembers which models think, and which of them spend a small answer's tokens on
// thoughts. The zero value is ready; it is safe for concurrent use.
type Thinkers struct {
	mu     sync.Mutex
	models map[string]int
}

// The levels of knowledge about a model.
const (
	thinks    = 1 + iota
	wantsRoom // it spent all tokens of a small answer on thoughts
	wantsAll  // and again with room for them
)

// Note records that a model thought.
func (t *Thinkers) Note(model string) { t.raise(model, thinks) }

// Known reports whether a model is known to think.
func (t *Thinkers) Known(model string) bool { return t.level(model) >= thinks }

// Shape adapts the request of a small pass so that the model need not think, or has room for it;
// it returns other requests unchanged.
func (t *Thinkers) Shape(req providers.Request) providers.Request {
	if !req.Pass.IsSmall() {
		return req
	}
	if req.Thinking == "" {
		req.Thinking = schemas.ThinkingOff
	}
	switch level := t.level(req.Model); {
	case level >= wantsAll:
		req.MaxTokens = 0
	case level == wantsRoom && req.MaxTokens > 0:
		req.MaxTokens += thinkingRoom
	}
	return req
}

// Starved records that the answer to a small pass ran out of tokens before it began, and reports
// whether the next request will have more.
func (t *Thinkers) Starved(req providers.Request) bool {
	level := t.level(req.Model)
	if !req.Pass.IsSmall() || req.MaxTokens == 0 || level >= wantsAll {
		return false
	}
	t.raise(req.Model, max(level+1, wantsRoom))
	return true
}

func (t *Thinkers) level(model string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.models[model]
}

func (t *Thinkers) raise(model string, level int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.models == nil || len(t.models) >= maxModels {
		t.models = map[string]int{}
	}
	t.models[model] = max(t.models[model], level)
}
