package models

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// maxBody is the length up to which a request's body is stored, in bytes.
const maxBody = 64 << 10

// A Pass is the kind of a request, as the server guesses it.
type Pass string

// The passes.
const (
	// PassTool offers tools and contains no tool result.
	PassTool Pass = "tool"
	// PassText asks for an answer.
	PassText Pass = "text"
	// PassJudge asks for a verdict: no tools, and at most 16 tokens or a format.
	PassJudge Pass = "judge"
)

// A Request is a request to the server, with its outcome.
type Request struct {
	// Number counts from 1 since the start or the last Reset.
	Number int    `json:"number"`
	Wire   string `json:"wire"`
	Pass   Pass   `json:"pass"`
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	// Tools are the names offered.
	Tools []string `json:"tools,omitempty"`
	// Roles are the roles of the messages, in order.
	Roles []string `json:"roles"`
	// LastUser is the text of the last user message.
	LastUser string `json:"lastUser"`
	// Tag is the text after "tag=" in the latest user message with one.
	Tag string `json:"tag,omitempty"`
	// MaxTokens is the requested limit; 0 means none.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Format reports whether an output format was requested.
	Format bool `json:"format,omitempty"`
	// Body is the body of the request, up to 64 KiB.
	Body string `json:"body"`

	// Start is when the body was read, First when the first output was sent, End when the answer
	// ended; zero before.
	Start time.Time `json:"start"`
	First time.Time `json:"first,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Cancelled reports that the client disconnected before the end.
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
	// Open is the number of running answers, MaxOpen its maximum so far.
	Open    int `json:"open"`
	MaxOpen int `json:"maxOpen"`
}

// record stores the last keep requests, and counts all of them.
type record struct {
	mu     sync.Mutex
	idle   sync.Cond
	keep   int
	ring   []*Request
	next   int
	counts Counts
}

// begin records a request and returns the entry that the answer completes.
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

// waitIdle blocks until no answer runs.
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

// Counts returns the current counts; they are complete whatever Config.Keep is.
func (s *Server) Counts() Counts {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.counts
}

// Reset forgets requests and counts; running answers still count as open.
func (s *Server) Reset() {
	r := &s.record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring, r.next = nil, 0
	r.counts = Counts{Open: r.counts.Open, MaxOpen: r.counts.Open}
}

// markLoaded records that a model answered, for /api/ps.
func (s *Server) markLoaded(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.loaded, model) {
		s.loaded = append(s.loaded, model)
	}
}
