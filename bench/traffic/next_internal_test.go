package traffic

import (
	"strings"
	"testing"
)

// Each part that a next request may lack or change is a difference.
func TestCompareNext(t *testing.T) {
	t.Parallel()
	want := Reading{Calls: []Call{{Name: "f", Args: `{"a":1}`, ID: "c1", Signature: "s1"}}, Sealed: []string{"reasoning"}}
	outputs := []string{`{"ok":true}`}
	sent := func(change func(call, result *item)) []item {
		call := item{kind: itemCall, call: want.Calls[0]}
		result := item{kind: itemResult, call: Call{ID: "c1"}, text: `{"result":{"ok":true}}`}
		change(&call, &result)
		return []item{{kind: itemSealed, text: "reasoning"}, call, result}
	}
	for name, tt := range map[string]struct {
		sent []item
		want string
	}{
		"all there":    {sent(func(_, _ *item) {}), ""},
		"a name":       {sent(func(call, _ *item) { call.call.Name = "g" }), "name"},
		"arguments":    {sent(func(call, _ *item) { call.call.Args = "{}" }), "arguments"},
		"an id":        {sent(func(call, _ *item) { call.call.ID = "c2" }), "id"},
		"a signature":  {sent(func(call, _ *item) { call.call.Signature = "" }), "signature"},
		"another call": {sent(func(_, result *item) { result.call.ID = "c2" }), "id of its result"},
		"a result":     {sent(func(_, result *item) { result.text = "{}" }), "result"},
		"no result":    {sent(func(_, _ *item) {})[:2], "1 calls and 0 results"},
		"no reasoning": {sent(func(_, _ *item) {})[1:], "sealed is missing"},
	} {
		faults := strings.Join(compareNext(want, outputs, tt.sent), "; ")
		if !strings.Contains(faults, tt.want) || (faults == "") != (tt.want == "") {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

// A body in pieces is the same body, and each kind of piece is another.
func TestChunkings(t *testing.T) {
	t.Parallel()
	const body = "data: a\n\ndata: ü"
	reads := map[string]int{}
	for _, c := range chunkings() {
		var all strings.Builder
		piece := make([]byte, 64)
		for r := c.cut(body); ; reads[c.name]++ {
			n, err := r.Read(piece)
			all.Write(piece[:n])
			if err != nil {
				break
			}
		}
		if all.String() != body {
			t.Errorf("%s: %q", c.name, all.String())
		}
	}
	if reads["whole"] != 1 || reads["lines"] != 3 || reads["bytes"] != len(body) {
		t.Errorf("pieces %v", reads)
	}
}
