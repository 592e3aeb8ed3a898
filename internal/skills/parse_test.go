package skills

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"---\nname: a\ndescription: B\n---\nC", "---\n---", "---", "", "\ufeff---\r\nname: a\r\n---\r\n", "---\nname: &x a\ndescription: *x\n---", "---\na: &a [*a]\n---",
		"---\nname: !!binary aGk=\ndescription: |\n  x\n---", "---\n{{{{[[[[\n---", "---\nname: a\nname: b\ndescription: c\n---", "---\n? [a]\n: b\n---", "---\n<<: *x\n---",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		s, body, err := parse([]byte(said))
		if err != nil {
			return
		}
		if !isName(s.Name) || s.Description == "" || utf8.RuneCountInString(s.Description) > maxDescription || strings.ContainsAny(s.Description, "\n\r\x00") || !utf8.ValidString(s.Description) {
			t.Errorf("%+v", s)
		}
		if !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
			t.Errorf("the text: %q", body)
		}
	})
}
