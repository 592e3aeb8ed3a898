package models

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// maxBody is how much of a request's body is remembered, in bytes.
const maxBody = 64 << 10

// A Pass is what a request looks like to the server.
type Pass string

// The passes.
const (
	// PassTool offers tools and holds no tool result.
	PassTool Pass = "tool"
	// PassText asks for an answer.
	PassText Pass = "text"
	// PassJudge asks for a verdict: no tools, and at most 16 tokens or a format.
	PassJudge Pass = "judge"
)

// A Request is what was asked of the server, and how it went.
type Request struct {
	// Number counts from 1 since the start or the last Reset.
	Number int    `json:"number"`
	Wire   string `json:"wire"`
	Pass   Pass   `json:"pass"`
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	// Tools are the names offered.
	Tools []string `json:"tools,omitempty"`
	// Roles are those of the history, in order.
	Roles []string `json:"roles"`
	// LastUser is the text of the last user message.
	LastUser string `json:"lastUser"`
	// Tag is what follows "tag=" in the latest user message that holds one.
	Tag string `json:"tag,omitempty"`
	// MaxTokens is the limit asked for; 0 means none.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Format reports whether an output format was asked for.
	Format bool `json:"format,omitempty"`
	// Body is the request as it came, up to 64 KiB.
	Body string `json:"body"`

	// Start is when the body was read, First when the first output was sent, End
	// when the answer was over; zero while it is not.
	Start time.Time `json:"start"`
	First time.Time `json:"first,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Cancelled reports that the client went away before the end.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Decode reads the recorded body into v.
func (r Request) Decode(v any) error { return json.Unmarshal([]byte(r.Body), v) }

// Counts are numbers since the start or the last Reset.
type Counts struct {
	Total     int `json:"total"`
	Tool      int `json:"tool"`
	Text      int `json:"text"`
	Judge     int `json:"judge"`
	Cancelled int `json:"cancelled"`
	// Open is how many answers run now, MaxOpen the most that ever ran at once.
	Open    int `json:"open"`
	MaxOpen int `json:"maxOpen"`
}

// record remembers the last keep requests, and counts them all.
type record struct {
	mu     sync.Mutex
	idle   sync.Cond
	keep   int
	ring   []*Request
	next   int
	counts Counts
}

// begin notes a request and returns the entry that the answer fills in.
func (r *record) begin(req Request) *Request {
	if len(req.Body) > maxBody {
		req.Body = req.Body[:maxBody]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Total++
	r.counts.Open++
	r.counts.MaxOpen = max(r.counts.MaxOpen, r.counts.Open)
	switch req.Pass {
	case PassTool:
		r.counts.Tool++
	case PassJudge:
		r.counts.Judge++
	case PassText:
		r.counts.Text++
	}
	req.Number = r.counts.Total
	entry := &req
	if len(r.ring) < r.keep {
		r.ring = append(r.ring, entry)
	} else {
		r.ring[r.next] = entry
		r.next = (r.next + 1) % r.keep
	}
	return entry
}

func (r *record) first(entry *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if entry.First.IsZero() {
		entry.First = time.Now()
	}
}

func (r *record) end(entry *Request, cancelled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry.End, entry.Cancelled = time.Now(), cancelled
	r.counts.Open--
	if cancelled {
		r.counts.Cancelled++
	}
	if r.counts.Open == 0 {
		r.idle.Broadcast()
	}
}

// waitIdle returns when no answer runs.
func (r *record) waitIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.counts.Open > 0 {
		r.idle.Wait()
	}
}

// Requests returns copies of the last requests for an answer, oldest first, at
// most Config.Keep of them.
func (s *Server) Requests() []Request {
	r := &s.record
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Request, 0, len(r.ring))
	for i := range r.ring {
		all = append(all, *r.ring[(r.next+i)%len(r.ring)])
	}
	return all
}

// Counts returns the numbers so far; they are complete whatever Config.Keep is.
func (s *Server) Counts() Counts {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.counts
}

// Reset forgets requests and counts; answers that run are counted as open still.
func (s *Server) Reset() {
	r := &s.record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring, r.next = nil, 0
	r.counts = Counts{Open: r.counts.Open, MaxOpen: r.counts.Open}
}

// markLoaded notes that a model answered, as /api/ps shows it.
func (s *Server) markLoaded(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.loaded, model) {
		s.loaded = append(s.loaded, model)
	}
}
