package _test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Config describes the run and its harms.
type Config struct {
	// Command returns the command of a host. Its model answers "say X after Y." to "ask X plain",
	// where Y is the turn of the last such answer that it sees, or none; for "ask X book" it
	// first books X; and to "count" it counts to Words.
	Command func() *exec.Cmd
	// Replicas is the number of hosts, Writers the number of clients.
	Replicas, Writers int
	// Harms are done one after the other, each to one host.
	Harms []Harm
	// Bookings is the file to which each call of the tool adds a line.
	Bookings string
	Words    int
	Seed     uint64
	// Database stops and starts PostgreSQL.
	Database func() error
}

// A Harm is a fault that is caused on a host.
type Harm string

// The harms.
const (
	// Kill kills the host, and starts it again.
	Kill Harm = "kill"
	// Blink stops it for a second; Freeze until the others have given it up.
	Blink  Harm = "blink"
	Freeze Harm = "freeze"
	// Cut closes all connections of clients.
	Cut Harm = "cut"
	// Restart stops it gracefully, and starts it again.
	Restart Harm = "restart"
	// Peace does nothing for a while.
	Peace Harm = "peace"
	// Outage kills PostgreSQL, and starts it.
	Outage Harm = "outage"
)

const (
	blinkFor, freezeFor, peaceFor = time.Second, 20 * time.Second, 5 * time.Second // a lease lasts 15 s
	// between is the approximate time between two harms.
	between = time.Second
	// followFor is the longest time until the end of a turn reaches a follower.
	followFor = 60 * time.Second
)

// A Report is the result of a run. Faults is empty if every promise was kept.
type Report struct {
	Harms               map[Harm]int
	Done, Failed, Tries int
	// Unsure counts the done turns of which nobody knows whether their booking was made.
	Unsure               int
	Followed, Interrupts int
	// Codes counts the failed turns, by error code.
	Codes map[string]int
	// Told is the longest time from the death or freeze of a replica until a follower of its turn
	// got its end. Only one replica is harmed at a time, so that two others can report the end.
	Told   time.Duration
	Faults []string
}

type run struct {
	Config
	hosts    []*Host
	balancer *Balancer
	client   *http.Client
	chance   *rand.Rand

	mu     sync.Mutex
	report Report
}

// Run starts the hosts, lets clients ask during the harms, and judges the result.
func Run(ctx context.Context, cfg Config) (Report, error) {
	r := &run{Config: cfg, chance: rand.New(rand.NewPCG(cfg.Seed, 0)), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	r.report.Harms, r.report.Codes = make(map[Harm]int), make(map[string]int)
	for range cfg.Replicas {
		h := NewHost(cfg.Command)
		if err := h.Start(); err != nil {
			return r.report, err
		}
		defer h.Kill() //nolint:errcheck // it may have ended
		r.hosts = append(r.hosts, h)
	}
	ctx, stop := context.WithCancel(ctx)
	var err error
	if r.balancer, err = Balance(ctx, r.hosts); err != nil {
		stop()
		return r.report, err
	}
	defer r.balancer.Close()
	defer stop()
	return r.report, r.run(ctx)
}

func (r *run) run(ctx context.Context) error {
	asking, enough := context.WithCancel(ctx)
	defer enough()
	var clients sync.WaitGroup
	writers := make([]*writer, r.Writers)
	for i := range writers {
		writers[i] = &writer{name: fmt.Sprintf("w%d-%d", r.Seed, i), conversation: fmt.Sprintf("c%d-%d", r.Seed, i/2), url: r.balancer.URL(), client: r.client}
		clients.Go(func() { writers[i].run(asking) })
	}
	var err error
	for _, harm := range r.Harms {
		at := r.chance.IntN(len(r.hosts))
		follower := detach(ctx, r.client, r.hosts[at], "", r.balancer.URL())
		<-time.After(between/2 + time.Duration(r.chance.Int64N(int64(between))))
		harmed := time.Now()
		if follower != nil {
			clients.Go(func() { r.follow(ctx, follower, harm, harmed) })
		}
		if err = r.harm(harm, r.hosts[at]); err != nil {
			break
		}
		r.report.Harms[harm]++
	}
	enough()
	clients.Wait()
	return errors.Join(err, r.judge(ctx, writers))
}

// harm causes the harm, and restores the host.
func (r *run) harm(harm Harm, h *Host) error {
	p := h.Process()
	switch harm {
	case Kill:
		return errors.Join(h.Kill(), h.Start())
	case Blink, Freeze:
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		began := time.Now()
		<-time.After(blinkFor)
		if harm == Freeze {
			for h.ready.Load() { // until the balancer has noticed
				<-time.After(probeEvery)
			}
			r.balancer.Cut(h)
			<-time.After(freezeFor - time.Since(began))
		}
		return p.Process.Signal(syscall.SIGCONT)
	case Cut:
		r.balancer.Cut(nil)
		return nil
	case Restart:
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		h.Ended()
		return h.Start()
	case Peace:
		<-time.After(peaceFor)
		return nil
	case Outage:
		return r.Database()
	}
	return fmt.Errorf("unknown harm %q", harm)
}

// detach begins a turn on a host, in the given conversation, and disconnects. The result follows
// the turn at url; it is nil if the host is not restored yet from the last harm.
func detach(ctx context.Context, client *http.Client, on *Host, conversation, url string) *follower {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	body := fmt.Sprintf(`{"stream":true,"chat_id":%q,"molar":{"detach":true,"events":true},"messages":[{"role":"user","content":"count"}]}`, conversation)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+on.Addr()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil
	}
	req.Host = Name
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil
	}
	res.Body.Close()
	id := res.Header.Get("X-Turn-Id")
	if id == "" {
		return nil
	}
	return &follower{url: url, client: client, id: id, last: "0"}
}

