package lastwords

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"molar/internal/text"
)

const (
	// maxHead, maxCause and maxWhy bound the parts of a reason and the whole, in bytes.
	maxHead, maxCause, maxWhy = 260, 160, 400
	// fewWords is how many words of an error say too little alone.
	fewWords = 3
	// blockLines bounds how far below an error its cause is looked for.
	blockLines = 200
)

// Why returns why the program failed that wrote the lines, in its own words and in one line: the first
// line that tells of an error, what it announces, and its cause. tells is false if no line tells of an
// error; then Why returns the last one that has words.
//
// No program is known by name. An error is told from what surrounds it by its form.
func Why(lines []string) (why string, tells bool) {
	all := read(lines)
	at := choose(all)
	if at < 0 {
		return "", false
	}
	tells = all[at].kind >= mild
	at, first := followLinks(all, at)
	why = head(all, at)
	if cause := cmp.Or(causeOf(all, at), first); tells && cause != "" && !strings.Contains(why, cause) {
		why += " (cause: " + text.Shorten(cause, maxCause) + ")"
	}
	return text.Shorten(why, maxWhy), tells
}

// Excerpt returns at most n lines: the one that tells why the program failed, and what it wrote next
// that is not a frame of a stack.
func Excerpt(lines []string, n int) []string {
	all := read(lines)
	at := choose(all)
	if at < 0 {
		return nil
	}
	if all[at].kind < mild { // nothing tells: the last lines
		at = max(0, at-n+1)
	}
	at, _ = followLinks(all, at)
	var excerpt []string
	for _, l := range all[at:] {
		if len(excerpt) < n && (l.kind > noise || l.cause) {
			excerpt = append(excerpt, strings.TrimSpace(l.raw))
		}
	}
	return excerpt
}

// choose returns the line that tells most, -1 if none has words. Of two that tell as much it is the
// first, as what follows a failure is mostly its consequence; of two that tell nothing, the last.
func choose(all []line) int {
	best, bestKind := -1, noise
	for i, l := range all {
		if l.kind > bestKind || l.kind == plain && bestKind == plain {
			best, bestKind = i, l.kind
		}
	}
	if bestKind == fatal && poor(all[best].body) { // "fatal: exiting" tells less than what was before it
		if i := slices.IndexFunc(all[:best], func(l line) bool { return l.kind == named }); i >= 0 {
			return i
		}
	}
	return best
}

// followLinks goes from a traceback to the last one that is said to follow from it. first is then what
// the first one said.
func followLinks(all []line, at int) (last int, first string) {
	last = at
	for i := at + 1; i < len(all); i++ {
		switch l := all[i]; {
		case l.link:
			next := slices.IndexFunc(all[i:], func(l line) bool { return l.kind >= named })
			if next < 0 {
				return last, first
			}
			first = cmp.Or(first, all[at].body)
			last, i = i+next, i+next
		case l.kind > noise:
			return last, first
		}
	}
	return last, first
}

// head returns an error, with what follows if it announces that or says little alone.
func head(all []line, at int) string {
	body := strings.TrimRight(all[at].body, " ")
	next := all[at+1:]
	found := strings.TrimRight(body, "{[ ")
	if !poor(found) && !announces(found) || all[at].kind < mild || len(next) == 0 {
		return text.Shorten(found, maxHead)
	}
	if found != body && !next[0].frame {
		return text.Shorten(join(found, inside(body[len(body)-1:], next)), maxHead)
	}
	for i, l := range next { // a sentence tells more than the codes above it
		more := withoutPrefix(l.body, body)
		if len(strings.Fields(more)) == len(strings.Fields(l.body)) {
			break
		}
		if !poor(more) {
			next = next[i:]
			break
		}
	}
	for i, l := range next {
		listed := l.indented || strings.TrimLeft(l.body, bullets) != l.body
		if l.kind == noise || l.cause && !strings.HasSuffix(found, ":") || i == 1 && !listed || i == 2 {
			break
		}
		more := strings.TrimLeft(withoutPrefix(l.body, body), bullets)
		if i > 0 {
			more = strings.TrimSuffix(found, ";") + "; " + more
			found = ""
		}
		found = join(found, more)
	}
	return text.Shorten(found, maxHead)
}

// bullets are put in front of the lines of a list.
const bullets = "-*•→╰├─▶ "

