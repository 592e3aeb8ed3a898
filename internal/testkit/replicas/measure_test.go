//go:build linux

package _test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// measured starts hosts for a measurement; measurements are not part of any test run.
func measured(t *testing.T, n int, model models.Config) []*Host {
	t.Helper()
	if os.Getenv("MOLAR_REPLICAS_MEASURE") == "" {
		t.Skip("MOLAR_REPLICAS_MEASURE is not set: with it the replicas are measured")
	}
	server := models.New(model)
	url, err := server.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	home := t.TempDir()
	config := filepath.Join(home, "molar.yaml")
	text := fmt.Sprintf("default: plain\nallowed_hosts: [%s]\nllm: {provider: ollama, ollama: {base_url: %q}}\nmemory: {store: %q}\n"+
		"assistants: {plain: {system_prompt: Answer.}}\ntelemetry: {log_level: error, trace: off}\n",
		Name, url, storetest.StartPostgres(t).Database(t))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	molar := testkit.Build(t, "molar/cmd/molar")
	hosts := make([]*Host, n)
	for i := range hosts {
		hosts[i] = NewHost(func() *exec.Cmd {
			cmd := exec.Command(molar, "serve", "--listen", "127.0.0.1:0", "--config", config)
			cmd.Env, cmd.Stderr = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, os.Stderr
			return cmd
		})
		if err := hosts[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hosts[i].Kill() })
	}
	return hosts
}

func load(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// send sends a request to a host and returns the response.
func send(ctx context.Context, host *Host, method, path, body, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host.Addr()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return http.DefaultClient.Do(req)
}

// TestMeasure_FollowerDelay measures how much later a follower on another replica gets an event
// than one on the replica that runs the turn.
func TestMeasure_FollowerDelay(t *testing.T) {
	const streams, tokens = 500, 25
	// Events from before both followers were connected do not count.
	const settled = 10 * time.Second
	hosts := measured(t, 2, models.Config{Keep: 1, Tool: "none", Tokens: tokens, LineEvery: 1, Interval: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var delays []time.Duration
	began := time.Now()
	for range streams {
		all.Go(func() {
			res, err := send(ctx, hosts[0], http.MethodPost, "/v1/chat/completions",
				`{"stream":true,"molar":{"detach":true},"messages":[{"role":"user","content":"Count"}]}`, "")
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			var seen [2]map[string]time.Time
			var both sync.WaitGroup
			for i, h := range hosts {
				both.Go(func() { seen[i] = arrivals(ctx, h, res.Header.Get("X-Turn-Id")) })
			}
			both.Wait()
			mu.Lock()
			defer mu.Unlock()
			for id, at := range seen[0] {
				if there, ok := seen[1][id]; ok && at.Sub(began) > settled {
					delays = append(delays, there.Sub(at))
				}
			}
		})
	}
	all.Wait()
	slices.Sort(delays)
	if len(delays) == 0 {
		t.Fatal("nothing arrived")
	}
	at := func(q float64) time.Duration {
		return delays[int(q*float64(len(delays)-1))].Round(time.Millisecond)
	}
	t.Logf("%d streams, %d events: p50 %v, p90 %v, p99 %v, most %v; load %s", streams, len(delays), at(.5), at(.9), at(.99), at(1), load(t))
}

// arrivals returns the arrival times of the numbered events of a turn.
func arrivals(ctx context.Context, host *Host, id string) map[string]time.Time {
	seen := make(map[string]time.Time)
	res, err := send(ctx, host, http.MethodGet, "/v1/turns/"+id+"/events", "", "")
	if err != nil {
		return seen
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			seen[n] = time.Now()
		}
	}
	return seen
}

// TestMeasure_Throughput measures the answers of one, two and three replicas on one PostgreSQL,
// and the CPU time of a turn: for turns that end with their client, and for turns with a key.
func TestMeasure_Throughput(t *testing.T) {
	const clients, long = 24, 10 * time.Second
	for n := 1; n <= 3; n++ {
		hosts := measured(t, n, models.Config{Keep: 1, Tool: "none", Tokens: 20})
		for _, keyed := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), long)
			var done atomic.Int64
			var all sync.WaitGroup
			before := cpu(t, hosts)
			for c := range clients {
				all.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						key := ""
						if keyed {
							key = fmt.Sprint("k", n, "-", c, "-", i)
						}
						res, err := send(ctx, hosts[(c+i)%n], http.MethodPost, "/v1/chat/completions",
							`{"messages":[{"role":"user","content":"Count"}]}`, key)
						if err != nil {
							continue
						}
						res.Body.Close()
						if res.StatusCode == http.StatusOK {
							done.Add(1)
						}
					}
				})
			}
			all.Wait()
			cancel()
			used := cpu(t, hosts) - before
			t.Logf("%d replicas, keyed %v: %.0f turns/s, %.2f ms CPU of the hosts a turn; load %s", n, keyed,
				float64(done.Load())/long.Seconds(), used.Seconds()*1000/float64(max(done.Load(), 1)), load(t))
		}
	}
}

// cpu returns the CPU time that the hosts have used.
func cpu(t *testing.T, hosts []*Host) time.Duration {
	t.Helper()
	const tick = 10 * time.Millisecond
	var used time.Duration
	for _, h := range hosts {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.Process().Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, f := range fields[11:13] { // utime and stime
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			used += time.Duration(n) * tick
		}
	}
	return used
}
