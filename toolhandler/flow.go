package toolhandler

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// runLength is how many consecutive characters of a read text make an argument count as carrying
// that text.
const runLength = 16

// A Reading is a text in the prompt that neither the person nor the host wrote.
type Reading struct {
	// Server is the text's server; it is empty if several are possible. A text from another
	// source, such as a file, has a source name with a space.
	Server string
	Text   string
	// Trusted means that the operator vouches for the server: its text contains no instructions.
	// The text is still private to its server.
	Trusted bool

	forms *forms
}

// forms caches a text in each form.
type forms struct {
	once [2]sync.Once
	text [2]string
}

// A form is a normalisation of texts for comparison.
type form int

const (
	inFold form = iota
	inLetters
)

func (f form) of(s string) string {
	if f == inLetters {
		return letters(s)
	}
	return folded(s)
}

// in returns the text in a form.
func (r Reading) in(f form) string {
	if r.forms == nil {
		return f.of(r.Text)
	}
	r.forms.once[f].Do(func() { r.forms.text[f] = f.of(r.Text) })
	return r.forms.text[f]
}

// cached returns a flow that normalises each text at most once per form.
func (f Flow) cached() Flow {
	all := make([]Reading, len(f.Readings))
	for i, r := range f.Readings {
		if r.forms == nil {
			r.forms = new(forms)
		}
		all[i] = r
	}
	f.Readings = all
	return f
}

// ReadingOf returns the text of a result that a model reads.
func ReadingOf(result schemas.ToolResult, trusted bool) Reading {
	content := result.OutputText()
	var value any
	if json.Unmarshal(result.Output, &value) == nil {
		content += "\n" + strings.Join(leaves(nil, value), "\n") // without the escapes of JSON
	}
	return Reading{Server: result.Server, Text: content, Trusted: trusted, forms: new(forms)}
}

// A Flow is the content of a prompt by origin.
type Flow struct {
	Readings []Reading
	// Words are the person's own texts.
	Words []string
}

// Foreign returns the sorted servers whose texts may contain instructions. The name is empty for
// a text of unknown server.
func (f Flow) Foreign() []string {
	names := make(map[string]bool)
	for _, r := range f.Readings {
		if !r.Trusted {
			names[r.Server] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Carried returns the first run of [runLength] characters in a value that comes from a text of
// another server, and that server. It ignores URL schemes, the person's own words and the
// server's own texts.
func (f Flow) Carried(value, server string) (from, run string, carried bool) {
	for _, form := range []form{inFold, inLetters} {
		grams := make(map[string]bool)
		for _, v := range []string{value, unescaped(value)} {
			eachGram(form.of(withoutSchemes(v)), func(gram string) bool {
				grams[gram] = true
				return true
			})
		}
		if len(grams) == 0 || len(f.Readings) == 0 {
			continue
		}
		for _, own := range f.Words {
			drop(grams, form.of(own))
		}
		for _, r := range f.Readings {
			if r.Server == server {
				drop(grams, r.in(form))
			}
		}
		for _, r := range f.Readings {
			if r.Server == server {
				continue
			}
			eachGram(r.in(form), func(gram string) bool {
				if grams[gram] {
					from, run, carried = r.Server, gram, true
				}
				return !carried
			})
			if carried {
				return from, run, true
			}
		}
	}
	return "", "", false
}

// Carries reports whether a URL carries text that the person did not write.
func (f Flow) Carries(address string) bool {
	_, _, carried := f.Carried(address, nobody)
	return carried
}

// nobody is a server name that no text has.
const nobody = "\x00"

// Quotes reports whether a URL occurs whole in one of the texts, at word boundaries.
func (f Flow) Quotes(address string) bool {
	address = strings.Trim(folded(scheme.ReplaceAllString(address, "")), "/: ")
	for _, r := range f.Readings {
		text := r.in(inFold)
		for at := 0; ; {
			i := strings.Index(text[at:], address)
			if i < 0 {
				break
			}
			if end := at + i + len(address); end == len(text) || strings.ContainsRune("/?#\"'<>) \n\\]", rune(text[end])) {
				return true
			}
			at += i + len(address)
		}
	}
	return false
}

// carriedBy checks every name and value of a call's arguments, and the values joined, so that
// splitting a text does not hide it.
func (f Flow) carriedBy(args json.RawMessage, server string) (from, run string, carried bool) {
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return "", "", false
	}
	for _, leaf := range append(leaves(nil, value), strings.Join(values(nil, value), "")) {
		if from, run, carried = f.Carried(leaf, server); carried {
			return from, run, true
		}
	}
	return "", "", false
}

// values returns the values of a JSON value, without the names.
func values(all []string, value any) []string {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			all = values(all, e)
		}
		return all
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = values(all, v[key])
		}
		return all
	}
	return leaves(all, value)
}

// leaves returns the names and values of a JSON value.
func leaves(all []string, value any) []string {
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case json.Number:
		all = append(all, v.String())
	case []any:
		for _, e := range v {
			all = leaves(all, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = leaves(append(all, key), v[key])
		}
	}
	return all
}

var scheme = regexp.MustCompile(`(?i)[a-z][a-z0-9+.\-]*://(?:www\.)?|mailto:`)

// aBreak separates runs. No read text contains it.
const aBreak = "\x00"

func withoutSchemes(value string) string { return scheme.ReplaceAllString(value, aBreak) }

// unescaped decodes the escapes of a URL.
func unescaped(value string) string {
	if plain, err := url.QueryUnescape(value); err == nil {
		return plain
	}
	return value
}

// folded returns a text without case, marks and repeated spaces.
func folded(s string) string { return strings.Join(strings.Fields(text.Fold(s)), " ") }

// letters returns the letters and digits of a text, so that punctuation hides nothing.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == 0 {
			return r
		}
		return -1
	}, text.Fold(s))
}

// eachGram yields the runs of [runLength] characters of a text, until take returns false.
func eachGram(s string, take func(gram string) bool) {
	starts := make([]int, 0, runLength)
	for i, r := range s {
		if r == 0 {
			starts = starts[:0]
			continue
		}
		if len(starts) == runLength {
			starts = append(starts[:0], starts[1:]...)
		}
		if starts = append(starts, i); len(starts) == runLength && !take(s[starts[0]:i+utf8.RuneLen(r)]) {
			return
		}
	}
}

func drop(grams map[string]bool, s string) {
	eachGram(s, func(gram string) bool {
		delete(grams, gram)
		return len(grams) > 0
	})
}
