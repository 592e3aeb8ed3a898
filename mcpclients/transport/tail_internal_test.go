package transport

import (
	"bytes"
	"testing"
)

func TestRing(t *testing.T) {
	r := newTail(map[string]string{"API_KEY": "sesame-open", "MODE": "verbose-mode"})
	_, _ = r.Write(bytes.Repeat([]byte("old line\n"), 20000))
	_, _ = r.Write([]byte("using sesame-open in verbose-mode\x1b[31m\n"))
	tail := r.Lines()
	if len(tail) != tailLines || tail[tailLines-1] != "using *** in verbose-mode[31m" || len(r.buf) > ringSize {
		t.Errorf("%d lines, last %q", len(tail), tail[len(tail)-1])
	}
}
