package transport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/sse"
)

func TestCutAnswer_OfLinesThatAreTooLong(t *testing.T) {
	big := strings.Repeat("y", 300<<10)
	input := "short\r\n" + `{"id":5,"result":"` + big + "\"}\n" + `{"result":{"id":1,"x":"` + big + `"},"id":"6"}` + "\n\n" + "last"
	var got []string
	for line, err := range sse.Lines(strings.NewReader(input), sse.Config{Limit: 100 << 10, Keep: frameEnds}) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Long == nil {
			got = append(got, string(line.Text))
			continue
		}
		m, ok := cutAnswer(line.Long)
		if !ok {
			t.Errorf("no id in %.40s … %s", line.Long.Head, line.Long.Tail[len(line.Long.Tail)-40:])
			continue
		}
		got = append(got, "id "+string(m.ID))
	}
	if diff := cmp.Diff([]string{"short", "id 5", `id "6"`, "", "last"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCutID(t *testing.T) {
	for _, tc := range []struct{ head, tail, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"`, `zz"}}`, "7"},
		{`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"a":"`, `zz"}}`, ""},
		{`{"result":{"content":[{"id":3,"text":"`, `zz","id":4}]}}`, ""},
		{`{"result":"`, `zz","jsonrpc":"2.0","id":9}`, "9"},
		{`{"result":"`, `zz","id":9,"jsonrpc":"2.0"}`, "9"},
		{`{"id":1,"method":"x","params":"`, `zz"}`, ""},
		{`{"method":"x","params":"`, `zz"}`, ""},
		{`[{"id":1,`, `zz`, ""},
		{``, ``, ""},
	} {
		if got, _ := cutID([]byte(tc.head), []byte(tc.tail)); string(got) != tc.want {
			t.Errorf("%s…%s: %q, want %q", tc.head, tc.tail, got, tc.want)
		}
	}
}
