package anthropic

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// defaultTokens is the longest answer if nothing else is known: the service wants a number.
const defaultTokens = 32_000

// A size is what is known of a model, in tokens; 0 means unknown.
type size struct {
	window int
	most   int // of an answer
}

// sizes holds what the service reports of its models, or says in refusals. It is safe for concurrent
// use.
type sizes struct {
	mu     sync.Mutex
	models map[string]size
	// next is when the service may be asked again.
	next time.Time
}

// report records what the list of models says.
func (s *sizes) report(id string, window, most int) {
	s.set(id, func(m *size) { m.window, m.most = window, most })
}

// limit records how long an answer may be.
func (s *sizes) limit(model string, most int) {
	s.set(model, func(m *size) { m.most = most })
}

func (s *sizes) set(model string, change func(*size)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil {
		s.models = make(map[string]size)
	}
	m := s.models[model]
	change(&m)
	s.models[model] = m
}

// of returns what is known of a model by its name or an alias.
func (s *sizes) of(model string) size {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.models[model]; ok {
		return m
	}
	newest := ""
	for id := range s.models {
		if id > newest && means(model, id) {
			newest = id
		}
	}
	return s.models[newest]
}

// ask reports whether the service should be asked now, which no other call does for a while.
func (s *sizes) ask() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.next) {
		return false
	}
	s.next = time.Now().Add(windowAgain)
	return true
}

const (
	// windowTime bounds the question for a model's window, and windowAgain is the time between two
	// of them.
	windowTime  = 2 * time.Second
	windowAgain = 10 * time.Minute
)

// Window returns the model's window as configured, else as the service reports it in its list of
// models; 0 if it reports none.
func (p *Provider) Window(ctx context.Context, model string) int {
	if p.window > 0 {
		return p.window
	}
	if known := p.sizes.of(model).window; known > 0 || !p.sizes.ask() {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	_, _ = p.Models(ctx) // without a list the window stays unknown
	return p.sizes.of(model).window
}

// limit sets the longest answer: as asked for, else the default and at most half of the window, within
// what the model can.
func (p *Provider) limit(b *body, asked int) {
	known := p.sizes.of(b.Model)
	if b.MaxTokens = asked; asked == 0 {
		b.MaxTokens = defaultTokens
		if window := cmp.Or(p.window, known.window); window > 0 {
			b.MaxTokens = min(b.MaxTokens, window/2)
		}
	}
	for _, most := range []int{known.most, b.eased.most} {
		if most > 0 {
			b.MaxTokens = min(b.MaxTokens, most)
		}
	}
}
