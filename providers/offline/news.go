package offline

import (
	"slices"
	"strings"

	"molar/schemas"
)

// near is the share of the first entry's score that another entry needs to be quoted instead.
const near = 0.6

// quoteNews quotes the result of a code-driven tool. A follow-up is searched with its subject, and
// often finds the entry that the last answer quoted. That entry is not quoted again as a whole,
// unless the question names it: only its sentences about the question are. Without such sentences,
// the first other entry about the question is quoted, if its score is near or the question names it.
func (t turn) quoteNews(r schemas.ToolResult) string {
	found := entriesOf(r.Output)
	asked := things(t.question)
	if len(found) == 0 || !t.quotedBefore(found[0]) || names(asked, found[0].title) {
		return quote(r, t.vietnamese)
	}
	again := slices.DeleteFunc(firstSentences(found[0].content, len(found[0].content)), func(s string) bool { return !t.speaksOf(s) })
	if len(again) > 0 {
		return strings.Join(again, " ")
	}
	news := slices.DeleteFunc(found, func(e entry) bool {
		return t.quotedBefore(e) || e.score < near*found[0].score && !names(asked, e.title)
	})
	for i, e := range news {
		if t.speaksOf(e.title + " " + e.content) {
			return bestEntry(append([]entry{e}, slices.Delete(news, i, i+1)...), t.vietnamese)
		}
	}
	return ""
}

// quotedBefore reports whether an earlier answer quoted an entry.
func (t turn) quotedBefore(e entry) bool {
	start := firstSentences(e.content, 1)
	return len(start) > 0 && slices.ContainsFunc(t.answers, func(answer string) bool {
		return strings.Contains(answer, e.title) && strings.Contains(answer, start[0])
	})
}

// things returns the keys of a text's words, without verbs.
func things(s string) []string { return slices.DeleteFunc(keysOf(s), isVerb) }

// holdsHalf reports whether at least half of the words are among the others.
func holdsHalf(words, others []string) bool {
	missing := slices.DeleteFunc(slices.Clone(words), func(key string) bool { return slices.Contains(others, key) })
	return len(words) >= 2*len(missing)
}

// names reports whether the question has at least half of the words of a title. The brackets at the
// end of a title hold the source of the text and are ignored.
func names(asked []string, title string) bool {
	title, _, _ = strings.Cut(title, " (")
	return holdsHalf(things(title), asked)
}

// speaksOf reports whether a text has at least half of the question's words.
func (t turn) speaksOf(s string) bool {
	asked := things(t.question)
	return len(asked) > 0 && holdsHalf(asked, things(s))
}
