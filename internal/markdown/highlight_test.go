package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/markdown"
)

// marked writes the parts of code with their kinds, but for the plain ones.
func marked(language, code string) string {
	var b strings.Builder
	reader := markdown.NewCode(language)
	for line := range strings.SplitSeq(code, "\n") {
		for _, p := range reader.Line(line) {
			if p.Kind == markdown.Plain {
				b.WriteString(p.Text)
			} else {
				b.WriteString("‹" + p.Kind.String() + ":" + p.Text + "›")
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestCode_Line(t *testing.T) {
	tests := map[string]struct{ language, code, want string }{
		"go":              {"go", "x := \"a\\\"b\" // c", "x := ‹string:\"a\\\"b\"› ‹comment:// c›"},
		"go words":        {"Go", "func f() { return 0x1F }", "‹keyword:func› f() { ‹keyword:return› ‹number:0x1F› }"},
		"comment lines":   {"c", "a /* b\nc */ d", "a ‹comment:/* b›\n‹comment:c */› d"},
		"string lines":    {"python", "x = '''a\nb''' + 1", "x = ‹string:'''a›\n‹string:b'''› + ‹number:1›"},
		"json":            {"json", `{"a": "b", "n": -1.5, "t": true}`, `{‹key:"a"›: ‹string:"b"›, ‹key:"n"›: -‹number:1.5›, ‹key:"t"›: ‹keyword:true›}`},
		"yaml":            {"yaml", "mcp-servers: # all\n  url: http://x", "‹key:mcp-servers›: ‹comment:# all›\n  ‹key:url›: http://x"},
		"hash in a word":  {"bash", "echo $# # n", "‹keyword:echo› $# ‹comment:# n›"},
		"sql in capitals": {"sql", "SELECT a FROM t -- x", "‹keyword:SELECT› a ‹keyword:FROM› t ‹comment:-- x›"},
		"html":            {"html", `<a href="x">it's</a>`, `<‹keyword:a› ‹key:href›=‹string:"x"›>it's</‹keyword:a›>`},
		"open quote":      {"rust", "fn f<'a>(x: &'a str)", "‹keyword:fn› f<'a>(x: &'a ‹keyword:str›)"},
		"unknown":         {"mermaid", "graph TD; A-->B", "graph TD; A-->B"},
		"vietnamese":      {"python", "# chào\nrăng = 'khôn'", "‹comment:# chào›\nrăng = ‹string:'khôn'›"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, marked(test.language, test.code)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Nothing of the code is lost or changed, whatever it is.
func FuzzCode_Line(f *testing.F) {
	for _, language := range []string{"go", "python", "html", "yaml", "sql", "css", ""} {
		f.Add(language, "a \"b' /* \x00 \xff é # -- ` ''' */ 1.5e3\n<x y=\"")
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		reader := markdown.NewCode(language)
		for line := range strings.SplitSeq(code, "\n") {
			got := ""
			for _, p := range reader.Line(line) {
				got += p.Text
			}
			if got != line {
				t.Fatalf("%q became %q", line, got)
			}
		}
	})
}
