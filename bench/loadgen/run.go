package loadgen

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options bound a run.
type Options struct {
	// Conns is how many turns run at once.
	Conns int
	// Turns ends the run after so many, Duration after so long; the first one
	// reached counts, 0 means no bound. One of them must be set.
	Turns    int
	Duration time.Duration
	// Ramp spreads the first turn of the connections over this time.
	Ramp time.Duration
	// Label makes the tags of this run unlike those of any other.
	Label string
}

// Stats are the figures of one run against one target. Times are milliseconds.
type Stats struct {
	Target      string  `json:"target"`
	Turns       int     `json:"turns"`
	Errors      int     `json:"errors"`
	FirstError  string  `json:"firstError,omitempty"`
	Stray       int     `json:"stray"`
	Seconds     float64 `json:"seconds"`
	TurnsPerSec float64 `json:"turnsPerSecond"`
	FirstP50    float64 `json:"firstP50"`
	FirstP99    float64 `json:"firstP99"`
	TotalP50    float64 `json:"totalP50"`
	TotalP99    float64 `json:"totalP99"`
	GapP50      float64 `json:"gapP50"`
	GapP99      float64 `json:"gapP99"`
	// CPUPerTurn is the server's CPU time; RSS and Anon are its memory at the end, in
	// kB. All are 0 without a PID.
	CPUPerTurn float64 `json:"cpuPerTurn"`
	RSS        int64   `json:"rss"`
	Anon       int64   `json:"anon"`
}

// NewClient returns a client that keeps a connection open for each of n turns.
func NewClient(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConns: n, MaxIdleConnsPerHost: n, DisableCompression: true,
	}}
}

// Run loads one target and returns its figures. It fails only when the run could
// not be made; a failed turn is a figure.
func Run(ctx context.Context, client *http.Client, target Target, q Question, opt Options) (Stats, error) {
	if opt.Conns < 1 || (opt.Turns < 1 && opt.Duration <= 0) {
		return Stats{}, fmt.Errorf("load %s: want at least one connection, and a number of turns or a duration", target.Name)
	}
	before, err := ReadProcess(target.PID)
	if err != nil {
		return Stats{}, err
	}
	begin := time.Now()
	samples := runTurns(ctx, client, target, q, opt)
	took := time.Since(begin)
	after, err := ReadProcess(target.PID)
	if err != nil {
		return Stats{}, err
	}
	s := summarise(samples, took)
	s.Target, s.RSS, s.Anon = target.Name, after.RSS, after.Anon
	if good := s.Turns - s.Errors; good > 0 {
		s.CPUPerTurn = ms(after.CPU-before.CPU) / float64(good)
	}
	return s, ctx.Err()
}

// runTurns keeps opt.Conns turns in flight until a bound is reached.
func runTurns(ctx context.Context, client *http.Client, target Target, q Question, opt Options) []sample {
	var (
		workers sync.WaitGroup
		next    atomic.Int64
		mu      sync.Mutex
		samples []sample
		end     time.Time
	)
	if opt.Duration > 0 {
		end = time.Now().Add(opt.Duration)
	}
	for worker := range opt.Conns {
		workers.Go(func() {
			wait(ctx, opt.Ramp*time.Duration(worker)/time.Duration(opt.Conns))
			for ctx.Err() == nil && (end.IsZero() || time.Now().Before(end)) {
				n := int(next.Add(1))
				if opt.Turns > 0 && n > opt.Turns {
					return
				}
				s := ask(ctx, client, target, q, fmt.Sprintf("%s-%d", opt.Label, n))
				mu.Lock()
				samples = append(samples, s)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return samples
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func summarise(samples []sample, took time.Duration) Stats {
	s := Stats{Turns: len(samples), Seconds: took.Seconds()}
	var first, total, gap []time.Duration
	for _, one := range samples {
		s.Stray += one.Stray
		if one.Err != nil {
			s.Errors++
			s.FirstError = cmp.Or(s.FirstError, one.Err.Error())
			continue
		}
		first, total, gap = append(first, one.First), append(total, one.Total), append(gap, one.Gap)
	}
	s.TurnsPerSec = float64(len(first)) / took.Seconds()
	s.FirstP50, s.FirstP99 = percentile(first, 50), percentile(first, 99)
	s.TotalP50, s.TotalP99 = percentile(total, 50), percentile(total, 99)
	s.GapP50, s.GapP99 = percentile(gap, 50), percentile(gap, 99)
	return s
}

// percentile is the nearest-rank percentile in milliseconds; 0 of nothing.
func percentile(values []time.Duration, p int) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(float64(len(sorted)*p) / 100))
	return ms(sorted[max(rank, 1)-1])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Median returns the middle value, the mean of two in the middle; 0 of nothing.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
