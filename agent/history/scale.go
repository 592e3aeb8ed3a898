package history

import "sync"

// BytesPerToken is what a token of ordinary text takes, before a model has told more.
const BytesPerToken = 4

// A Scale learns how many bytes a token of each model takes, by the usage that
// providers report. The zero value is ready, and safe for concurrent use.
type Scale struct {
	mu    sync.Mutex
	bytes map[string]float64
}

// BytesOf is how many bytes a token of the model takes.
func (s *Scale) BytesOf(model string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.bytes[model]; ok {
		return b
	}
	return BytesPerToken
}

// Learn takes one prompt's size in. A prompt of a few words says more about the marks
// around them than about text.
func (s *Scale) Learn(model string, bytes, tokens int) {
	const least, weight = 200, 0.2
	if tokens < least {
		return
	}
	seen := min(max(float64(bytes)/float64(tokens), 1), 8)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes == nil {
		s.bytes = make(map[string]float64)
	}
	if old, ok := s.bytes[model]; ok {
		seen = old + weight*(seen-old)
	}
	s.bytes[model] = seen
}