// join puts two parts of a reason together.
func join(a, b string) string {
	switch a = strings.TrimSpace(a); {
	case a == "" || b == "":
		return a + b
	case strings.HasSuffix(a, ":"):
		return a + " " + b
	default:
		return a + ": " + b
	}
}

// poor reports whether an error says too little alone: hardly a word follows its name.
func poor(body string) bool {
	words := 0
	for i, word := range strings.Fields(body) {
		lower := strings.ToLower(strings.Trim(word, ":![]()"))
		if i < 4 && (strings.HasSuffix(lower, "error") || strings.HasSuffix(lower, "exception") || lower == "fatal" || lower == "err") {
			words = 0
			continue
		}
		words++
		for _, r := range word {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
				words++ // they write without spaces
			}
		}
	}
	return words < fewWords
}

// announces reports whether an error says that more follows: by a colon at its end, or a number of
// errors.
func announces(body string) bool {
	if strings.HasSuffix(body, ":") {
		return true
	}
	words := strings.Fields(strings.ToLower(body))
	for i, word := range words {
		if strings.Trim(word, "(0123456789") == "" && i+1 < len(words) && strings.Contains(strings.Join(words[i+1:min(len(words), i+3)], " "), "error") {
			return true
		}
	}
	return false
}

// withoutPrefix drops the first words of a line that it shares with the line before it, as programs
// write their name in front of each.
func withoutPrefix(body, before string) string {
	words, others := strings.Fields(body), strings.Fields(before)
	same := 0
	for same < len(words)-1 && same < len(others) && words[same] == others[same] {
		same++
	}
	return strings.Join(words[same:], " ")
}

// inside returns what a dump says that follows an error and begins with the bracket: of a list of
// faults their messages, else its lines joined.
func inside(open string, next []line) string {
	dump, depth := open, 1
	for _, l := range next {
		trimmed := strings.TrimSpace(l.raw)
		dump += "\n" + trimmed
		depth += strings.Count(trimmed, "{") + strings.Count(trimmed, "[") - strings.Count(trimmed, "}") - strings.Count(trimmed, "]")
		if depth <= 0 || len(dump) > keptLine {
			break
		}
	}
	if faults := messages(dump); faults != "" {
		return faults
	}
	_, lines, _ := strings.Cut(dump, "\n")
	return strings.TrimRight(strings.ReplaceAll(lines, "\n", " "), " ,}])")
}

// messages returns the messages of a list of faults, with the place of each.
func messages(dump string) string {
	type fault struct {
		Message string `json:"message"`
		Path    []any  `json:"path"`
	}
	var faults []fault
	if json.Unmarshal([]byte(dump), &faults) != nil {
		var one fault
		if json.Unmarshal([]byte(dump), &one) != nil {
			return ""
		}
		faults = []fault{one}
	}
	var parts []string
	for _, f := range faults {
		if f.Message == "" {
			continue
		}
		var place []string
		for _, step := range f.Path {
			if name, ok := step.(string); ok {
				place = append(place, name)
			}
		}
		if len(place) > 0 {
			f.Message = strings.Join(place, ".") + ": " + f.Message
		}
		parts = append(parts, f.Message)
	}
	return strings.Join(parts, "; ")
}

// causeOf returns the deepest cause that is written below an error.
func causeOf(all []line, at int) string {
	cause, frames := "", false
	next := all[at+1 : min(len(all), at+1+blockLines)]
	i := slices.IndexFunc(next, func(l line) bool { return !l.frame })
	if i == 0 && len(next) > 1 && next[1].frame || i > 0 && strings.HasSuffix(next[0].raw, "(most recent call last):") {
		if next[i].kind >= named { // with its stack, below what a log says of it
			cause, next = next[i].body, next[i+1:]
		}
	}
	for _, l := range next {
		frames = frames || l.frame
		switch {
		case l.cause && (l.kind > noise || cause == ""):
			cause = cmp.Or(l.body, cause)
		case l.indented && l.kind >= named:
			cause = l.body
		case !l.indented && (l.kind >= named || frames && l.kind > noise):
			return tidy(cause)
		}
	}
	return tidy(cause)
}

// tidy drops the brackets that a dump put around a cause.
func tidy(cause string) string { return strings.Trim(cause, " {}[]:,") }
