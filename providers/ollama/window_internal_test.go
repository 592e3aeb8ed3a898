package ollama

import (
	"testing"
	"testing/synctest"
	"time"
)

// The window that the host is told stays the same while our own calls make the window grow and
// shrink. It follows other clients, as each change would load the model again.
func TestWindows_base(t *testing.T) {
	t.Parallel()
	const most = 128 << 10
	type step struct {
		ps   int // the loaded window, if it is looked up
		need int // of the call; 0 for no call
		want int // num_ctx of the call
		base int // the window that the host is told then
	}
	for name, steps := range map[string][]step{
		"the server's default":            {{ps: 0, base: 8192}, {need: 3000, want: 0, base: 8192}, {ps: 4096, need: 3000, want: 4096, base: 8192}, {ps: 4096, need: 6000, want: 8192, base: 8192}},
		"a larger default":                {{ps: 0, need: 3000, want: 0, base: 8192}, {ps: 32768, need: 9000, want: 32768, base: 32768}},
		"grown for one question":          {{ps: 0, need: 30000, want: 32768, base: 8192}, {ps: 32768, need: 6000, want: 32768, base: 8192}},
		"another client's":                {{ps: 32768, need: 3000, want: 32768, base: 32768}, {ps: 2048, need: 1000, want: 2048, base: 2048}},
		"another client's, then grown":    {{ps: 2048, need: 30000, want: 32768, base: 2048}, {ps: 32768, need: 1000, want: 32768, base: 2048}},
		"not loaded yet with what we ask": {{ps: 0, need: 6000, want: 8192, base: 8192}, {ps: 8192, need: 30000, want: 32768, base: 8192}, {ps: 8192, need: 6000, want: 8192, base: 8192}, {ps: 32768, need: 6000, want: 32768, base: 8192}},
		"unloaded in between":             {{ps: 0, need: 6000, want: 8192, base: 8192}, {ps: 0, need: 6000, want: 8192, base: 8192}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var w windows
			for i, s := range steps {
				if w.isStale("m") {
					w.saw("m", s.ps, firstWindow)
				}
				if s.need > 0 {
					if got := w.choose("m", s.need, 0, most); got != s.want {
						t.Errorf("%s, %d: a window of %d, want %d", name, i+1, got, s.want)
					}
				}
				if got := w.choose("m", 0, 0, most); got != s.base {
					t.Errorf("%s, %d: the host is told %d, want %d", name, i+1, got, s.base)
				}
				time.Sleep(2 * freshTime)
			}
		})
	}
}

// A server that reports no window is asked at most once in two seconds, after the first call has
// made it load the model, however many turns run.
func TestWindows_asksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w windows
		asked := 0
		for range 100 { // ten seconds
			if w.isStale("m") {
				asked++
				w.saw("m", 0, firstWindow)
			}
			w.choose("m", 1000, 0, 128<<10)
			time.Sleep(100 * time.Millisecond)
		}
		if asked > 1+5 {
			t.Errorf("asked %d times in ten seconds", asked)
		}
		w.saw("m", 4096, firstWindow)
		if w.isStale("m") {
			t.Error("asked again although the window is known")
		}
	})
}

// A grown window shrinks again after some calls that fit the base, however much of the base they
// use.
func TestWindows_shrink(t *testing.T) {
	t.Parallel()
	var w windows
	w.saw("m", 0, firstWindow)
	if got := w.choose("m", 30_000, 0, 128<<10); got != 32768 {
		t.Fatalf("grown to %d", got)
	}
	for i := range shrinkAfter {
		want := 32768
		if i == shrinkAfter-1 {
			want = 8192
		}
		if got := w.choose("m", 8000, 0, 128<<10); got != want {
			t.Errorf("call %d: a window of %d, want %d", i+1, got, want)
		}
	}
}
