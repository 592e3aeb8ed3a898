package tape_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"molar/eval/tape"
)

// A longTape is a tape of so many exchanges of 64 KiB, which nobody ever holds.
type longTape struct {
	exchanges, seq int
	rest           *strings.Reader
	chunk          string
}

func (l *longTape) Read(b []byte) (int, error) {
	if l.rest.Len() == 0 {
		if l.seq == l.exchanges {
			return 0, io.EOF
		}
		l.seq++
		l.rest.Reset(fmt.Sprintf(`{"type":"model_request","seq":%d,"turn":1,"pass":"tool"}`+"\n"+
			`{"type":"model_chunk","seq":%d,"n":1,"raw":"%s"}`+"\n"+`{"type":"model_end","seq":%d,"status":200}`+"\n", l.seq, l.seq, l.chunk, l.seq))
	}
	return l.rest.Read(b)
}

// TestTell_flat reads a tape of 50 MB, and looks how much of it stays in memory.
func TestTell_flat(t *testing.T) {
	const exchanges = 800
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	long := &longTape{exchanges: exchanges, chunk: strings.Repeat("x", 64<<10)}
	long.rest = strings.NewReader(`{"type":"header","header":{"v":1,"tape_id":"t","host":"h","provider":"offline"}}` + "\n")
	before, most := heap(), uint64(0)
	story, err := tape.Tell("long.jsonl", io.TeeReader(long, every(16<<20, func() { most = max(most, heap()) })))
	if err != nil || len(story.Steps) != exchanges {
		t.Fatalf("%d steps, %v", len(story.Steps), err)
	}
	most = max(most, heap())
	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB while 50 MB went by", grown>>10)
	}
}

// every calls look each time that so many bytes more went by.
func every(size int, look func()) io.Writer {
	left := size
	return writerFunc(func(b []byte) (int, error) {
		if left -= len(b); left <= 0 {
			left += size
			look()
		}
		return len(b), nil
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
