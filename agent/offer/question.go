package offer

import (
	"regexp"
	"sync"

	"molar/agent/subject"
	"molar/internal/text"
)

// maxQuestion bounds the read part of a question, in bytes.
const maxQuestion = 2000

// read returns the things that a question names, to be matched with tools.
func (t *thesaurus) read(question string) []want {
	question = text.Clip(question, maxQuestion, "")
	wanted := valuesIn(question)
	vietnamese, _ := subject.Detect(question, "")
	words, known := wordForm().FindAllString(lowercase(question), -1), map[string]want(nil)
	if vietnamese == subject.Vietnamese {
		if known = t.marked; text.Fold(question) == lowercase(question) {
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

// A valueForm is the form of a value, and words for it.
type valueForm struct {
	form  *regexp.Regexp
	names []string
}

var known = sync.OnceValue(func() []valueForm {
	return []valueForm{
		{regexp.MustCompile(`\b[\w.+-]+@[\w-]+\.\w+`), []string{"email", "contact"}},
		{regexp.MustCompile(`https?://\S+|\bwww\.\S+|\b[\w-]+\.(?:com|org|net|io|dev|vn|edu|gov)\b\S*`), []string{"url", "page", "web"}},
		{regexp.MustCompile(`(?:[~/]?[\w.-]+/)*[\w-]+\.[a-zA-Z]\w{0,4}\b`), []string{"file", "path"}},
		{regexp.MustCompile(`(?:^|\s)#[a-zA-Z][\w-]*`), []string{"channel"}},
	}
})

// valuesIn returns the kinds of value in a question, by their form.
func valuesIn(question string) []want {
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
