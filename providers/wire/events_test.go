package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"molar/providers/wire"
)

// What servers send in the place of tidy events, in any chunking.
func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent string
		want []string
	}{
		"tidy":                  {"data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`{"a":1}`, `[DONE]`}},
		"no blank lines":        {"data:{\"a\":1}\r\ndata:{\"a\":2}\r\n", []string{`{"a":1}`, `…{"a":2}`}},
		"several data lines":    {"data: {\"a\":\ndata: 1}\n\n", []string{"{\"a\":\n1}"}},
		"comments and fields":   {": x\nid: 1\nretry: 2\ndata: {}\n\n", []string{`{}`}},
		"an object by itself":   {"{\"a\":1}\ndata: {\"a\":2}\n\n", []string{`{"a":1}`, `{"a":2}`}},
		"an object over lines":  {"{\n \"a\": [1,\n 2]\n}\n", []string{"{\n \"a\": [1,\n 2]\n}"}},
		"a field named error":   {"data: {}\n\nerror: {\"message\":\"x\"}\n\n", []string{`{}`, `!{"message":"x"}`}},
		"an event named error":  {"event: error\ndata: {}\n\n", []string{`!{}`}},
		"an array":              {"[{\"a\":1}\n,\r\n{\"a\":\"]}\\\"\"}\n]\n", []string{`{"a":1}`, `{"a":"]}\""}`}},
		"an array in one line":  {`[{"a":1},{"a":2}]`, []string{`{"a":1}`, `{"a":2}`}},
		"an empty array":        {"[]\n", nil},
		"an array that is cut":  {`[{"a":1},{"a"`, []string{`{"a":1}`, `…{"a"`}},
		"an object that is cut": {`{"a":`, []string{`…{"a":`}},
		"an event that is cut":  {"data: {\"a\"", []string{`…{"a"`}},
		"a byte order mark":     {"\ufeffdata: {}\n\n", []string{`{}`}},
		"no data":               {"event: x\n\ndata\n\ndata: {}\n\n", []string{`{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(c.sent), iotest.OneByteReader(strings.NewReader(c.sent))} {
				var got []string
				events := wire.NewEvents(wire.NewLines(src))
				for {
					e, err := events.Next()
					if err != nil {
						if !errors.Is(err, io.EOF) {
							t.Fatal(err)
						}
						break
					}
					mark := ""
					if e.Fault {
						mark = "!"
					}
					if e.Cut {
						mark += "…"
					}
					got = append(got, mark+string(e.Data))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A message is no longer than a line may be, be it an event of many lines or an array.
func TestEvents_TooLong(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 1<<20) + "\n"
	for _, sent := range []string{"data: [\n" + strings.Repeat("data: "+line, 9), `{"a":"` + strings.Repeat(line, 9)} {
		if e, err := wire.NewEvents(wire.NewLines(strings.NewReader(sent))).Next(); !errors.Is(err, wire.ErrLong) {
			t.Errorf("%.10q and so on: an event of %d bytes, %v", sent, len(e.Data), err)
		}
	}
}
