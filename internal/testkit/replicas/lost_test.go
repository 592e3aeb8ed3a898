//go:build linux

package _test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// The promises of docs/operations.md for a lost replica; the end of a turn comes after its three seconds.
const maxTold, maxFree = 15 * time.Second, 20 * time.Second

// A follower of a turn whose replica is lost gets its end in time, from another one, and the conversation becomes
// free again, even while another replica is frozen, and even if the others have just started.
func TestReplicas_Lost(t *testing.T) {
	inLongRuns(t)
	c := trial{}.start(t, "")
	hosts := make([]*Host, 3)
	for i := range hosts {
		hosts[i] = NewHost(c.command)
		if err := hosts[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hosts[i].Kill() })
	}
	signal := func(h *Host, sig syscall.Signal) error { return h.Process().Process.Signal(sig) }
	restart := func(h *Host) {
		if err := h.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for n, round := range []struct {
		harm          Harm
		frozen, young bool
	}{
		{harm: Kill},
		{harm: Freeze},
		{harm: Kill, frozen: true},
		{harm: Freeze, frozen: true},
		{harm: Kill, young: true},
		{harm: Freeze, young: true},
		{harm: Kill, frozen: true, young: true},
	} {
		owner, other, third := hosts[n%3], hosts[(n+1)%3], hosts[(n+2)%3]
		if round.young {
			restart(other)
			restart(third)
		}
		if round.frozen {
			if err := signal(third, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		loss, err := Lose(t.Context(), round.harm, owner, other, fmt.Sprintf("w1-%d-9", n))
		if round.frozen {
			if err := signal(third, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || loss.Told > maxTold || loss.Free > maxFree {
			t.Errorf("%+v: %+v, %v", round, loss, err)
		}
		t.Logf("%+v: told after %v, the conversation free after %v; load %s", round, loss.Told.Round(time.Millisecond), loss.Free.Round(time.Millisecond), load(t))
	}
}
