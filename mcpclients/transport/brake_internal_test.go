package transport

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// endless is a program that always has written something.
type endless []byte

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// A program that writes without end is read at the rate that it is worth.
func TestBrake(t *testing.T) {
	long := endless(bytes.Repeat([]byte("x"), 32<<10))
	for _, tc := range []struct {
		name        string
		output      endless
		busy        bool
		least, most int // KiB in 10 s
	}{
		{"nobody waits", long, false, 10 << 10, 11 << 10},
		{"somebody waits", long, true, 640 << 10, 705 << 10},
		{"short lines", bytes.Repeat([]byte("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"), 256), false, 2 << 10, 3 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &brake{Reader: tc.output, busy: func() bool { return tc.busy }}
				buffer, read := make([]byte, 64<<10), 0
				for began := time.Now(); read>>10 <= tc.most && time.Since(began) < 10*time.Second; {
					n, _ := b.Read(buffer)
					read += n
				}
				if read >>= 10; read < tc.least || read > tc.most {
					t.Errorf("%d KiB were read in 10 s, want %d to %d", read, tc.least, tc.most)
				}
			})
		})
	}
}

// A burst after a quiet time is read at once, and no pause is long, whatever was read.
func TestBrake_PausesAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brake{Reader: endless(bytes.Repeat([]byte("x"), 64<<10)), busy: func() bool { return false }}
		buffer := make([]byte, 64<<10)
		began := time.Now()
		for range 16 {
			_, _ = b.Read(buffer)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("1 MiB took %s", took)
		}
		b.Reader = endless(bytes.Repeat([]byte("\n"), 64<<10))
		for range 20 {
			began := time.Now()
			if _, _ = b.Read(buffer); time.Since(began) > nap {
				t.Errorf("a pause of %s", time.Since(began))
			}
		}
	})
}

// A request for news of a server waits for ever, and lets it write no faster.
func TestInflight_Busy(t *testing.T) {
	var calls inflight
	if _, _, err := calls.add(MethodListen); err != nil || calls.busy() {
		t.Errorf("busy while only news are waited for: %v", err)
	}
	id, _, err := calls.add(MethodCallTool)
	if err != nil || !calls.busy() {
		t.Errorf("not busy during a call: %v", err)
	}
	if calls.remove(id); calls.busy() {
		t.Error("busy after the call")
	}
}
