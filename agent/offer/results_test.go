package offer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"molar/agent/offer"
	"molar/schemas"
)

func newKept(t *testing.T, bytes int) (*offer.Results, func(name, args string) (string, bool)) {
	t.Helper()
	k := offer.NewResults(offer.ResultsConfig{Resource: func(_ context.Context, server, uri string) (string, []schemas.Part, error) {
		if uri == "file:///gone" {
			return "", nil, errors.New("it is gone")
		}
		return "the text of " + uri + " from " + server, nil, nil
	}})
	k.Limit(bytes)
	return k, func(name, args string) (string, bool) {
		t.Helper()
		for _, tool := range k.Tools() {
			if tool.Info.Name == name {
				result, err := tool.Call(t.Context(), json.RawMessage(args))
				if err != nil {
					t.Fatal(err)
				}
				return result.OutputText(), result.IsError
			}
		}
		t.Fatalf("there is no tool %s", name)
		return "", false
	}
}

func wantedNames(k *offer.Results) string {
	var names []string
	for _, tool := range k.Wanted() {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// A model that continues at the offset of the cut, and then at the end of each piece, reads the
// whole.
func TestReadResult_givesTheWhole(t *testing.T) {
	const bytes = 300
	k, call := newKept(t, bytes)
	var whole strings.Builder
	for i := range 200 {
		fmt.Fprintf(&whole, "hàng thứ %d;", i)
	}
	output, err := json.Marshal(whole.String())
	if err != nil {
		t.Fatal(err)
	}
	long := schemas.ToolResult{ID: "c1", Server: "s", Output: output}
	k.Add(schemas.ToolResult{ID: "c0", Server: "s", Output: json.RawMessage(`"short"`)})
	if wantedNames(k) != "" {
		t.Errorf("nothing was cut, and %s is wanted", wantedNames(k))
	}
	shown := k.Show(t.Context(), long).OutputText()
	if wantedNames(k) != offer.ReadResult {
		t.Errorf("wanted %q", wantedNames(k))
	}
	head, mark, _ := strings.Cut(shown, "\n… (")
	var left, all, from int
	var id string
	if _, err := fmt.Sscanf(mark, "%d of %d bytes left out; read_result goes on with result %q from %d)", &left, &all, &id, &from); err != nil {
		t.Fatalf("%q: %v", mark, err)
	}
	read := head
	for from < whole.Len() {
		text, failed := call(offer.ReadResult, fmt.Sprintf(`{"result":%q,"from":%d}`, id, from))
		if failed || len(text) > bytes {
			t.Fatalf("%d bytes: %s", len(text), text)
		}
		heading, piece, _ := strings.Cut(text, "\n")
		var begin, end int
		if _, err := fmt.Sscanf(heading, "[bytes %d to %d of", &begin, &end); err != nil || begin != from {
			t.Fatalf("%q: %v", heading, err)
		}
		read, from = read+piece, end
	}
	if read != whole.String() {
		t.Errorf("read %d bytes of %d", len(read), whole.Len())
	}
	for _, args := range []string{`{"result":"c9","from":0}`, `{"result":"c1","from":100000}`} {
		if text, failed := call(offer.ReadResult, args); !failed {
			t.Errorf("%s gave %s", args, text)
		}
	}
}

// Only a resource that a result named is read, and from the server that named it first.
func TestReadResource(t *testing.T) {
	k, call := newKept(t, 300)
	link := func(uri string) []schemas.ResourceLink { return []schemas.ResourceLink{{URI: uri}} }
	k.Add(
		schemas.ToolResult{ID: "1", Server: "files", Output: json.RawMessage(`"x"`), Resources: link("file:///a")},
		schemas.ToolResult{ID: "2", Server: "web", Output: json.RawMessage(`"x"`), Resources: link("file:///a")},
		schemas.ToolResult{ID: "3", Server: "web", Output: json.RawMessage(`"x"`), Resources: link("file:///gone")},
	)
	if wantedNames(k) != offer.ReadResource {
		t.Errorf("wanted %q", wantedNames(k))
	}
	if text, failed := call(offer.ReadResource, `{"uri":"file:///a"}`); failed || text != "the text of file:///a from files" {
		t.Errorf("got %q, %v", text, failed)
	}
	for uri, want := range map[string]string{"file:///etc/passwd": "no tool result names", "file:///gone": "it is gone"} {
		if text, failed := call(offer.ReadResource, fmt.Sprintf(`{"uri":%q}`, uri)); !failed || !strings.Contains(text, want) {
			t.Errorf("%s gave %q, %v", uri, text, failed)
		}
	}
}
