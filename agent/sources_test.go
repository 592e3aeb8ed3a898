package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
	"molar/schemas"
)

// The forms in which a result may name a page, and those in which it must not.
func TestRun_sourceForms(t *testing.T) {
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	one := []schemas.Source{{Title: "One", URL: "https://a.example/x"}}
	tests := []struct {
		name, output string
		want         []schemas.Source
	}{
		{"a Link line", text("Title: One\nContent: c\nLink: https://a.example/x\n---\n"), one},
		{"a Link line that holds a link", text("Title: One\nLink: [One](https://a.example/x)"), one},
		{"a Markdown link", text("see [One](https://a.example/x)."), one},
		{"a Markdown link with a title", text(`see [One](https://a.example/x "the page").`), one},
		{"a Markdown link in angle brackets", text(`see [One](<https://a.example/x>)`), one},
		{"brackets in an address", text("[T](https://en.example/Tooth_(human)) and more"), []schemas.Source{{Title: "T", URL: "https://en.example/Tooth_%28human%29"}}},
		{"a url field", `{"results":[{"title":"One","url":"https://a.example/x"}]}`, one},
		{"a link field beside a url of another kind", `{"name":"One","url":"memory://1","link":"https://a.example/x"}`, one},
		{"an href deep inside", `{"a":{"b":[{"title":"One","href":"https://a.example/x"}]}}`, one},
		{"Link lines in a field", `{"content":[{"type":"text","text":"Title: One\nLink: https://a.example/x"}]}`, one},
		{"the same page twice", text("[One](https://a.example/x)\n[Again](https://A.example/x/)\n[Part](https://a.example/x#part)\n[Plain](http://a.example/x)"), one},
		{"pages behind a sign", text("[One](https://a.example/x#/1)\n[Two](https://a.example/x#/2)"), []schemas.Source{
			{Title: "One", URL: "https://a.example/x#/1"}, {Title: "Two", URL: "https://a.example/x#/2"},
		}},
		{"no title", text("Link: https://a.example/x"), []schemas.Source{{Title: "a.example", URL: "https://a.example/x"}}},
		{"an image", text("![One](https://a.example/x.png)"), nil},
		{"no web address", text("[a](javascript:alert(1)) [b](data:text/html,x) [c](file:///etc/passwd) [d](ftp://a.example) [e](/x) [f](https://)"), nil},
		{"a password in it", text("[a](https://user:pw@a.example/)"), nil},
		{"a far too long address", text("[a](https://a.example/" + strings.Repeat("x", 3000) + ")"), nil},
		{"a bare address", text("https://a.example/x"), nil},
		{"signs that are nobody's letters", text("Title: O\u202en\u0000e\t \u200b\nLink: https://a.example/x"), one},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(says("answer"))
			b.tools.add("tool-server", "guide", tt.output)
			p := b.with(t, dental()).play(t, ask("How often should I brush my teeth to avoid cavities?"))
			if p.err != nil {
				t.Fatal(p.err)
			}
			if diff := cmp.Diff(tt.want, p.done.Sources); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, b.memory.saved[0].Sources); diff != "" {
				t.Errorf("saved (-want +got)\n%s", diff)
			}
		})
	}
}

// A hostile title or address cannot escape from its line and link.
func TestRun_hostileSources(t *testing.T) {
	output, err := json.Marshal([]map[string]string{
		{"title": "x](https://evil.example) [y", "url": "https://a.example/1"},
		{"title": "ends in a backslash\\", "url": "https://a.example/2"},
		{"title": "`code", "url": "https://a.example/3"},
		{"title": "<img src=x onerror=alert(1)>", "url": "https://a.example/4"},
		{"title": "two\n\n# lines", "url": "https://a.example/5) [z](https://evil.example"},
		{"title": strings.Repeat("long ", 100), "url": `https://a.example/6?q="><script>` + "`\\|"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(says("answer"))
	b.tools.add("tool-server", "guide", string(output))
	p := b.with(t, dental()).play(t, ask("How often should I brush my teeth to avoid cavities?"))
	_, list, _ := strings.Cut(p.text, "Sources:\n\n")
	want := []string{
		`1. [x\](https://evil.example) \[y](https://a.example/1)`,
		`2. [ends in a backslash\\](https://a.example/2)`,
		"3. [\\`code](https://a.example/3)",
		`4. [\<img src=x onerror=alert(1)>](https://a.example/4)`,
		`5. [two # lines](https://a.example/5%29%20%5Bz%5D%28https://evil.example)`,
		`6. [` + strings.Repeat("long ", 40)[:199] + `…](https://a.example/6?q=%22%3E%3Cscript%3E%60%5C%7C)`,
	}
	if diff := cmp.Diff(want, strings.Split(list, "\n")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRun_sourcesInVietnamese(t *testing.T) {
	b := newBench(says("Hai lần. Xem [của tôi](https://invented.example)."))
	b.tools.add("tool-server", "guide", `"Title: Chải răng\nLink: https://a.example/chai"`)
	p := b.with(t, dental()).play(t, ask("Một ngày nên đánh răng bao nhiêu lần?"))
	if want := "\n\nNguồn tham khảo:\n\n1. [Chải răng](https://a.example/chai)"; !strings.HasSuffix(p.text, want) || len(p.done.Sources) != 1 {
		t.Errorf("%q, %v", p.text, p.done.Sources)
	}
	var last answer.Event
	for _, e := range p.events {
		if e.Kind == answer.KindSources {
			last = e
		}
	}
	if diff := cmp.Diff(p.done.Sources, last.Sources); diff != "" {
		t.Error(diff)
	}
}
