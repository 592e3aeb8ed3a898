package tape_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"molar/eval/tape"
)

// TestRead_long reads a tape of 50 MB: it needs little more memory than the size of the tape.
func TestRead_long(t *testing.T) {
	if testing.Short() {
		t.Skip("the memory that it measures is that of a run without the race detector")
	}
	const exchanges = 800
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	long, chunk := bytes.NewBufferString(head), strings.Repeat("x", 64<<10)
	for seq := range exchanges {
		fmt.Fprintf(long, `{"type":"model_request","seq":%d,"turn":1,"pass":"tool"}`+"\n"+
			`{"type":"model_chunk","seq":%d,"n":1,"raw":"%s"}`+"\n"+`{"type":"model_end","seq":%d,"status":200}`+"\n", seq+1, seq+1, chunk, seq+1)
	}
	size, before := int64(long.Len()), heap()
	read, err := tape.Read("long.jsonl", long.Bytes())
	if err != nil || read.Calls() != exchanges {
		t.Fatalf("%d calls, %v", read.Calls(), err)
	}
	if grown := int64(heap()) - int64(before); grown > 3*size/2 {
		t.Errorf("the heap grew by %d MiB for a tape of %d MiB", grown>>20, size>>20)
	}
	runtime.KeepAlive(long)
	runtime.KeepAlive(read)
}