// follow compares the events of a follower with the final turn.
func (r *run) follow(ctx context.Context, f *follower, harm Harm, harmed time.Time) {
	ctx, cancel := context.WithTimeout(ctx, followFor)
	defer cancel()
	err := f.follow(ctx)
	var whole strings.Builder
	for i := range r.Words {
		fmt.Fprintf(&whole, "w%d ", i+1)
	}
	all := strings.TrimSpace(whole.String())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Followed++
	switch {
	case err != nil:
		r.report.Faults = append(r.report.Faults, fmt.Sprintf("after %s: %v", harm, err))
	case f.code == "" && f.text != all || !strings.HasPrefix(all, strings.TrimSpace(f.text)):
		r.report.Faults = append(r.report.Faults, fmt.Sprintf("after %s a follower was told %q", harm, f.text))
	case f.code != "" && !slices.Contains([]string{"turn_interrupted", "store_unavailable", "answer_not_saved"}, f.code):
		r.report.Faults = append(r.report.Faults, fmt.Sprintf("after %s a follower was told %s", harm, f.code))
	case f.code != "":
		r.report.Interrupts++
		if harm == Kill || harm == Freeze {
			r.report.Told = max(r.report.Told, f.endedAt.Sub(harmed))
		}
	}
}

// judge checks every conversation, and the bookings.
func (r *run) judge(ctx context.Context, writers []*writer) error {
	bookings, err := os.ReadFile(r.Bookings)
	if err != nil {
		return err
	}
	booked := make(map[string]int)
	for room := range strings.FieldsSeq(string(bookings)) {
		booked[room]++
	}
	for pair := range slices.Chunk(writers, 2) {
		messages, err := history(ctx, r.client, "http://"+r.hosts[0].Addr(), pair[0].conversation)
		if err != nil {
			return err
		}
		r.report.Faults = append(r.report.Faults, judge(pair, messages)...)
	}
	for _, w := range writers {
		for _, t := range w.turns {
			if n := booked[t.id]; n > 1 || t.books && t.done && !t.unsure && n != 1 {
				w.faults = append(w.faults, fmt.Sprintf("%s, done %v, booked %d times", t.id, t.done, n))
			}
			if t.unsure {
				r.report.Unsure++
			}
			if t.done {
				r.report.Done++
			} else if t.failed != "" {
				r.report.Failed++
				r.report.Codes[t.failed]++
			}
		}
		r.report.Tries += w.tries
		r.report.Faults = append(r.report.Faults, w.faults...)
	}
	return nil
}
