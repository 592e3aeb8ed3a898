package transport

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients/lastwords"
)

// Output that is not a message is accepted in bursts of any size, but not without end.
func TestStdio_JunkWithoutEndIsCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it sends and reads tens of megabytes")
	}
	line := strings.Repeat("junk ", 20<<10) + "\n"
	for _, tc := range []struct {
		name  string
		lasts time.Duration
		text  string
		cut   bool
	}{
		{"a burst of lines", 10 * time.Second, line, false},
		{"lines without end", time.Hour, line, true},
		{"a line without end", time.Hour, strings.TrimSpace(line), true},
		{"a log, now and then", time.Hour, "listening\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read, write := io.Pipe()
				var writing sync.WaitGroup
				writing.Go(func() {
					defer func() { _ = write.Close() }()
					for began := time.Now(); time.Since(began) < tc.lasts; time.Sleep(100 * time.Millisecond) {
						if _, err := io.WriteString(write, tc.text); err != nil {
							return
						}
					}
				})
				began := time.Now()
				c := &stdio{stray: lastwords.NewRecord(nil)}
				err := c.readFrom(read)
				_ = read.Close()
				writing.Wait()
				if _, cut := errors.AsType[*FloodError](err); cut != tc.cut {
					t.Fatalf("after %s: %v", time.Since(began), err)
				}
				if took := time.Since(began); tc.cut && took > time.Minute {
					t.Errorf("cut off only after %s", took)
				}
			})
		})
	}
}
