package offline

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// A filling is the arguments for one tool, as far as the question gives them.
type filling struct {
	values   map[string]any
	from     []string // where each value came from, for people
	missing  []field  // required and not found
	evidence float64  // how well typed values fit required fields
	// particular counts required fields filled by a value of just their kind.
	particular float64
	used       []bool // of each mention
	claimed    []bool // of each byte of the question
	byValue    map[string]int
	loose      bool                // a query was made of words that only name the tool
	lists      map[string][]string // values beyond the first for a field, from a list of words
}

// filler fills the fields of one tool from one question.
type filler struct {
	q      *question
	fields []field
	known  map[string]bool // keys of the tool itself: words that name it
	*filling
}

// fill finds arguments for a tool. known holds the keys of the tool's own name.
func fill(q *question, fields []field, known map[string]bool) *filling {
	f := filler{q: q, fields: fields, known: known, filling: &filling{
		values: map[string]any{}, used: make([]bool, len(q.mentions)), claimed: make([]bool, len(q.text)),
		byValue: map[string]int{}, lists: map[string][]string{},
	}}
	f.ownerAndName()
	f.marked()
	f.typed()
	f.words()
	f.nested()
	f.defaults()
	for _, fd := range fields {
		if _, ok := f.values[fd.name]; fd.required && !ok {
			f.missing = append(f.missing, fd)
		}
	}
	return f.filling
}

// arguments returns the values as a JSON object with its keys in order.
func (f *filling) arguments() string {
	data, err := json.Marshal(f.values)
	if err != nil { // numbers are finite and strings are strings
		return "{}"
	}
	return string(data)
}

func (f *filler) set(fd field, value any, from string) {
	f.values[fd.name] = value
	shown, _ := json.Marshal(value)
	f.from = append(f.from, fmt.Sprintf("%s=%s from %s", fd.name, clip(string(shown), 60), from))
}

func (f *filler) has(fd field) bool {
	_, ok := f.values[fd.name]
	return ok
}

func (f *filler) claim(start, end int) {
	for i := start; i < end && i < len(f.claimed); i++ {
		f.claimed[i] = true
	}
	for i, m := range f.q.mentions {
		if m.start < end && start < m.end {
			f.used[i] = true
		}
	}
}

// least is how well a value must fit a required field, sure how well an optional
// one: nobody misses an optional value that was left out.
const (
	least = 0.4
	sure  = 0.75
)

// ownerAndName splits "acme/web" between two fields, where a tool wants both.
func (f *filler) ownerAndName() {
	find := func(names ...string) int {
		return slices.IndexFunc(f.fields, func(fd field) bool { return slices.Contains(names, fold(fd.name)) })
	}
	owner, repo := find("owner", "org", "organization", "namespace", "workspace"), find("repo", "repository", "project", "reponame", "repo_name")
	if owner < 0 || repo < 0 {
		return
	}
	for i, m := range f.q.mentions {
		if left, right, ok := strings.Cut(m.text, "/"); ok && m.kind == isRepo && !f.used[i] && !strings.Contains(right, "/") {
			f.set(f.fields[owner], left, "owner/name")
			f.set(f.fields[repo], right, "owner/name")
			f.claim(m.start, m.end)
			f.evidence += 1
			return
		}
	}
}

// typed gives typed values to the fields that they fit best.
func (f *filler) typed() {
	type pair struct {
		field, mention int
		fit            float64
	}
	var pairs []pair
	for i, fd := range f.fields {
		if f.has(fd) {
			continue
		}
		limit, bonus := sure, 0.0
		if fd.required {
			limit, bonus = least, 0.3
		}
		for j, m := range f.q.mentions {
			if f.used[j] {
				continue
			}
			if fit := f.fit(fd, m); fit >= limit {
				pairs = append(pairs, pair{i, j, fit + bonus})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		switch {
		case math.Abs(a.fit-b.fit) > 1e-9:
			return int(math.Copysign(1, b.fit-a.fit))
		case a.mention != b.mention:
			return a.mention - b.mention
		}
		return a.field - b.field
	})
	for _, p := range pairs {
		fd, m := f.fields[p.field], f.q.mentions[p.mention]
		if f.used[p.mention] || f.has(fd) && fd.role != wantsArray {
			continue
		}
		f.take(fd, p.mention, m)
		if fd.required && slices.Contains([]mentionKind{isPath, isUUID, isCurrency, isEmail, isURL}, m.kind) && fd.role != wantsText {
			f.particular += 0.5
		}
		if fd.required && m.kind != isProper {
			f.evidence += min(p.fit, 1)
		} else if fd.required {
			f.evidence += 0.5 * min(p.fit, 1)
		}
	}
}

func (f *filler) take(fd field, index int, m mention) {
	if fd.role == wantsArray {
		v, ok := f.value(*fd.item, m)
		if !ok {
			return
		}
		list, _ := f.values[fd.name].([]any)
		f.set(fd, append(list, v), string(m.kind))
	} else {
		v, ok := f.value(fd, m)
		if !ok {
			return
		}
		f.set(fd, v, string(m.kind))
		f.byValue[fd.name] = index
	}
	f.used[index] = true
	f.claim(m.start, m.end)
}

// value gives a mention in the type of the field, and false when it cannot be.
func (f *filler) value(fd field, m mention) (any, bool) {
	text := m.text
	switch fd.role {
	case wantsNumber:
		return numberFor(fd, m.text)
	case wantsMoment:
		text = f.moment(m)
	case wantsEnum, wantsBool, wantsArray, wantsObject:
		return nil, false
	}
	return text, fd.allows(text)
}

// allows reports whether a text is valid for a field, by its pattern and format.
func (fd field) allows(text string) bool {
	if fd.uuid && uuid.Validate(text) != nil {
		return false
	}
	return text != "" && (fd.pattern == nil || fd.pattern.MatchString(text))
}

func numberFor(fd field, text string) (any, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || math.Abs(n) > 1<<53 {
		return nil, false
	}
	if fd.minimum != nil && n < *fd.minimum || fd.maximum != nil && n > *fd.maximum {
		return nil, false
	}
	if fd.integer {
		return int64(n), n == math.Trunc(n)
	}
	return n, true
}

// moment joins a day with the time that the question gives beside it.
func (f *filler) moment(m mention) string {
	if strings.Contains(m.text, "T") {
		return m.text
	}
	if m.kind == isTime {
		for _, d := range f.q.mentions {
			if d.kind == isDate {
				return d.text + "T" + m.text + ":00Z"
			}
		}
		return ""
	}
	clock := "00:00"
	for _, t := range f.q.mentions {
		if t.kind == isTime {
			clock = t.text
			break
		}
	}
	return m.text + "T" + clock + ":00Z"
}

// defaults fills what is required and has a default or only one value.
func (f *filler) defaults() {
	for _, fd := range f.fields {
		if !fd.required || f.has(fd) {
			continue
		}
		if len(fd.enum) == 1 {
			f.set(fd, fd.enum[0], "the schema's only value")
		} else if len(fd.fallback) > 0 && string(fd.fallback) != "null" {
			f.set(fd, fd.fallback, "the schema's default")
		}
	}
}
