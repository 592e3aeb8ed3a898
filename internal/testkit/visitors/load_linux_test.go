package visitors_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/internal/store/storetest"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/internal/testkit/visitors"
	"molar/schemas"
)

const (
	// soon is the longest time until 99 of 100 pages show something, at load.
	soon = 300 * time.Millisecond
	// flat is by how much memory may grow from the second fifth of a run to the last one.
	flat = 1.10
)

// scale is how large a run is.
type scale struct {
	visitors, addresses int
	length, every       time.Duration
	limits              visitors.Limits
	// measured tells whether the times and the memory count: those of a short run on a busy machine
	// tell nothing.
	measured bool
}

// scaled returns the scale of a test, or that of a measurement with MOLAR_VISITORS, such as 5m. In both,
// each of the limits is reached, and those of the measurement are reached anew each minute.
func scaled(t *testing.T) scale {
	t.Helper()
	long := os.Getenv("MOLAR_VISITORS")
	if long == "" {
		return scale{40, 4, 3 * time.Second, 300 * time.Millisecond, visitors.Limits{
			Visitor: schemas.Rate{Count: 3, Per: time.Hour}, Address: schemas.Rate{Count: 30, Per: time.Hour}, All: schemas.Rate{Count: 90, Per: 24 * time.Hour},
		}, false}
	}
	length, err := time.ParseDuration(long)
	if err != nil || length < time.Minute {
		t.Fatalf("MOLAR_VISITORS=%s: want how long they ask, 1m or longer, such as 5m", long)
	}
	return scale{1000, 50, length, 8 * time.Second, visitors.Limits{
		Visitor: schemas.Rate{Count: 4, Per: time.Minute}, Address: schemas.Rate{Count: 60, Per: time.Minute}, All: schemas.Rate{Count: 2600, Per: time.Minute},
	}, true}
}

// TestLoad lets a crowd come to the program, to one process with a file and to two with PostgreSQL. With
// MOLAR_VISITORS it measures.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("the crowd is left out of short tests")
	}
	for name, replicas := range map[string]int{"one process, SQLite": 1, "two replicas, PostgreSQL": 2} {
		t.Run(name, func(t *testing.T) {
			s := scaled(t)
			said := &prompts{}
			store := filepath.Join(t.TempDir(), "molar.db")
			if replicas > 1 {
				store = storetest.StartPostgres(t).Database(t)
			}
			hosts := startHosts(t, replicas, hostConfig(startModel(t, said), store, s.limits))
			urls := make([]string, len(hosts))
			for i, h := range hosts {
				urls[i] = h.url
			}
			crowd, err := visitors.New(visitors.Config{
				Hosts: urls, Visitors: s.visitors, Addresses: s.addresses, Length: s.length, Every: s.every, Limits: s.limits,
			})
			if err != nil {
				t.Fatal(err)
			}
			// Until they stop asking: then all of them read all that they have at once.
			watched, end := context.WithTimeout(t.Context(), s.length)
			defer end()
			var watchers sync.WaitGroup
			var memory [][]int64
			var paints []time.Duration
			watchers.Go(func() { memory = watchMemory(watched, hosts) })
			if s.measured {
				firstPaint := chromium(t)
				watchers.Go(func() { paints = firstPaints(watched, t, urls, firstPaint) })
			}
			r := crowd.Run(t.Context())
			end()
			watchers.Wait()
			t.Logf("\n%s", r)
			for _, wrong := range append(r.Wrong(), said.wrong()...) {
				t.Error(wrong)
			}
			if s.measured {
				judge(t, memory, paints)
			}
		})
	}
}

// judge tells memory and the times of first paint, and checks them.
func judge(t *testing.T, memory [][]int64, paints []time.Duration) {
	t.Helper()
	for i, samples := range memory {
		fifths := make([]int64, 5)
		for f := range fifths {
			part := slices.Sorted(slices.Values(samples[len(samples)*f/5 : len(samples)*(f+1)/5]))
			fifths[f] = part[len(part)/2] >> 10
		}
		t.Logf("replica %d: resident memory in each fifth of the run, in MiB: %v", i+1, fifths)
		if float64(fifths[4]) > flat*float64(fifths[1]) {
			t.Errorf("replica %d: its memory grows", i+1)
		}
	}
	slices.Sort(paints)
	p99 := visitors.Percentile(paints, 99)
	t.Logf("first paint of %d pages: p50 %s, p99 %s", len(paints), visitors.Percentile(paints, 50), p99)
	if p99 > soon || len(paints) == 0 {
		t.Errorf("99 of 100 pages show something after %s, want at most %s", p99, soon)
	}
}

// prompts looks at what reaches the model: no prompt may hold words of two visitors.
type prompts struct {
	mu    sync.Mutex
	calls int
	mixed []string
}

