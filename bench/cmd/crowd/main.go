// Command crowd measures what many MCP servers cost the host, and what bad ones cost a good one:
//
//	crowd -bin FOLDER [-molar PROGRAM] [-servers 1,25,50,100] [-d 60s] start|rest|churn|turns|beside...
//
// FOLDER holds molar, stubmcp and badmcp. CPU is of the host's process alone, without its children.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"molar/bench/loadgen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

// A bench is what the parts share.
type bench struct {
	bin, molar string
	counts     []int
	length     time.Duration
	out        io.Writer
}

func run(ctx context.Context, args []string, out io.Writer) error {
	b := bench{out: out}
	flags := flag.NewFlagSet("crowd", flag.ContinueOnError)
	flags.StringVar(&b.bin, "bin", ".", "folder of the programs")
	flags.StringVar(&b.molar, "molar", "", "the host; empty: the one in the folder")
	flags.DurationVar(&b.length, "d", time.Minute, "how long rest, churn, turns and beside are measured")
	counts := flags.String("servers", "1,25,50,100", "how many servers start attaches")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for count := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return fmt.Errorf("-servers: %q is not a number of servers", count)
		}
		b.counts = append(b.counts, n)
	}
	if b.molar == "" {
		b.molar = filepath.Join(b.bin, "molar")
	}
	parts := map[string]func(context.Context) error{"start": b.start, "rest": b.rest, "churn": b.churn, "turns": b.turns, "beside": b.beside}
	if flags.NArg() == 0 {
		return fmt.Errorf("name at least one part: start, rest, churn, turns or beside")
	}
	for _, name := range flags.Args() {
		part, known := parts[name]
		if !known {
			return fmt.Errorf("unknown part %q: start, rest, churn, turns or beside", name)
		}
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// start measures the CPU until all servers are ready.
func (b *bench) start(ctx context.Context) error {
	for _, n := range b.counts {
		h, err := b.open(ctx, b.good(n), n)
		if err != nil {
			return err
		}
		now, err := loadgen.ReadProcess(h.pid())
		h.close()
		if err != nil {
			return err
		}
		b.printf("start: %d servers, %d tools: CPU %.2f s, ready after %.1f s, RSS %d MB\n", n, n*tools, now.CPU.Seconds(), h.ready.Seconds(), now.RSS>>10)
	}
	return nil
}

// rest measures 50 servers that do nothing.
func (b *bench) rest(ctx context.Context) error {
	return b.watch(ctx, "rest: 50 servers", b.good(50), 50)
}

// churn measures 50 servers that do nothing, one that reports a changed list and one that dies.
func (b *bench) churn(ctx context.Context) error {
	all := b.good(50)
	all = append(all, b.bad("changes", "-pour=changes", "-every=3s"), b.bad("dies", "-life=3s"))
	return b.watch(ctx, "churn: 50 servers, one whose list changes and one that dies each 3 s", all, len(all))
}

// watch measures the host's CPU while the servers do what they do.
func (b *bench) watch(ctx context.Context, name string, servers []server, ready int) error {
	h, err := b.open(ctx, servers, ready)
	if err != nil {
		return err
	}
	defer h.close()
	pause(ctx, 5*time.Second) // what is done after the start is over
	before, err := loadgen.ReadProcess(h.pid())
	if err != nil {
		return err
	}
	began := time.Now()
	pause(ctx, b.length)
	after, err := loadgen.ReadProcess(h.pid())
	if err != nil {
		return err
	}
	b.printf("%s: %.2f %% of a core over %s, RSS %d MB\n", name, 100*float64(after.CPU-before.CPU)/float64(time.Since(began)), b.length, after.RSS>>10)
	return ctx.Err()
}

// turns measures turns that may call every tool of 50 servers.
func (b *bench) turns(ctx context.Context) error {
	all := append(b.good(50), server{name: "good", command: filepath.Join(b.bin, "stubmcp")})
	return b.ask(ctx, "turns: among 1,007 tools of 51 servers", "all", all, len(all), 1)
}

// beside measures the turns of a good server, alone and among bad ones.
func (b *bench) beside(ctx context.Context) error {
	good := server{name: "good", command: filepath.Join(b.bin, "stubmcp")}
	if err := b.ask(ctx, "beside: alone", "good", []server{good}, 1, 8); err != nil {
		return err
	}
	bad, stop, err := b.troublemakers(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return b.ask(ctx, fmt.Sprintf("beside: among %d bad servers", len(bad)), "good", append(bad, good), 1, 8)
}

// ask measures turns with one tool call each.
func (b *bench) ask(ctx context.Context, name, assistant string, servers []server, ready, callers int) error {
	h, err := b.open(ctx, servers, ready)
	if err != nil {
		return err
	}
	defer h.close()
	client := loadgen.NewClient(callers)
	defer client.CloseIdleConnections()
	target := loadgen.Target{Name: name, URL: h.url + "/v1/chat/completions", PID: h.pid()}
	q := loadgen.Question{Model: assistant, Text: "Show me the family with id 1a955fff", Stateless: true}
	if _, err := loadgen.Run(ctx, client, target, q, loadgen.Options{Conns: callers, Turns: 20 * callers, Label: "warm"}); err != nil {
		return err
	}
	s, err := loadgen.Run(ctx, client, target, q, loadgen.Options{Conns: callers, Duration: b.length, Label: "x"})
	if err != nil {
		return err
	}
	b.printf("%s: %d callers, %d turns, %d failed, p50 %.1f ms, p99 %.1f ms, CPU %.1f ms a turn, RSS %d MB %s\n",
		name, callers, s.Turns, s.Errors, s.TotalP50, s.TotalP99, s.CPUPerTurn, s.RSS>>10, s.FirstError)
	return nil
}

func (b *bench) printf(format string, args ...any) { _, _ = fmt.Fprintf(b.out, format, args...) }

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
