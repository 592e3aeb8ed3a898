package offer

import (
	"regexp"
	"sync"

	"molar/agent/subject"
	"molar/internal/text"
)

// maxQuestion bounds what is read of a question, in bytes.
const maxQuestion = 2000

// read returns what a question wants of a tool.
func (t *thesaurus) read(question string) []want {
	question = text.Clip(question, maxQuestion, "")
	wanted := looks(question)
	vietnamese, _ := subject.Detect(question, "")
	words, known := wordForm().FindAllString(lower(question), -1), map[string]want(nil)
	if vietnamese == subject.Vietnamese {
		if known = t.marked; text.Fold(question) == lower(question) {
			known = t.plain
		}
	}
	seen := map[string]bool{}
	for i := 0; i < len(words); {
		w, n := t.of(words[i:], known)
		if i += n; len(w) > 0 && !seen[w[0].stem] {
			seen[w[0].stem] = true
			wanted = append(wanted, w)
		}
	}
	return wanted
}

// A look is the form of a value, and what holds such values.
type look struct {
	form  *regexp.Regexp
	names []string
}

var known = sync.OnceValue(func() []look {
	return []look{
		{regexp.MustCompile(`\b[\w.+-]+@[\w-]+\.\w+`), []string{"email", "contact"}},
		{regexp.MustCompile(`https?://\S+|\bwww\.\S+|\b[\w-]+\.(?:com|org|net|io|dev|vn|edu|gov)\b\S*`), []string{"url", "page", "web"}},
		{regexp.MustCompile(`(?:[~/]?[\w.-]+/)*[\w-]+\.[a-zA-Z]\w{0,4}\b`), []string{"file", "path"}},
		{regexp.MustCompile(`(?:^|\s)#[a-zA-Z][\w-]*`), []string{"channel"}},
	}
})

// looks returns what kinds of value a question holds, by their form.
func looks(question string) []want {
	var wanted []want
	for _, l := range known() {
		rest := l.form.ReplaceAllString(question, " ")
		if rest == question {
			continue
		}
		question = rest
		var w want
		for _, name := range l.names {
			w = append(w, weighted{text.Stem(name), translated})
		}
		wanted = append(wanted, w)
	}
	return wanted
}
