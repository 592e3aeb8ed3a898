// Package replicas_test runs several hosts on one PostgreSQL behind a balancer, kills, freezes
// and disconnects them while clients ask, and compares the answers to the clients with the final
// state. It uses the hosts only as programs and over HTTP.
package _test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// startFor is the longest time until a host listens.
	startFor = 30 * time.Second
	// probeEvery is the interval in which the balancer probes the readiness of a host, probeFor
	// the timeout of a probe.
	probeEvery, probeFor = 200 * time.Millisecond, 2 * time.Second
)

// Name is the Host header of requests to the replicas; their configuration allows it. As a name
// of this machine it needs no key.
const Name = "molar.localhost"

// A Host is a replica: a program that prints "listens on" and its address in its first line.
type Host struct {
	command func() *exec.Cmd

	mu   sync.Mutex
	cmd  *exec.Cmd
	addr string
	gone chan struct{}
	// ready is the result of the balancer's last probe.
	ready atomic.Bool
}

// NewHost returns a host that runs the command.
func NewHost(command func() *exec.Cmd) *Host { return &Host{command: command} }

// Start runs the program and returns once it listens.
func (h *Host) Start() error {
	cmd := h.command()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	gone, first := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(gone)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait() // the caller ends it
	}()
	select {
	case line := <-first:
		_, rest, ok := strings.Cut(line, "listens on http://")
		if !ok {
			return fmt.Errorf("the host says %q", line)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.cmd, h.gone, h.addr = cmd, gone, strings.TrimSpace(rest)
		return nil
	case <-time.After(startFor):
		_ = cmd.Process.Kill()
		return errors.New("the host does not listen")
	}
}

// Addr returns the host's address; empty while it does not run.
func (h *Host) Addr() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addr
}

// Process returns the running program.
func (h *Host) Process() *exec.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cmd
}

// Ended blocks until the program has ended.
func (h *Host) Ended() {
	h.mu.Lock()
	gone := h.gone
	h.addr = ""
	h.mu.Unlock()
	<-gone
}

// Kill ends the host at once.
func (h *Host) Kill() error {
	err := h.Process().Process.Kill()
	h.Ended()
	return err
}

// A Balancer is a TCP port in front of the hosts: each connection goes to the next ready one.
type Balancer struct {
	hosts    []*Host
	listener net.Listener
	next     atomic.Int64
	tasks    sync.WaitGroup

	mu sync.Mutex
	// open holds the connections with their hosts; nil before a host is chosen.
	open map[net.Conn]*Host
}

// Balance listens on loopback until ctx ends; the caller then calls Close.
func Balance(ctx context.Context, hosts []*Host) (*Balancer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Balancer{hosts: hosts, listener: listener, open: make(map[net.Conn]*Host)}
	for _, h := range hosts {
		b.tasks.Go(func() { probe(ctx, h) })
	}
	b.tasks.Go(b.accept)
	return b, nil
}

// URL returns the address of the balancer.
func (b *Balancer) URL() string { return "http://" + b.listener.Addr().String() }

// Close closes the listener and the connections, and waits for the balancer, whose context has
// ended.
func (b *Balancer) Close() {
	_ = b.listener.Close()
	b.Cut(nil)
	b.tasks.Wait()
}

// Cut closes the open connections to a host, or all if it is nil.
func (b *Balancer) Cut(to *Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c, h := range b.open {
		if to == nil || h == to {
			_ = c.Close()
		}
	}
}

// probe updates a host's readiness.
func probe(ctx context.Context, h *Host) {
	client := &http.Client{Timeout: probeFor, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		ok := false
		if addr := h.Addr(); addr != "" {
			res, err := get(ctx, client, "http://"+addr+"/ready")
			if err == nil {
				res.Body.Close()
				ok = res.StatusCode == http.StatusOK
			}
		}
		h.ready.Store(ok)
		select {
		case <-ctx.Done():
		case <-time.After(probeEvery):
		}
	}
}

func get(ctx context.Context, client *http.Client, url string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Host = Name
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return client.Do(req)
}

func (b *Balancer) accept() {
	for {
		c, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.tasks.Go(func() { b.carry(c) })
	}
}

// carry connects a client to a host, or closes the connection if no host is ready.
func (b *Balancer) carry(client net.Conn) {
	b.keep(client, nil)
	defer b.end(client)
	dialer := &net.Dialer{Timeout: time.Second}
	for range b.hosts {
		h := b.hosts[int(b.next.Add(1))%len(b.hosts)]
		addr := h.Addr()
		if addr == "" || !h.ready.Load() {
			continue
		}
		server, err := dialer.Dial("tcp", addr)
		if err != nil {
			continue
		}
		b.keep(client, h)
		b.keep(server, h)
		defer b.end(server)
		var both sync.WaitGroup
		both.Go(func() { pass(server, client) })
		both.Go(func() { pass(client, server) })
		both.Wait()
		return
	}
}

// pass copies until one side ends, and then closes both.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // broken connections are part of the test
	_ = to.Close()
	_ = from.Close()
}

func (b *Balancer) keep(c net.Conn, to *Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = to
}

func (b *Balancer) end(c net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
	_ = c.Close()
}
