// Package replicas_test runs several hosts on one PostgreSQL behind a balancer, kills, freezes
// and cuts them while clients ask, and holds what the clients were told against what is
// there afterwards. It knows the hosts as programs and over HTTP alone.
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
	// startFor is how long a host may take until it listens.
	startFor = 30 * time.Second
	// probeEvery is how often the balancer asks a host whether it is ready, probeFor how long
	// it waits for the answer.
	probeEvery, probeFor = 200 * time.Millisecond, 2 * time.Second
)

// Name is the Host under which the replicas are asked; their config allows it. As a name of this
// machine it needs no key.
const Name = "molar.localhost"

// A Host is one replica: a program that prints "listens on" and its address in its first line.
type Host struct {
	command func() *exec.Cmd

	mu   sync.Mutex
	cmd  *exec.Cmd
	addr string
	gone chan struct{}
	// ready is what the balancer last saw.
	ready atomic.Bool
}

// NewHost returns a host that runs what command makes.
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
		_ = cmd.Wait() // how it ended is the caller's doing
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

// Addr is where the host listens; empty while it does not run.
func (h *Host) Addr() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addr
}

// Process is the program that runs now.
func (h *Host) Process() *exec.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cmd
}

// Ended waits until the program is gone.
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

// A Balancer is a TCP port in front of the hosts: each connection goes to the next one that
// is ready.
type Balancer struct {
	hosts    []*Host
	listener net.Listener
	next     atomic.Int64
	tasks    sync.WaitGroup

	mu sync.Mutex
	// open are the connections, with the host that each goes to; nil before it is chosen.
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

// URL is the address of the balancer.
func (b *Balancer) URL() string { return "http://" + b.listener.Addr().String() }

// Close ends the balancer, whose context has ended.
func (b *Balancer) Close() {
	_ = b.listener.Close()
	b.Cut(nil)
	b.tasks.Wait()
}

// Cut breaks the connections that are open to a host, or with nil all.
func (b *Balancer) Cut(to *Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c, h := range b.open {
		if to == nil || h == to {
			_ = c.Close()
		}
	}
}

// probe keeps a host's readiness.
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

// carry connects a client with a host, or with none.
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

// pass copies until one side ends, and then ends both.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // a broken connection is what is tested
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
