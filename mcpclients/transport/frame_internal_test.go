package transport

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrameReader_OverlongLines(t *testing.T) {
	big := strings.Repeat("y", 300<<10)
	input := "short\r\n" + `{"id":5,"result":"` + big + "\"}\n" + `{"result":{"id":1,"x":"` + big + `"},"id":"6"}` + "\n\n" + "last"
	r := newFrameReader(strings.NewReader(input), 100<<10)
	var got []string
	for {
		line, head, tail, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if line == nil {
			id, ok := cutID(head, tail)
			if !ok {
				t.Errorf("no id in %.40s … %s", head, tail[len(tail)-40:])
			}
			got = append(got, "id "+string(id))
			continue
		}
		got = append(got, string(line))
	}
	if diff := cmp.Diff([]string{"short", "id 5", `id "6"`, "", "last"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCutID(t *testing.T) {
	for _, tc := range []struct{ head, tail, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"`, `zz"}}`, "7"},
		{`{"result":{"content":[{"id":3,"text":"`, `zz","id":4}]}}`, ""},
		{`{"result":"`, `zz","jsonrpc":"2.0","id":9}`, "9"},
		{`{"result":"`, `zz","id":9,"jsonrpc":"2.0"}`, "9"},
		{`{"id":1,"method":"x","params":"`, `zz"}`, "1"},
		{`{"method":"x","params":"`, `zz"}`, ""},
		{`[{"id":1,`, `zz`, ""},
		{``, ``, ""},
	} {
		if got, _ := cutID([]byte(tc.head), []byte(tc.tail)); string(got) != tc.want {
			t.Errorf("%s…%s: %q, want %q", tc.head, tc.tail, got, tc.want)
		}
	}
}
