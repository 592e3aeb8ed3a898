package loadgen

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A Held is what many open streams cost a server. Memory is in kB.
type Held struct {
	Stats
	// Idle values are from before the first stream, peaks the highest seen.
	IdleRSS  int64 `json:"idleRSS"`
	IdleAnon int64 `json:"idleAnon"`
	PeakRSS  int64 `json:"peakRSS"`
	PeakAnon int64 `json:"peakAnon"`
	// PerStream is the peak above idle for each stream.
	PerStreamRSS  float64 `json:"perStreamRSS"`
	PerStreamAnon float64 `json:"perStreamAnon"`
}

// Hold opens n streams within the ramp, one turn each, and watches the memory of
// the server until the last one ends. The server's model must be slow enough
// that all are open at once.
func Hold(ctx context.Context, client *http.Client, target Target, q Question, n int, ramp time.Duration, label string) (Held, error) {
	if target.PID == 0 {
		return Held{}, fmt.Errorf("hold streams of %s: the id of its process is needed", target.Name)
	}
	idle, err := ReadProcess(target.PID)
	if err != nil {
		return Held{}, err
	}
	peak := idle
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for watching.Err() == nil {
			if now, err := ReadProcess(target.PID); err == nil {
				peak.RSS, peak.Anon = max(peak.RSS, now.RSS), max(peak.Anon, now.Anon)
			}
			wait(watching, 50*time.Millisecond)
		}
	})
	stats, err := Run(ctx, client, target, q, Options{Conns: n, Turns: n, Ramp: ramp, Label: label})
	stop()
	watcher.Wait()
	return Held{
		Stats:   stats,
		IdleRSS: idle.RSS, IdleAnon: idle.Anon, PeakRSS: peak.RSS, PeakAnon: peak.Anon,
		PerStreamRSS:  float64(peak.RSS-idle.RSS) / float64(max(n, 1)),
		PerStreamAnon: float64(peak.Anon-idle.Anon) / float64(max(n, 1)),
	}, err
}
