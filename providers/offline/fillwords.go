package offline

import (
	"encoding/json"
	"slices"
	"strings"
)

// marked takes values that the question names outright: "title: Fix login", "tên là
// An", "a note called Shopping".
func (f *filler) marked() {
	for _, fd := range f.fields {
		if !takesWords(fd) && fd.role != wantsPath {
			continue
		}
		if from, to, ok := f.namedSpan(fd); ok {
			text := trimValue(f.q.text[from:to])
			if fd.allows(text) && (fd.role != wantsID || strings.ContainsAny(text, "0123456789")) {
				f.set(fd, text, "the words after its name")
				f.claim(from, to)
			}
		}
	}
}

func takesWords(fd field) bool {
	switch fd.role {
	case wantsQuery, wantsBody, wantsPlace, wantsName, wantsText, wantsID:
		return !fd.uuid
	}
	return false
}

// namedSpan finds the words that follow the field's name and a word or sign that
// says "here it comes".
func (f *filler) namedSpan(fd field) (from, to int, ok bool) {
	q := f.q
	for i := range q.tokens {
		if i+1 >= len(q.tokens) || q.samePhrase(i, i+1) || q.owner[i] >= 0 && q.mentions[q.owner[i]].kind != isProper {
			continue
		}
		next := i + 1
		colon := strings.ContainsAny(q.text[q.tokens[i].end:q.tokens[next].start], ":=")
		names := shares(q.keys[i], fd.keys)
		called := q.isOneOf(i, "called", "named", "titled", "entitled") && f.isCalled(fd)
		says := q.isOneOf(i, "saying", "says", "say", "containing", "rằng") && fd.role == wantsBody
		link := names && q.isOneOf(next, "is", "are", "as", "là", "bằng", "was")
		switch {
		case link && next+1 < len(q.tokens):
			next++
		case names && colon, called && !f.q.tokens[next].breaks, says:
		case names && f.isLoneValue(fd, next):
			return q.tokens[next].start, q.tokens[next].end, true
		default:
			continue
		}
		end := f.spanEnd(next, colon && fd.role == wantsBody || says)
		if end > q.tokens[next].start {
			return q.tokens[next].start, end, true
		}
	}
	return 0, 0, false
}

// isLoneValue reports whether the token after a field's name can only be its value: no
// word of either language ("branch main", "user bob").
func (f *filler) isLoneValue(fd field, i int) bool {
	q := f.q
	if fd.role != wantsText && fd.role != wantsName || q.tokens[i].breaks || q.owner[i] >= 0 || q.isStop(i) {
		return false
	}
	return !f.known[q.tokens[i].stem] && len(q.book.lookUp(q.tokens[i].stem, q.tokens[i].marked, q.tokens[i].bare)) == 0
}

// isCalled reports whether the field holds what the thing is called.
func (f *filler) isCalled(fd field) bool {
	names := func(fd field) bool { return slices.Contains(fd.keys, "~title") || slices.Contains(fd.keys, "~name") }
	return names(fd) || fd.role == wantsName && !slices.ContainsFunc(f.fields, names)
}

func (q *question) isOneOf(i int, list ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		return q.tokens[i].marked == canonical(s) || q.vietnamese && !q.book.hasMarks && q.tokens[i].bare == fold(s) && s != fold(s)
	})
}

// spanEnd returns the byte where a value that starts at token i ends: at
// punctuation, at the name of another field, at "with" or "and" before one; a body
// goes to the end of the question.
func (f *filler) spanEnd(i int, toEnd bool) int {
	q := f.q
	if o := q.owner[i]; o >= 0 && q.mentions[o].kind == isQuote {
		return q.mentions[o].end
	}
	end := q.tokens[i].end
	for j := i + 1; j < len(q.tokens); j++ {
		t := q.tokens[j]
		if t.breaks && (!toEnd || f.opensField(j)) {
			break
		}
		if !toEnd && (f.opensField(j) || q.owner[j] >= 0 && q.mentions[q.owner[j]].strong()) {
			break
		}
		end = t.end
	}
	return end
}

// opensField reports whether token j starts another field: its name before a
// linking word, or "with"/"and"/"in" and such a name.
func (f *filler) opensField(j int) bool {
	q := f.q
	joins := q.prepositionAt(j) == prepWith || q.isOneOf(j, "and", "và", "with")
	at := j
	if joins {
		at++
	}
	if at >= len(q.tokens) {
		return false
	}
	if joins && at+1 < len(q.tokens) && q.isOneOf(at, "a", "the", "its") {
		at++
	}
	if joins || at+1 < len(q.tokens) && (q.isOneOf(at+1, "is", "là") || strings.ContainsAny(q.text[q.tokens[at].end:q.tokens[at+1].start], ":=")) {
		return slices.ContainsFunc(f.fields, func(fd field) bool { return shares(q.keys[at], fd.keys) })
	}
	p := q.prepositionAt(j)
	return p == prepIn || p == prepFor && !joins || p == prepTo && slices.ContainsFunc(f.fields, func(fd field) bool { return direction(fd.name) == prepTo })
}

func trimValue(s string) string {
	return strings.Trim(s, " \t\n\"'“”«»`.,;:!?()")
}

// words fills enums, booleans and free text.
func (f *filler) words() {
	for _, fd := range f.fields {
		if f.has(fd) {
			continue
		}
		switch fd.role {
		case wantsEnum:
			f.enumeration(fd)
		case wantsBool:
			f.boolean(fd)
		}
	}
	var open []field
	for _, fd := range f.fields {
		if fd.required && !f.has(fd) && (takesWords(fd) && fd.role != wantsID || fd.role == wantsPath) {
			open = append(open, fd)
		}
	}
	if f.known["!search"] && !slices.ContainsFunc(f.fields, func(fd field) bool { return fd.required && takesWords(fd) }) {
		for _, fd := range f.fields {
			if fd.role == wantsQuery && !f.has(fd) { // a search is seldom meant without its words
				open = append(open, fd)
				break
			}
		}
	}
	open = slices.DeleteFunc(open, f.governedPhrase)
	open = slices.DeleteFunc(open, func(fd field) bool { return fd.role == wantsPath })
	for _, fd := range open {
		if fd.role == wantsQuery || len(open) == 1 {
			f.remainder(fd)
			return
		}
	}
}

