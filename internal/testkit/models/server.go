package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A Config scripts a server. The zero value serves 20 tokens without delay and calls the first
// offered tool.
type Config struct {
	// Tool is the tool to call, by its offered name or by the part after "__". If it is empty,
	// the first offered tool is called. If no offered tool matches, the answer is text.
	Tool string
	// Args are the arguments of the call, a JSON object; empty means {}.
	Args json.RawMessage
	// Tokens is the length of a text answer; 0 means 20.
	Tokens int
	// LineEvery puts a line end after this many tokens; 0 means never. A host may buffer the
	// first line of an answer.
	LineEvery int
	// FirstToken is the wait before the first output of each answer, Interval the wait between
	// two tokens.
	FirstToken, Interval time.Duration
	// Verdict answers short requests for a judgement (no tools, and at most 16 tokens or an
	// output format); empty means "YES".
	Verdict string
	// Script may answer a request in its own way; if it returns nil, the default script answers.
	// It is called from many goroutines.
	Script func(Request) *Reply

	// Models are the served names; empty means qwen2.5:7b-instruct and qwen2.5:3b-instruct. Other
	// names are answered with 404.
	Models []string
	// Capabilities of every model; nil means completion and tools.
	Capabilities []string
	// ContextLength of every model in tokens; 0 means 32768.
	ContextLength int
	// Parallel is the number of answers at a time; other requests wait without a byte, as with
	// OLLAMA_NUM_PARALLEL in Ollama. 0 means no limit.
	Parallel int
	// Keep is the number of stored requests; 0 means 1000.
	Keep int
}

// A Server is an http.Handler for one script. It is safe for concurrent use.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	slots   chan struct{}
	started time.Time
	record  record

	mu     sync.Mutex
	loaded []string
	http   *http.Server
	url    string
	served sync.WaitGroup
}

// New returns a server for the script, usable as a handler; Start makes it listen.
func New(cfg Config) *Server {
	cfg.Tokens = cmp.Or(cfg.Tokens, 20)
	cfg.Verdict = cmp.Or(cfg.Verdict, "YES")
	cfg.ContextLength = cmp.Or(cfg.ContextLength, 32768)
	cfg.Models = slices.Clone(cfg.Models)
	if len(cfg.Models) == 0 {
		cfg.Models = []string{"qwen2.5:7b-instruct", "qwen2.5:3b-instruct"}
	}
	if cfg.Capabilities == nil {
		cfg.Capabilities = []string{"completion", "tools"}
	}
	if len(cfg.Args) == 0 {
		cfg.Args = json.RawMessage("{}")
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux(), started: time.Now()}
	s.record.keep, s.record.idle.L = cmp.Or(cfg.Keep, 1000), &s.record.mu
	if cfg.Parallel > 0 {
		s.slots = make(chan struct{}, cfg.Parallel)
	}
	s.mux.HandleFunc("GET /_fake/requests", s.serveRequests)
	s.mux.HandleFunc("GET /_fake/counts", s.serveCounts)
	s.mux.HandleFunc("POST /_fake/reset", s.serveReset)
	s.routeOllama()
	return s
}

// ServeHTTP answers one request of any wire.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Start listens on the address (empty: a free loopback port) and serves until Close; ctx bounds
// only the start. It returns the base URL.
func (s *Server) Start(ctx context.Context, listen string) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cmp.Or(listen, "127.0.0.1:0"))
	if err != nil {
		return "", fmt.Errorf("start the fake model server: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return "", errors.Join(errors.New("the fake model server is already started"), l.Close())
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.http, s.url = srv, "http://"+l.Addr().String()
	s.served.Go(func() { _ = srv.Serve(l) })
	return s.url, nil
}

// URL returns the base URL; empty before Start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close ends every open answer and waits until no request is being served.
func (s *Server) Close() error {
	s.mu.Lock()
	srv := s.http
	s.mu.Unlock()
	if srv == nil {
		return nil
	}
	err := srv.Close()
	s.served.Wait()
	s.record.waitIdle()
	return err
}

// acquire waits for a free slot and returns the function that releases it.
func (s *Server) acquire(ctx context.Context) (func(), error) {
	if s.slots == nil {
		return func() {}, nil
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Server) serveRequests(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Requests()) }

func (s *Server) serveCounts(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Counts()) }

func (s *Server) serveReset(w http.ResponseWriter, _ *http.Request) {
	s.Reset()
	w.WriteHeader(http.StatusNoContent)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v)
}
