//go:build linux

package _test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// Three replicas are stopped gracefully and restarted, one after the other, with 200 open
// streams: each stream is complete.
func TestRollingRestart(t *testing.T) {
	inLongRuns(t)
	const streams = 200
	c := trial{pace: 200 * time.Millisecond}.start(t, "shutdown: {delay: 3s, drain: 2m}\n")
	hosts := make([]*Host, 3)
	for i := range hosts {
		hosts[i] = NewHost(c.command)
		if err := hosts[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hosts[i].Kill() })
	}
	ctx, stop := context.WithCancel(t.Context())
	balancer, err := Balance(ctx, hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer balancer.Close()
	defer stop()
	time.Sleep(time.Second) // until the balancer has probed the hosts
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var all sync.WaitGroup
	var whole atomic.Int64
	rolled := make(chan struct{})
	for range streams {
		all.Go(func() {
			for {
				if err := countOut(t.Context(), client, balancer.URL()); err != nil {
					t.Error(err)
					return
				}
				whole.Add(1)
				select {
				case <-rolled:
					return
				default:
				}
			}
		})
	}
	for _, h := range hosts {
		time.Sleep(2 * time.Second)
		if err := h.Process().Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		h.Ended()
		t.Logf("a replica had ended after %v, with %d whole streams so far", time.Since(began).Round(time.Second), whole.Load())
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
	}
	close(rolled)
	all.Wait()
	t.Logf("%d streams, each told whole; load %s", whole.Load(), load(t))
}

// countOut makes a model count, and returns an error if part of the answer is missing.
func countOut(ctx context.Context, client *http.Client, url string) error {
	body := `{"stream":true,"messages":[{"role":"user","content":"count"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Host = Name
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, last := "", ""
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		last = data
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(data), &c) == nil && len(c.Choices) > 0 {
			text += c.Choices[0].Delta.Content
		}
	}
	if text != counted() || last != "[DONE]" {
		return fmt.Errorf("status %d, told %q, ended with %.200s, %w", res.StatusCode, text, last, lines.Err())
	}
	return nil
}

// A client that does not read slows its turn down: less than a mebibyte of an answer of 15 MiB is
// sent ahead.
func TestSilentReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("the program is left out of short tests")
	}
	t.Parallel()
	const readers, most = 40, 1 << 20
	piece := strings.Repeat("word ", 3<<10)
	model := models.New(models.Config{Keep: 1, Script: func(models.Request) *models.Reply {
		tokens := make([]string, 1000) // 15 MiB
		for i := range tokens {
			tokens[i] = piece
		}
		return &models.Reply{Tokens: tokens}
	}})
	url, err := model.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	home := t.TempDir()
	config := filepath.Join(home, "molar.yaml")
	text := fmt.Sprintf("default: plain\nallowed_hosts: [%s]\nllm: {provider: ollama, ollama: {base_url: %q}}\nassistants: {plain: {system_prompt: Answer.}}\n", Name, url)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	molar := testkit.Build(t, "molar/cmd/molar")
	host := NewHost(func() *exec.Cmd {
		cmd := exec.Command(molar, "serve", "--listen", "127.0.0.1:0", "--config", config)
		cmd.Env, cmd.Stderr = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, os.Stderr
		return cmd
	})
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Kill() })
	before := resident(t, host)
	conns := make([]net.Conn, readers)
	for i := range conns {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", host.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns[i] = conn
		body := `{"stream":true,"messages":[{"role":"user","content":"count"}]}`
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", Name, len(body), body)
	}
	highest := 0
	for range 15 { // less than the 30 s after which such a client is disconnected
		time.Sleep(time.Second)
		highest = max(highest, resident(t, host)-before)
	}
	// A stopped host sends nothing more: what arrives now was sent before.
	testkit.Freeze(t, host.Process().Process.Pid)
	var all sync.WaitGroup
	each := make([]int64, readers)
	for i, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		all.Go(func() { each[i], _ = io.Copy(io.Discard, conn) }) // until the deadline
	}
	all.Wait()
	sent := slices.Max(each)
	t.Logf("%d readers: at most %d KiB on the way to one, %d KiB of memory for each; load %s", readers, sent>>10, highest/readers>>10, load(t))
	if sent > most || sent == 0 {
		t.Errorf("%d KiB of an answer were sent to a reader that does not read", sent>>10)
	}
	if highest > readers*8*most { // the turn holds the answer so far in several forms
		t.Errorf("%d readers that do not read keep %d MiB", readers, highest>>20)
	}
}

// resident returns the resident memory of a host, in bytes.
func resident(t *testing.T, h *Host) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.Process().Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