// maxMembers is how many members of an enum are looked for.
const maxMembers = 300

// enumeration takes the member that the question names, by its words or by another
// word for the same concept.
func (f *filler) enumeration(fd field) {
	for _, raw := range fd.enum[:min(len(fd.enum), maxMembers)] {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		if from, to, ok := f.q.mentionsMember(s, fd, f.known); ok {
			f.set(fd, raw, "a word of the question")
			if fd.required {
				f.evidence += 0.6
			}
			f.claim(f.q.tokens[from].start, f.q.tokens[to-1].end)
			return
		}
	}
}

// mentionsMember finds a member of an enum in the question. Short members and the
// words of the tool's own name prove nothing.
func (q *question) mentionsMember(member string, fd field, known map[string]bool) (from, to int, ok bool) {
	tokens := tokenize(splitName(member))
	if len(tokens) == 0 {
		return 0, 0, false
	}
	for i := 0; i+len(tokens) <= len(q.tokens); i++ {
		same := true
		for j, t := range tokens {
			same = same && q.tokens[i+j].stem == t.stem
		}
		if !same || known[tokens[0].stem] && !fd.required {
			continue
		}
		if len(member) > 2 || q.tokens[i].raw == member && q.named(fd, i, i+len(tokens)) > 0 {
			return i, i + len(tokens), true
		}
	}
	for _, t := range newPhraseBook(false, tokens).read(tokens, nil) {
		if !t.known || t.to-t.from != len(tokens) {
			continue
		}
		for _, own := range q.terms {
			if own.known && shares(things(own.keys), things(t.keys)) && !knownAny(known, own.keys) {
				return own.from, own.to, true
			}
		}
	}
	return 0, 0, false
}

// things are the keys that are no verbs: nouns and qualifiers.
func things(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k[0] == '!' })
}

// nouns are the keys that name things.
func nouns(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k[0] != '~' })
}

func knownAny(known map[string]bool, keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return known[k] })
}

// boolean is true where the question says its name, false after "without" or "no".
func (f *filler) boolean(fd field) {
	for i := range f.q.tokens {
		if !shares(f.q.keys[i], fd.keys) || !fd.required && knownAny(f.known, f.q.keys[i]) {
			continue
		}
		no := i > 0 && f.q.isOneOf(i-1, "no", "not", "without", "không", "non")
		f.set(fd, !no, "a word of the question")
		return
	}
}

// governedPhrase takes the lower-case words after a preposition: "in paris".
func (f *filler) governedPhrase(fd field) bool {
	q := f.q
	for i := 1; i < len(q.tokens); i++ {
		p := q.prepositionAt(i - 1)
		fits := p != prepNone && (p == direction(fd.name) ||
			fd.role == wantsPlace && direction(fd.name) == prepNone && (p == prepIn || p == prepFor || p == prepTo) ||
			fd.role == wantsName && (p == prepBy || p == prepFor || p == prepWith))
		if !fits || f.claimed[q.tokens[i].start] || !f.free(i) {
			continue
		}
		end := i
		for end < len(q.tokens) && end < i+6 && f.free(end) && (end == i || !q.tokens[end].breaks) && q.prepositionAt(end) == prepNone {
			end++
		}
		if end == i {
			continue
		}
		return f.assignList(fd, q.tokens[i].start, q.tokens[end-1].end)
	}
	return false
}

// free reports whether a token may be part of a value in words: no verb, no word of
// the tool's own name, no value taken.
func (f *filler) free(i int) bool {
	q := f.q
	if f.claimed[q.tokens[i].start] || knownAny(f.known, q.keys[i]) {
		return false
	}
	if o := q.owner[i]; o >= 0 && q.mentions[o].kind != isProper && q.mentions[o].kind != isCode {
		return false
	}
	return !q.isStop(i) || q.isOneOf(i, "and", "và", "of", "the")
}

func (q *question) isStop(i int) bool {
	t := q.tokens[i]
	return q.book.stops(t.marked, t.bare)
}

// assignList sets the field to the words, split at "and": one call is made of each.
func (f *filler) assignList(fd field, start, end int) bool {
	text := f.q.text[start:end]
	parts := []string{text}
	if fd.role == wantsPlace {
		for _, sep := range []string{" and ", " và ", " va ", " & "} {
			if strings.Contains(text, sep) {
				parts = strings.Split(text, sep)
				break
			}
		}
	}
	for i := range parts {
		parts[i] = trimValue(strings.TrimPrefix(strings.TrimSpace(parts[i]), "the "))
		if !fd.allows(parts[i]) {
			return false
		}
	}
	f.set(fd, parts[0], "the words after a preposition")
	f.lists[fd.name] = parts[1:]
	f.claim(start, end)
	return true
}

// nested fills objects one level down.
func (f *filler) nested() {
	for _, fd := range f.fields {
		if fd.role != wantsObject || f.has(fd) || len(fd.fields) == 0 || !fd.required {
			continue
		}
		inner := fill(f.q, fd.fields, f.known)
		if len(inner.missing) == 0 && len(inner.values) > 0 {
			f.set(fd, inner.values, "the question: "+strings.Join(inner.from, ", "))
			f.evidence += inner.evidence
		}
	}
}
