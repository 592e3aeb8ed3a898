package mcpclients_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A server that was cut off because it writes without end is restarted at growing intervals, and
// its status shows the reason until it stops.
func TestSupervise_ACutOffServerIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flood := fmt.Errorf("%w: %w", transport.ErrLost, &transport.FloodError{})
		d := &fakeDialer{}
		d.next = func(attempt int) (*fakeConn, error) {
			if attempt < 6 {
				time.AfterFunc(30*time.Second, func() { d.conn().lose(flood) })
			}
			return &fakeConn{}, nil
		}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		time.Sleep(32 * time.Second)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateDegraded || !strings.Contains(st.Reason, "cut off") || st.Tools != 1 {
			t.Errorf("after the first flood: %s: %s, %d tools", st.State, st.Reason, st.Tools)
		}
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		waits := backoffs(d.dialed)
		if len(waits) < 5 || waits[4]-30*time.Second < 10*time.Second {
			t.Errorf("started again after %s", waits)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateReady || st.Reason != "" {
			t.Errorf("quiet: %s: %s", st.State, st.Reason)
		}
	})
}
