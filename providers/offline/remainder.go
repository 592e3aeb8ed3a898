package offline

import (
	"slices"
	"strings"
)

// remainder is the question without its command words: the longest run of words
// that neither command, nor name the tool, nor went into another argument.
func (f *filler) remainder(fd field) {
	if start, ok := f.afterColon(); ok && (fd.role == wantsBody || fd.role == wantsQuery) {
		if text := trimValue(f.q.text[start:]); fd.allows(text) {
			f.set(fd, text, "the words after the colon")
			f.claim(start, len(f.q.text))
			return
		}
	}
	from, to := f.longestRun(func(i int) bool { return f.isCommand(i) })
	if from == to && fd.role == wantsQuery {
		from, to = f.longestRun(func(i int) bool { return len(f.verbsAt(i)) > 0 || f.q.isStop(i) })
		f.loose = true
	}
	if from == to {
		return
	}
	text := trimValue(f.q.text[f.q.tokens[from].start:f.q.tokens[to-1].end])
	if fd.allows(text) {
		f.set(fd, text, "the question without its command words")
		f.claim(f.q.tokens[from].start, f.q.tokens[to-1].end)
	}
}

// afterColon returns where the words after the first colon start, if no other argument
// took any of them.
func (f *filler) afterColon() (start int, ok bool) {
	i := strings.Index(f.q.text, ": ")
	if i < 0 || slices.Contains(f.claimed[i:], true) {
		return 0, false
	}
	return i + 1, true
}

func (f *filler) verbsAt(i int) []string {
	return slices.DeleteFunc(slices.Clone(f.q.keys[i]), func(k string) bool { return k[0] != '!' })
}

func (f *filler) isCommand(i int) bool {
	q := f.q
	if q.isStop(i) || knownAny(f.known, q.keys[i]) {
		return true
	}
	if q.owner[i] >= 0 && q.mentions[q.owner[i]].kind == isProper && !q.mentions[q.owner[i]].weak {
		return false
	}
	for _, t := range q.terms {
		if t.from <= i && i < t.to && t.known && (len(t.verbs()) > 0 || t.has("~details")) {
			return true
		}
	}
	return slices.ContainsFunc(f.fields, func(fd field) bool { return shares(q.keys[i], fd.keys) })
}

// longestRun returns the longest stretch of tokens that starts and ends with words
// that are no command; what went into another argument ends a stretch.
func (f *filler) longestRun(command func(i int) bool) (from, to int) {
	start, last := -1, -1
	best := 0
	flush := func() {
		if start >= 0 && last+1-start > best {
			from, to, best = start, last+1, last+1-start
		}
		start = -1
	}
	for i, t := range f.q.tokens {
		switch {
		case f.claimed[t.start] || f.isFixed(i) || t.breaks && start >= 0 && strings.ContainsAny(f.q.text[f.q.tokens[i-1].end:t.start], ".?!;:"):
			flush()
			if f.claimed[t.start] || f.isFixed(i) || command(i) {
				continue
			}
			start, last = i, i
		case command(i):
		default:
			if start < 0 {
				start = i
			}
			last = i
		}
	}
	flush()
	return from, to
}

// isFixed reports whether a token belongs to a value that is never free text.
func (f *filler) isFixed(i int) bool {
	o := f.q.owner[i]
	return o >= 0 && slices.Contains([]mentionKind{isDate, isTime, isUUID, isURL, isEmail}, f.q.mentions[o].kind)
}
