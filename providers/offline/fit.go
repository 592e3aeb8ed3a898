package offline

import (
	"slices"
	"strings"
)

// fit says how well a mention suits a field, from 0 to about 1.8.
func (f *filler) fit(fd field, m mention) float64 {
	if fd.role == wantsArray {
		if fd.item == nil || fd.item.role == wantsArray || fd.item.role == wantsObject {
			return 0
		}
		item := *fd.item
		item.keys, item.required = fd.keys, fd.required
		return f.fit(item, m)
	}
	if _, ok := f.value(fd, m); !ok {
		return 0
	}
	base := suits(fd, m)
	if base == 0 || f.namesField(m) {
		return 0
	}
	from, to := f.q.tokenAt(m.start), f.q.tokenAt(m.end)
	near := f.q.named(fd, from, to)
	if m.weak && near == 0 {
		base -= 0.45
	}
	return base + near + f.q.governed(fd, from)
}

// namesField reports whether a capitalised word is the name of an argument: "ISBN".
func (f *filler) namesField(m mention) bool {
	if m.kind != isProper || strings.Contains(m.text, " ") {
		return false
	}
	word := []string{stem(fold(m.text))}
	return f.known[word[0]] || slices.ContainsFunc(f.fields, func(fd field) bool { return shares(word, fd.keys) })
}

// suits is the fit of a value to a field without its surroundings.
func suits(fd field, m mention) float64 {
	base := kindFits(fd.role, m.kind)
	capitals := m.kind == isProper && m.text == strings.ToUpper(m.text) && len(m.text) <= 6
	switch {
	case base == 0 && capitals && fd.role == wantsID:
		return 0.6
	case m.kind == isPath && direction(fd.name) != prepNone && (fd.role == wantsText || fd.role == wantsPlace):
		return 0.5 // what is moved or copied
	case fd.role == wantsNumber && !fd.required && m.kind == isNumber:
		return 0.35 // a limit, say: only when its name stands beside
	case m.kind == isRepo && slices.Contains(fd.keys, "~repository"):
		return 1
	case fd.pattern != nil && base > 0, m.kind == isCode && fd.mentionsPrefix(m.text):
		return base + 0.3
	}
	return base
}

// kindFits says how well a kind of value suits a role, from 0 to 1.
func kindFits(r role, kind mentionKind) float64 {
	type pair struct {
		role
		mentionKind
	}
	switch (pair{r, kind}) {
	case pair{wantsID, isUUID}, pair{wantsEmail, isEmail}, pair{wantsURL, isURL}, pair{wantsPath, isPath}, pair{wantsCurrency, isCurrency}:
		return 1
	case pair{wantsDate, isDate}, pair{wantsMoment, isDate}, pair{wantsTime, isTime}, pair{wantsQuery, isQuote}:
		return 0.9
	case pair{wantsID, isCode}, pair{wantsID, isHash}, pair{wantsNumber, isHash}, pair{wantsName, isQuote}:
		return 0.8
	case pair{wantsBody, isQuote}:
		return 0.75
	case pair{wantsNumber, isNumber}, pair{wantsPath, isQuote}, pair{wantsText, isQuote}:
		return 0.6
	case pair{wantsID, isNumber}, pair{wantsNumber, isCode}, pair{wantsPath, isRepo}, pair{wantsPlace, isProper}, pair{wantsPlace, isQuote},
		pair{wantsName, isProper}:
		return 0.5
	case pair{wantsText, isProper}, pair{wantsText, isCode}:
		return 0.45
	case pair{wantsID, isQuote}, pair{wantsText, isRepo}:
		return 0.4
	case pair{wantsID, isRepo}, pair{wantsMoment, isTime}, pair{wantsName, isEmail}, pair{wantsText, isUUID}:
		return 0.3
	case pair{wantsText, isURL}, pair{wantsText, isEmail}:
		return 0.25
	case pair{wantsQuery, isCode}, pair{wantsName, isRepo}, pair{wantsText, isCurrency}, pair{wantsText, isPath}:
		return 0.2
	case pair{wantsID, isEmail}, pair{wantsPath, isProper}, pair{wantsPlace, isCode}, pair{wantsName, isPath}:
		return 0.1
	}
	return 0
}

// mentionsPrefix reports whether the letters before an identifier's digits are told in
// the field's description or begin its name: ORD-17 for "order_id" or "such as ORD-1".
func (fd field) mentionsPrefix(code string) bool {
	prefix, _, _ := strings.Cut(strings.ToLower(strings.TrimRight(code, "0123456789")), "-")
	prefix = strings.TrimRight(prefix, "_0123456789")
	if prefix == "" {
		return false
	}
	return strings.HasPrefix(strings.ToLower(fd.name), prefix) || len(prefix) > 1 && strings.Contains(strings.ToLower(fd.description), prefix+"-")
}

// governed is what the preposition before a value says about a field.
func (q *question) governed(fd field, from int) float64 {
	p, way := q.before(from), direction(fd.name)
	switch {
	case p == prepFrom && way == prepFrom, p == prepTo && way == prepTo:
		return 0.35
	case p == prepFrom && way == prepTo, p == prepTo && way == prepFrom:
		return -0.5
	case p == prepNone && way == prepTo:
		return -0.1
	case p == prepNone && way == prepFrom:
		return 0.05
	case p == prepIn && (fd.role == wantsPlace || fd.role == wantsPath):
		return 0.3
	case p == prepIn && fd.role == wantsName:
		return -0.3
	case p == prepBy && fd.role == wantsName, p == prepWith && fd.role == wantsName:
		return 0.25
	case p == prepFor && (fd.role == wantsName || fd.role == wantsPlace || fd.role == wantsID):
		return 0.15
	}
	return 0
}

// direction tells the fields that a thing comes from and goes to.
func direction(name string) preposition {
	for w := range strings.FieldsSeq(fold(splitName(name))) {
		switch w {
		case "from", "source", "src", "origin", "start", "departure", "since", "old", "base", "begin", "checkin":
			return prepFrom
		case "to", "target", "destination", "dest", "dst", "end", "until", "arrival", "new", "recipient", "checkout":
			return prepTo
		}
	}
	return prepNone
}
