package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/sse"
)

const (
	limit = 50
	keep  = 20
)

// shown writes an event as its name, its data or the ends of it, and … where it is cut.
func shown(e sse.Event) string {
	text := e.Name + ":" + string(e.Data)
	if e.Long != nil {
		text = e.Name + " long:" + string(e.Long.Head) + "…" + string(e.Long.Tail)
	}
	if e.Cut {
		text += "…"
	}
	return text
}

// ranged returns what a range over events yields, and its error.
func ranged(events iter.Seq2[sse.Event, error]) (all []string, failed error) {
	for e, err := range events {
		if failed != nil {
			return all, errors.New("the error is not the last")
		}
		if failed = err; err == nil {
			all = append(all, shown(e))
		}
	}
	return all, failed
}

// chunkings are readers of the same text that cut it differently.
func chunkings(text string) map[string]io.Reader {
	return map[string]io.Reader{
		"whole":              strings.NewReader(text),
		"byte by byte":       iotest.OneByteReader(strings.NewReader(text)),
		"with its own error": iotest.DataErrReader(strings.NewReader(text)),
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", 99)
	strict, lenient := sse.Config{Limit: limit, Keep: keep}, sse.Config{Limit: 1 << 10, Lenient: true}
	for _, tc := range []struct {
		name, sent string
		config     sse.Config
		want       []string
	}{
		{"one", "event: endpoint\ndata: /m\n\n", strict, []string{"endpoint:/m"}},
		{"without a blank, with CRLF", "event:a\r\ndata:b\r\n\r\n", strict, []string{"a:b"}},
		{"with CR", "event: a\rdata: b\r\rdata: c\r\n\rdata: d\n\r\n", strict, []string{"a:b", ":c", ":d"}},
		{"several data lines", "data: a\ndata: b\n\ndata: c\n\n", strict, []string{":a\nb", ":c"}},
		{"comments and other fields", ": hello\nid: 7\nretry: 10\nerror: z\n\nevent: x\n\ndata: y\n\n", strict, []string{":y"}},
		{"empty data", "data:\n\n", strict, []string{":"}},
		{"a field without a colon", "data\ndata\n\n", strict, []string{":\n"}},
		{"a byte order mark", "\ufeffdata: a\n\n", strict, []string{":a"}},
		{"the name behind the data", "data: a\nevent: b\n\n", strict, []string{"b:a"}},
		{"no blank line", "data: {}\ndata: []\n\n", strict, []string{":{}\n[]"}},
		{"no field's name", "{}\n[{}]\n\n", strict, nil},
		{"cut off at the end", "data: a\n\ndata: b\n", strict, []string{":a"}},
		{"one line too long", "event: e\ndata: " + x + "\n\ndata: b\n\n", strict, []string{"e long:" + x[:14] + "…" + x[:20], ":b"}},
		{"together too long", strings.Repeat("data: xxxxxxxxx\n", 9) + "\ndata: b\n\n", strict, []string{" long:xxxxxxxxx\nxxxxxxxxx\n…\nxxxxxxxxx\nxxxxxxxxx", ":b"}},
		{"a short line before the long one", "data: {\"id\":5,\ndata: " + x + "\ndata: }\n\n", strict, []string{" long:{\"id\":5,\nxxxxxxxxxxx…" + x[:18] + "\n}"}},
		{"a long comment", ": " + x + "\ndata: b\n\n", strict, []string{":b"}},

		{"tidy", "data: {\"a\":1}\n\ndata: [DONE]\n\n", lenient, []string{`:{"a":1}`, `:[DONE]`}},
		{"no blank lines", "data:{\"a\":1}\r\ndata:{\"a\":2}\r\n", lenient, []string{`:{"a":1}`, `:{"a":2}…`}},
		{"no blank line behind the mark of the end", "data: [DONE]\ndata: {}\n\n", lenient, []string{`:[DONE]`, `:{}`}},
		{"JSON over several data lines", "data: {\"a\":\ndata: 1}\n\n", lenient, []string{":{\"a\":\n1}"}},
		{"comments and fields", ": x\nid: 1\nretry: 2\ndata: {}\n\n", lenient, []string{`:{}`}},
		{"no data", "data:\n\ndata: {}\n\n", lenient, []string{`:{}`}},
		{"an object by itself", "{\"a\":1}\ndata: {\"a\":2}\n\n", lenient, []string{`:{"a":1}`, `:{"a":2}`}},
		{"an object over lines", "{\n \"a\": [1,\n 2]\n}\n", lenient, []string{":{\n \"a\": [1,\n 2]\n}"}},
		{"a field named error", "data: {}\n\nerror: {\"message\":\"x\"}\n\n", lenient, []string{`:{}`, `error:{"message":"x"}`}},
		{"a field named error, no blank line", "data: {}\nerror: {\"message\":\"x\"}\n\n", lenient, []string{`:{}`, `error:{"message":"x"}`}},
		{"an event named error", "event: error \ndata: {}\n\n", lenient, []string{`error:{}`}},
		{"an array", "[{\"a\":1}\n,\r\n{\"a\":\"]}\\\"\"}\n]\n", lenient, []string{`:{"a":1}`, `:{"a":"]}\""}`}},
		{"an array in one line", `[{"a":1},{"a":2}]`, lenient, []string{`:{"a":1}`, `:{"a":2}`}},
		{"an empty array", "[]\n", lenient, nil},
		{"an array that is cut", `[{"a":1},{"a"`, lenient, []string{`:{"a":1}`, `:{"a"…`}},
		{"an object that is cut", `{"a":`, lenient, []string{`:{"a":…`}},
		{"an event that is cut", "data: {\"a\"", lenient, []string{`:{"a"…`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for chunking, src := range chunkings(tc.sent) {
				got, err := ranged(sse.Events(src, tc.config))
				if err != nil {
					t.Errorf("%s: %v", chunking, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", chunking, diff)
				}
			}
		})
	}
}

func TestEvents_RemembersTheLastIDAndRetry(t *testing.T) {
	t.Parallel()
	type said struct {
		ID    string
		Retry time.Duration
	}
	var got []said
	for e, err := range sse.Events(strings.NewReader("data: a\n\nid: 1\nretry: 1500\ndata: b\n\nretry: x\nid: \x00\ndata: c\n\nid\n\ndata: d\n\n"), sse.Config{Limit: limit}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, said{e.ID, e.Retry})
	}
	want := []said{{}, {"1", 1500 * time.Millisecond}, {"1", 1500 * time.Millisecond}, {"", 1500 * time.Millisecond}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEvents_EndsWithTheErrorOfItsSource(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", limit)
	for _, tc := range []struct {
		name, sent string
		fails      error
		lenient    bool
		want       []string
		err        error
	}{
		{"between events", "data: a\n\n", io.ErrClosedPipe, false, []string{":a"}, io.ErrClosedPipe},
		{"in an event", "data: a\n\ndata: b\n", io.ErrClosedPipe, false, []string{":a"}, io.ErrClosedPipe},
		{"in an event, lenient", "data: a\n\ndata: b", io.ErrClosedPipe, true, []string{":a", ":b…"}, io.ErrClosedPipe},
		{"in an array", `[{},{"a`, io.ErrClosedPipe, true, []string{":{}", `:{"a…`}, io.ErrClosedPipe},
		{"a line over the limit", "data: a\n\n" + long + long, io.EOF, true, []string{":a"}, sse.ErrLong},
		{"data over the limit", "data: a\n\ndata: " + long[:30] + "\ndata: " + long[:30] + "\n\n", io.EOF, true, []string{":a"}, sse.ErrLong},
		{"an array over the limit", "[\n{\"a\":\"" + long[:30] + "\n" + long[:30], io.EOF, true, nil, sse.ErrLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			src := io.MultiReader(strings.NewReader(tc.sent), iotest.ErrReader(tc.fails))
			events := sse.Events(src, sse.Config{Limit: limit, Lenient: tc.lenient})
			got, err := ranged(events)
			if !errors.Is(err, tc.err) || !cmp.Equal(got, tc.want) {
				t.Errorf("got %q, %v; want %q, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// A range that is broken off reads no further, and a later one loses nothing.
func TestEvents_GoesOnWhereARangeBrokeOff(t *testing.T) {
	t.Parallel()
	for _, lenient := range []bool{false, true} {
		src, in := io.Pipe()
		events := sse.Events(src, sse.Config{Limit: limit, Lenient: lenient})
		written := make(chan error, 1)
		go func() {
			// The write ends once all was read: nobody has asked for what would follow it.
			_, err := io.WriteString(in, "data: {}\n\ndata: []\n\ndata: 3\n\n")
			written <- err
		}()
		for range 3 {
			for _, err := range events {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		if rest, err := ranged(events); len(rest) > 0 || err != nil {
			t.Errorf("lenient %t: %q, %v", lenient, rest, err)
		}
	}
	events := sse.Events(strings.NewReader("data: {}\ndata: []\n\n"), sse.Config{Limit: limit, Lenient: true})
	for e, err := range events {
		if err != nil || shown(e) != ":{}" {
			t.Fatalf("%+v, %v", e, err)
		}
		break
	}
	if rest, err := ranged(events); err != nil || !cmp.Equal(rest, []string{":[]"}) {
		t.Errorf("behind an event without a blank line: %q, %v", rest, err)
	}
}

// An event costs no allocation, named or not.
func TestEvents_AllocatesNothingForAnEvent(t *testing.T) {
	const events = 1000
	sent := strings.Repeat("event: delta\r\ndata: {\"a\":1}\r\n\r\n", events)
	for _, lenient := range []bool{false, true} {
		allocs := testing.AllocsPerRun(10, func() {
			for _, err := range sse.Events(strings.NewReader(sent), sse.Config{Limit: limit, Lenient: lenient}) {
				if err != nil {
					t.Error(err)
				}
			}
		})
		if allocs > 20 {
			t.Errorf("lenient %t: %.0f allocations for %d events", lenient, allocs, events)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	for _, size := range []int{0, 1, 1<<10 - 1, 1 << 10, 1<<10 + 1, 1 << 20, limit - 1} {
		long := strings.Repeat("a", size)
		got, cut, err := readLines(strings.NewReader("b\n"+long+"\r\n\nc"), sse.Config{Limit: limit + 1})
		if err != nil || !cmp.Equal(got, []string{"b", long, "", "c"}) {
			t.Errorf("a line of %d bytes: %v", size, err)
		}
		if !cut {
			t.Error("the last line had no end")
		}
	}
	if _, _, err := readLines(strings.NewReader(strings.Repeat("a", limit+1)), sse.Config{Limit: limit}); !errors.Is(err, sse.ErrLong) {
		t.Errorf("got %v, want %v", err, sse.ErrLong)
	}
	first := 0
	_, _, _ = readLines(readerFunc(func(p []byte) (int, error) { first = len(p); return 0, io.EOF }), sse.Config{Limit: limit})
	if first != 1<<10 {
		t.Errorf("the buffer starts with %d bytes", first)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// readLines returns the lines of src, those over the limit as their ends, and whether the last
// one is cut.
func readLines(src io.Reader, c sse.Config) (all []string, cut bool, err error) {
	for line, err := range sse.Lines(src, c) {
		if err != nil {
			return all, cut, err
		}
		text := string(line.Text)
		if line.Long != nil {
			text = string(line.Long.Head) + "…" + string(line.Long.Tail)
		}
		all, cut = append(all, text), line.Cut
	}
	return all, cut, nil
}

func TestLines_KeepsTheErrorOfItsSource(t *testing.T) {
	t.Parallel()
	src := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrClosedPipe))
	got, _, err := readLines(src, sse.Config{Limit: limit})
	if !errors.Is(err, io.ErrClosedPipe) || !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q, %v", got, err)
	}
	never := readerFunc(func([]byte) (int, error) { return 0, nil })
	if _, _, err := readLines(never, sse.Config{Limit: limit}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that brings nothing: %v", err)
	}
}

// Only the ends of a line over the limit are kept, however long it is.
func TestLines_KeepsTheEndsOfALongLine(t *testing.T) {
	t.Parallel()
	const limit, keep = 300 << 10, 4 << 10
	for _, size := range []int{limit, 1 << 20, 10 << 20} {
		largest := 0
		sent := strings.NewReader("a\n" + strings.Repeat("h", keep) + strings.Repeat("y", size) + strings.Repeat("t", keep) + "\r\n\nb\n")
		src := readerFunc(func(p []byte) (int, error) {
			if sent.Len() < size/2 {
				largest = max(largest, len(p))
			}
			return sent.Read(p)
		})
		got, _, err := readLines(src, sse.Config{Limit: limit, Keep: keep})
		want := []string{"a", strings.Repeat("h", keep) + "…" + strings.Repeat("t", keep), "", "b"}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%d bytes: %d lines, %v", size, len(got), err)
		}
		if size > 1<<20 && largest > 128<<10 {
			t.Errorf("%d bytes: the buffer still has %d", size, largest)
		}
	}
}

// FuzzEvents compares the events with those of a reader that holds the whole text.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"event: endpoint\ndata: /m\n\n", "data: a\ndata: b\n\n: c\n\n", "data: " + strings.Repeat("x", 200) + "\n\n",
		"data\n\n\ndata:\r\n\r\n", "data: a\r\rdata: b\r\n\r", "[{\"a\":1}\n,\r\n{}]", "data: {}\ndata: {}\n", "{\n}\nerror: x\n\n", "\ufeffdata: [DONE]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if got, err := ranged(sse.Events(bytes.NewReader(sent), sse.Config{Limit: 1 << 20})); err != nil || !cmp.Equal(got, naive(string(sent))) {
			t.Fatalf("got %q, %v; want %q", got, err, naive(string(sent)))
		}
		for _, c := range []sse.Config{{Limit: limit, Keep: keep}, {Limit: limit}, {Limit: limit, Lenient: true}, {Limit: limit, Keep: keep, Lenient: true}} {
			first := ""
			for chunking, src := range chunkings(string(sent)) {
				var all []string
				var failed error
				for e, err := range sse.Events(src, c) {
					if failed != nil {
						t.Fatalf("%+v: more behind the error", c)
					}
					if failed = err; len(e.Data) > limit || e.Long != nil && (len(e.Long.Head) > keep || len(e.Long.Tail) > keep || e.Data != nil) {
						t.Fatalf("%+v: %+v", c, e)
					}
					all = append(all, shown(e))
				}
				if failed != nil && (!errors.Is(failed, sse.ErrLong) || c.Keep > 0 && !c.Lenient) {
					t.Fatalf("%+v: %v", c, failed)
				}
				text := fmt.Sprintf("%q, %v", all, failed)
				if first == "" {
					first = text
				}
				if text != first {
					t.Fatalf("%+v, %s: %s, else %s", c, chunking, text, first)
				}
			}
		}
	})
}

// naive reads the events of a text as the standard says.
func naive(text string) (all []string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var name string
	var data []string
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] { // what has no end makes no event
		line = strings.TrimPrefix(line, "\ufeff")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			all = append(all, name+":"+strings.Join(data, "\n"))
			name, data = "", nil
		case line == "":
			name = ""
		case field == "event":
			name = strings.TrimSpace(value)
		case field == "data":
			data = append(data, value)
		}
	}
	return all
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n\n {\"done\":true}\r\n"))
	f.Add([]byte("\n\n"))
	f.Add([]byte("no end"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		var want []string
		for line := range strings.Lines(string(sent)) {
			if whole, ends := strings.CutSuffix(line, "\n"); ends {
				line = strings.TrimSuffix(whole, "\r")
			}
			want = append(want, line)
		}
		for chunking, src := range chunkings(string(sent)) {
			if got, _, err := readLines(src, sse.Config{Limit: 1 << 20}); err != nil || !cmp.Equal(got, want) {
				t.Fatalf("%s: got %q, %v; want %q", chunking, got, err, want)
			}
		}
	})
}

// BenchmarkEvents reads events as a model's service sends them.
func BenchmarkEvents(b *testing.B) {
	const events = 1000
	sent := strings.Repeat(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" tooth"},"finish_reason":null}]}`+"\n\n", events)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range sse.Events(strings.NewReader(sent), sse.Config{Limit: 8 << 20, Lenient: true}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
