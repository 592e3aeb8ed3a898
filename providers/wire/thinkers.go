package wire

import (
	"errors"
	"sync"

	"molar/providers"
)

// ErrStarved says that a model spent all tokens of its answer on thoughts.
var ErrStarved = errors.New("the model spent all tokens of its answer on thoughts")

// Starving marks the error of such an answer: the next one has more tokens.
func Starving(err *providers.Error) *providers.Error {
	err.Again, err.Changed = "all tokens went into thoughts, asked again with more", true
	return err
}

// thinkingRoom is how many tokens a small answer is given for thoughts that cannot be
// switched off.
const thinkingRoom = 1024

// Thinkers remembers which models think, and which of them spend the tokens of a small
// answer on thoughts. The zero value is ready, and may be used by many goroutines.
type Thinkers struct {
	mu     sync.Mutex
	models map[string]int
}

// What is known of a model.
const (
	thinks    = 1 + iota
	wantsRoom // it spent all tokens of a small answer on thoughts
	wantsAll  // and did so again with room for them
)

// Note tells that a model thought.
func (t *Thinkers) Note(model string) { t.raise(model, thinks) }

// Known reports whether a model is known to think.
func (t *Thinkers) Known(model string) bool { return t.level(model) >= thinks }

// Shape returns the request of a small pass as one in which the model need not think, or
// has room for it; other requests as they are.
func (t *Thinkers) Shape(req providers.Request) providers.Request {
	if !req.Pass.IsSmall() {
		return req
	}
	if req.Thinking == "" {
		req.Thinking = providers.ThinkingOff
	}
	switch level := t.level(req.Model); {
	case level >= wantsAll:
		req.MaxTokens = 0
	case level == wantsRoom && req.MaxTokens > 0:
		req.MaxTokens += thinkingRoom
	}
	return req
}

// Starved notes that the answer to a small pass ran out of tokens before it began, and
// reports whether the next request will have more.
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
