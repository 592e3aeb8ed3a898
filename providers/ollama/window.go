package ollama

import (
	"sync"
)

// Sizes of context windows, in tokens.
const (
	firstWindow = 8 << 10
	// unknownWindow bounds the window of a model that does not tell its own.
	unknownWindow = 128 << 10
	// answerRoom is kept free for the answer when the request does not bound it.
	answerRoom = 2 << 10
	// bytesPerToken is what a token of prompt amounts to, on the low side: English
	// has about 4, Vietnamese and JSON about 3.
	bytesPerToken = 3
)

// windows holds the context window (num_ctx) of each model. A window only grows,
// since every change makes the server load the model again.
type windows struct {
	mu    sync.Mutex
	sizes map[string]int
}

// fit returns the window for a prompt and its answer of need tokens, at most
// limit (0: unknown).
func (w *windows) fit(model string, need, limit int) int {
	if limit <= 0 {
		limit = unknownWindow
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	size := max(w.sizes[model], firstWindow)
	for size < need && size < limit {
		size *= 2
	}
	size = min(size, limit)
	if w.sizes == nil {
		w.sizes = map[string]int{}
	}
	w.sizes[model] = size
	return size
}

// estimate says how many tokens a prompt of n bytes may come to, with room for
// an answer of at most maxTokens (0: unbounded).
func estimate(n, maxTokens int) int {
	if maxTokens <= 0 {
		maxTokens = answerRoom
	}
	return n/bytesPerToken + maxTokens
}
