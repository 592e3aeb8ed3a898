package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readEvents returns all events of a stream, each as its name and data or ends.
func readEvents(stream string, limit int) (all []string, err error) {
	r := newEventReader(strings.NewReader(stream), limit)
	for {
		e, err := r.next()
		if err != nil {
			return all, err
		}
		text := e.name + ":" + string(e.data)
		if e.data == nil {
			text = e.name + " cut:" + string(e.head) + "…" + string(e.tail)
		}
		all = append(all, text)
	}
}

func TestEventReader(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"one", "event: endpoint\ndata: /m\n\n", []string{"endpoint:/m"}},
		{"without a space, with returns", "event:a\r\ndata:b\r\n\r\n", []string{"a:b"}},
		{"several lines", "data: a\ndata: b\n\ndata: c\n\n", []string{":a\nb", ":c"}},
		{"comments and other fields", ": hello\nid: 7\nretry: 10\n\nevent: x\n\ndata: y\n\n", []string{":y"}},
		{"empty data", "data:\n\n", []string{":"}},
		{"cut off at the end", "data: a\n\ndata: b\n", []string{":a"}},
		{"one line too long", "data: " + strings.Repeat("x", 99) + "\n\ndata: b\n\n", []string{" cut: " + strings.Repeat("x", 99) + "…data: " + strings.Repeat("x", 99), ":b"}},
		{"together too long", strings.Repeat("data: xxxxxxxxx\n", 9) + "\ndata: b\n\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := readEvents(tc.in, 50)
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			if tc.want == nil {
				if len(got) != 2 || !strings.HasPrefix(got[0], " cut:") || got[1] != ":b" {
					t.Errorf("%q", got)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add([]byte("event: endpoint\ndata: /m\n\n"))
	f.Add([]byte("data: a\ndata: b\n\n: c\n\n"))
	f.Add([]byte("data: " + strings.Repeat("x", 200) + "\n\n"))
	f.Add([]byte("data\n\n\ndata:\r\n\r\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 100
		r := newEventReader(bytes.NewReader(stream), limit)
		for {
			e, err := r.next()
			if err != nil {
				return
			}
			if len(e.data) > 2*limit || len(e.head) > frameEnds || len(e.tail) > frameEnds || (e.data == nil) == (e.head == nil) {
				t.Fatalf("%+v", e)
			}
		}
	})
}
