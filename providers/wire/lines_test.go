package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the lines of src, joined by line ends.
func readAll(src io.Reader) (string, *Lines, error) {
	r := NewLines(src)
	var got []string
	for {
		line, err := r.NextFull()
		if err != nil {
			return strings.Join(got, "\n"), r, err
		}
		got = append(got, string(line))
	}
}

func TestLines_GrowsToItsLimit(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, startLine - 1, startLine, startLine + 1, 1 << 20, maxLine - 1} {
		long := strings.Repeat("a", size)
		got, r, err := readAll(strings.NewReader("b\n" + long + "\nc"))
		if !errors.Is(err, io.EOF) || got != "b\n"+long+"\nc" {
			t.Errorf("a line of %d bytes: %v", size, err)
		}
		if !r.Cut {
			t.Error("the last line had no end")
		}
	}
	if _, _, err := readAll(strings.NewReader(strings.Repeat("a", maxLine+1))); !errors.Is(err, ErrLong) {
		t.Errorf("got %v, want %v", err, ErrLong)
	}
	if r := NewLines(nil); len(r.buf) != startLine {
		t.Errorf("the buffer starts with %d bytes", len(r.buf))
	}
}

func TestLines_KeepsTheSourcesError(t *testing.T) {
	t.Parallel()
	got, _, err := readAll(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrClosedPipe)))
	if got != "a\nb" || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n\n {\"done\":true}\r\n"))
	f.Add([]byte("\n\n"))
	f.Add([]byte("no end"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []string
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				want = append(want, string(line))
			}
		}
		for _, src := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
			if got, _, err := readAll(src); got != strings.Join(want, "\n") || !errors.Is(err, io.EOF) {
				t.Fatalf("got %q, %v; want %q", got, err, want)
			}
		}
	})
}