func (p *prompts) look(r models.Request) *models.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if visitor, err := strconv.Atoi(strings.TrimPrefix(r.Tag[:min(len(r.Tag), len("visitor0000"))], "visitor")); err == nil {
		if others := visitors.Foreign(visitor, []byte(r.Body)); len(others) > 0 {
			p.mixed = append(p.mixed, fmt.Sprintf("a prompt of visitor %d holds %s", visitor, others))
		}
	}
	return nil // the model's default answer
}

func (p *prompts) wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == 0 {
		return []string{"nothing reached the model"}
	}
	return p.mixed
}

// startModel starts a model that answers at once.
func startModel(t *testing.T, said *prompts) (url string) {
	t.Helper()
	model := models.New(models.Config{Keep: 1, Tool: "none", Tokens: 20, Script: said.look})
	url, err := model.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	return url
}

// hostConfig is the config of a clinic's host behind a proxy.
func hostConfig(model, store string, limits visitors.Limits) string {
	rate := func(r schemas.Rate) string {
		unit := map[time.Duration]string{time.Minute: "m", time.Hour: "h", 24 * time.Hour: "d"}[r.Per]
		return strconv.Itoa(r.Count) + "/" + unit
	}
	return fmt.Sprintf(`
default: reception
llm: {provider: ollama, ollama: {base_url: %q}}
memory: {store: %q}
assistants: {reception: {system_prompt: You answer for a clinic.}}
trusted_proxies: [127.0.0.1]
public:
  assistant: reception
  origins: ["https://www.clinic.example"]
  limits: {visitor: %s, address: %s, all: %s}
telemetry: {log_level: error}
`, model, store, rate(limits.Visitor), rate(limits.Address), rate(limits.All))
}

// A host is a replica that runs.
type host struct {
	url string
	pid int
}

// startHosts starts replicas with a config, and ends them with the test.
func startHosts(t *testing.T, n int, config string) []host {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "molar.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	molar := testkit.Build(t, "molar/cmd/molar")
	hosts := make([]host, n)
	for i := range hosts {
		hosts[i] = startHost(t, exec.Command(molar, "serve", "--listen", "127.0.0.1:0", "--config", file), home)
	}
	return hosts
}

func startHost(t *testing.T, cmd *exec.Cmd, home string) host {
	t.Helper()
	cmd.Env, cmd.Stderr = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n') // without a line it says no address
	var rest sync.WaitGroup
	rest.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		rest.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the host ended: %v", err)
		}
	})
	_, address, ok := strings.Cut(first, "listens on http://")
	if !ok {
		t.Fatalf("the host says %q", first)
	}
	return host{"http://" + strings.TrimSpace(address), cmd.Process.Pid}
}

// watchMemory returns the resident memory of each host in KiB, a sample a second.
func watchMemory(ctx context.Context, hosts []host) [][]int64 {
	samples := make([][]int64, len(hosts))
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return samples
		}
		for i, h := range hosts {
			samples[i] = append(samples[i], resident(h.pid))
		}
	}
}

// resident returns the resident memory of a process in KiB, 0 of one that has ended.
func resident(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, _, _ := strings.Cut(rest, "kB")
	n, _ := strconv.ParseInt(strings.TrimSpace(kb), 10, 64)
	return n
}

// chromium starts a browser. It returns a function that opens a page as a browser does that was never
// there, and tells when it showed something.
func chromium(t *testing.T) (firstPaint func(url string) (time.Duration, error)) {
	t.Helper()
	path := os.Getenv("CHROME_PATH")
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Fatal("no Chromium is installed, which measures the first paint; install one or set CHROME_PATH to its path")
	}
	browser, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox)...)
	t.Cleanup(end)
	shared, closeShared := chromedp.NewContext(browser)
	t.Cleanup(closeShared)
	if err := chromedp.Do(shared); err != nil {
		t.Fatal(err)
	}
	return func(url string) (time.Duration, error) {
		tab, end := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
		defer end()
		limited, cancel := context.WithTimeout(tab, 20*time.Second)
		defer cancel()
		if err := chromedp.Do(limited, chromedp.Navigate(url)); err != nil {
			return 0, err
		}
		ms, err := chromedp.Run(limited, chromedp.Poll[float64](`performance.getEntriesByName("first-contentful-paint").map((entry) => entry.startTime)[0]`,
			chromedp.WithPollingTimeout(10*time.Second)))
		return time.Duration(ms * float64(time.Millisecond)), err
	}
}

// firstPaints opens the frame's page once a second, and returns the times to its first paint.
func firstPaints(ctx context.Context, t *testing.T, urls []string, firstPaint func(url string) (time.Duration, error)) (times []time.Duration) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for i := 0; ; i++ {
		select {
		case <-every.C:
		case <-ctx.Done():
			return times
		}
		took, err := firstPaint(urls[i%len(urls)] + "/embed?lang=" + []string{"en", "vi"}[i/2%2])
		if err != nil {
			t.Errorf("open the page: %v", err)
			continue
		}
		times = append(times, took)
	}
}
