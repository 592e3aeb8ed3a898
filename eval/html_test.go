package eval_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"molar/eval"
)

// between returns the text between two marks.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, from)
	inner, _, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("nothing between %q and %q", from, to)
	}
	return inner
}

// TestHTML_policy: the page's policy allows its own style and script by their hashes,
// byte for byte, and nothing else.
func TestHTML_policy(t *testing.T) {
	page := format(t, eval.HTML)
	policy := between(t, page, `http-equiv="Content-Security-Policy" content="`, `"`)
	policy = strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy)
	for kind, text := range map[string]string{
		"style": between(t, page, "<style>", "</style>"), "script": between(t, page, "<script>", "</script>"),
	} {
		sum := sha256.Sum256([]byte(text))
		if want := kind + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows too much: %s", policy)
	}
	if strings.Contains(page, " style=") || strings.Contains(page, " onclick=") {
		t.Error("the page has what its own policy forbids")
	}
}

// TestHTML_firstCause: each case that was judged and did not pass has exactly one mark
// of its first cause, and a passed one has none.
func TestHTML_firstCause(t *testing.T) {
	page := format(t, eval.HTML)
	cases := strings.Split(page, `<details class="case"`)[1:]
	if len(cases) != 4 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		want := 1
		if strings.Contains(c, `data-status="pass"`) {
			want = 0
		}
		if got := strings.Count(c, ">first cause<"); got != want {
			t.Errorf("%d marks, want %d:\n%s", got, want, c)
		}
	}
	if strings.Contains(cases[0], `data-status="pass"`) {
		t.Error("a passed case stands before those that did not")
	}
	if !strings.Contains(cases[0], `<mark class="was">1</mark>`) {
		t.Error("the differing argument is not marked")
	}
}

// TestJUnit_schema walks the file with the elements and attributes that Jenkins'
// schema has, in its order of children.
func TestJUnit_schema(t *testing.T) {
	attributes := map[string][]string{
		"testsuites": {"name", "time", "tests", "failures", "disabled", "errors"},
		"testsuite":  {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"},
		"properties": {}, "property": {"name", "value"},
		"testcase": {"name", "assertions", "time", "classname", "status"},
		"failure":  {"type", "message"}, "error": {"type", "message"}, "system-out": {},
	}
	children := map[string][]string{
		"": {"testsuites"}, "testsuites": {"testsuite"}, "testsuite": {"properties", "testcase", "system-out"},
		"properties": {"property"}, "testcase": {"error", "failure", "system-out"},
	}
	dec := xml.NewDecoder(strings.NewReader(format(t, eval.JUnit)))
	open, last := []string{""}, []int{0}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			parent := open[len(open)-1]
			at := slices.Index(children[parent], e.Name.Local)
			if at < last[len(last)-1] {
				t.Errorf("%s may not stand here in %q", e.Name.Local, parent)
			}
			last[len(last)-1] = max(at, 0)
			for _, a := range e.Attr {
				if !slices.Contains(attributes[e.Name.Local], a.Name.Local) {
					t.Errorf("%s has no attribute %s", e.Name.Local, a.Name.Local)
				}
			}
			open, last = append(open, e.Name.Local), append(last, 0)
		case xml.EndElement:
			open, last = open[:len(open)-1], last[:len(last)-1]
		}
	}
}
