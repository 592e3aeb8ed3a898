package crash_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/mcpservers/httpserver"
	"molar/mcpservers/memory"
)

// lateMemory is a memory server that reports a turn saved before it saves it.
type lateMemory struct {
	url    string
	server http.Handler

	mu sync.Mutex
	// life ends when the server is killed, and with it the delayed saves.
	life   chan struct{}
	putOff sync.WaitGroup
}

func newLateMemory(t *testing.T) *lateMemory {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	// The leases are short, so that those of a killed host do not delay the next one.
	conversations, err := memory.New(memory.Config{Store: db, LeaseTTL: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := mcpservers.New(mcpservers.Config{Name: "tool-server"})
	if err != nil {
		t.Fatal(err)
	}
	server, err := httpserver.New(httpserver.Config{Memory: conversations, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	m := &lateMemory{server: server, life: make(chan struct{})}
	port := httptest.NewServer(m)
	m.url = port.URL
	t.Cleanup(func() {
		m.forget()
		server.Close()
		port.Close()
		_ = db.Close()
	})
	return m
}

func (m *lateMemory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		m.server.ServeHTTP(w, r)
		return
	}
	msg, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	save := r.Clone(r.Context())
	save.Body = io.NopCloser(bytes.NewReader(msg))
	if !strings.Contains(string(msg), "memory/save_turn") {
		m.server.ServeHTTP(w, save)
		return
	}
	m.saveLater(save.WithContext(context.WithoutCancel(r.Context())))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(promise(msg))
}

// saveLater saves after a delay, unless the server is killed before.
func (m *lateMemory) saveLater(save *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	life := m.life
	m.putOff.Go(func() {
		select {
		case <-life:
		case <-time.After(100 * time.Millisecond):
			m.server.ServeHTTP(httptest.NewRecorder(), save)
		}
	})
}

// forget is the kill: delayed saves are never done.
func (m *lateMemory) forget() {
	m.mu.Lock()
	close(m.life)
	m.life = make(chan struct{})
	m.mu.Unlock()
	m.putOff.Wait()
}
