package offline

import (
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
)

// near is the share of the first entry's score that another one needs.
const near = 0.6

// quoteNews quotes what code looked up. A follow-up is searched with its subject, and often
// finds what the last answer quoted: that is not told twice, unless it is asked for by name.
// Of it comes what speaks of the question now, else the first other entry that does, if it was found
// nearly as surely or is asked for by name.
func (t turn) quoteNews(r schemas.ToolResult) string {
	found := entriesOf(r.Output)
	asked := things(t.question)
	if len(found) == 0 || !t.told(found[0]) || names(asked, found[0].title) {
		return quote(r, t.vietnamese)
	}
	again := slices.DeleteFunc(firstSentences(found[0].content, len(found[0].content)), func(s string) bool { return !t.speaksOf(s) })
	if len(again) > 0 {
		return strings.Join(again, " ")
	}
	news := slices.DeleteFunc(found, func(e entry) bool {
		return t.told(e) || e.score < near*found[0].score && !names(asked, e.title)
	})
	for i, e := range news {
		if t.speaksOf(e.title + " " + e.content) {
			return bestEntry(append([]entry{e}, slices.Delete(news, i, i+1)...), t.vietnamese)
		}
	}
	return ""
}

// told reports whether an earlier answer quoted an entry.
func (t turn) told(e entry) bool {
	start := firstSentences(e.content, 1)
	return len(start) > 0 && slices.ContainsFunc(t.answers, func(answer string) bool {
		return strings.Contains(answer, e.title) && strings.Contains(answer, start[0])
	})
}

// toldSomething reports whether an earlier answer said more than that nothing was found, or a
// courtesy.
func (t turn) toldSomething() bool {
	return slices.ContainsFunc(t.answers, func(a string) bool { return !slices.Contains(fixedTexts(), strings.TrimSpace(a)) })
}

// tellsNews reports whether a question may tell of something new: it holds a word other than those that
// say nothing of what happened. One that was said before is no exception, as it may be said of another
// day. Nor is what was said before such news said to hold again.
func (t turn) tellsNews() bool {
	plain := map[string]bool{}
	for w := range strings.FieldsSeq(plainWords) {
		plain[text.Stem(w)] = true
	}
	return slices.ContainsFunc(keysOf(t.question), func(key string) bool { return !plain[key] }) ||
		slices.ContainsFunc(t.answers, func(a string) bool { return strings.Contains(a, newVietnamese) || strings.Contains(a, newEnglish) })
}

// plainWords of both languages, folded, say when or that all is well, and nothing of what happened.
const plainWords = `
and so then now yet though however only really very too also else anyway maybe sure yes
today tomorrow tonight later soon ok okay fine feel good well normal thank think
vay the roi thoi qua lam vang da a nhi con chua luon
hom nay ngay mai binh thuong khoe on cam on thay sau truoc`

// things returns the keys of the words of a text that are no verbs.
func things(s string) []string { return slices.DeleteFunc(keysOf(s), isVerb) }

// holdsHalf reports whether at least half of some words are among others.
func holdsHalf(words, others []string) bool {
	missing := slices.DeleteFunc(slices.Clone(words), func(key string) bool { return slices.Contains(others, key) })
	return len(words) >= 2*len(missing)
}

// names reports whether at least half of the words of a title were asked for; what stands in
// brackets behind it is where the text is from.
func names(asked []string, title string) bool {
	title, _, _ = strings.Cut(title, " (")
	return holdsHalf(things(title), asked)
}

// speaksOf reports whether a text holds at least half of the words that were asked for.
func (t turn) speaksOf(s string) bool {
	asked := things(t.question)
	return len(asked) > 0 && holdsHalf(asked, things(s))
}
