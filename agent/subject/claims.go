package subject

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"molar/internal/text"
)

// The kinds of statements that an answer may only take from a source.
const (
	// Doses are numbers with a unit of [Sourced.Doses].
	Doses = "doses"
	// Numbers are numbers with a unit of [Sourced.Units], and those as long as a telephone number.
	Numbers = "numbers"
	// Addresses are those of pages, hosts and mail.
	Addresses = "addresses"
	// LogIns are phrases that ask for what a person logs in with.
	LogIns = "log-ins"
)

// Sourced says which statements of an answer must stand in a source.
type Sourced struct {
	Kinds []string
	// Doses and Units hold a unit each, with its other names; the first one stands for all.
	Doses, Units [][]string
	// Count holds the words of numbers, behind the number.
	Count [][]string
	// LogIns are the phrases that ask for a log-in.
	LogIns []string
}

// claims finds what must stand in a source.
type claims struct {
	addresses, numbers bool
	units              map[string][]unit  // by their first token
	count              map[string]float64 // the numbers by their words
	logIns             *text.Phrases      // nil if they may stand in an answer
}

// A unit is a name of a unit, in tokens.
type unit struct {
	tokens []string
	name   string
}

func newClaims(s Sourced) *claims {
	if len(s.Kinds) == 0 {
		return nil
	}
	has := func(kind string) bool { return slices.Contains(s.Kinds, kind) }
	c := &claims{addresses: has(Addresses), numbers: has(Numbers), units: make(map[string][]unit), count: make(map[string]float64)}
	var units [][]string
	if has(Doses) {
		units = append(units, s.Doses...)
	}
	if has(Numbers) {
		units = append(units, s.Units...)
	}
	for _, names := range units {
		for _, name := range names {
			if tokens := tokensOf(name); len(tokens) > 0 {
				u := unit{name: names[0]}
				for _, t := range tokens {
					u.tokens = append(u.tokens, t.text)
				}
				c.units[u.tokens[0]] = append(c.units[u.tokens[0]], u)
			}
		}
	}
	for _, words := range s.Count {
		value, _ := strconv.ParseFloat(words[0], 64) // the pack was checked
		for _, word := range words[1:] {
			c.count[strings.ToLower(word)] = value
		}
	}
	if has(LogIns) {
		c.logIns = text.NewStrictPhrases(s.LogIns)
	}
	return c
}

// Claims returns what a text states that an answer may only take from a source, each in one form however it
// is written. It returns nil if the topic asks for no sources.
func (g *Guard) Claims(s string) []string {
	if g.claims == nil {
		return nil
	}
	clean, _, _ := normalise(s)
	return g.claims.in(clean)
}

// Claimable returns the length of the beginning of a sentence that holds no part of a claim.
func (g *Guard) Claimable(sentence string) int {
	if g.claims == nil {
		return len(sentence)
	}
	return g.claims.begin(sentence)
}

// Sourced reports whether answers take some statements only from sources.
func (g *Guard) Sourced() bool { return g.claims != nil }

func (c *claims) in(s string) []string {
	var all []string
	if c.addresses {
		for _, a := range addressesIn(s) {
			if all = append(all, "host "+a.host); a.name != a.host {
				all = append(all, "address "+a.name)
			}
		}
		s = address.ReplaceAllString(s, " ")
	}
	tokens := tokensOf(s)
	for i := 0; i < len(tokens); {
		value, scale, next := c.number(tokens, i)
		if next == i {
			i++
			continue
		}
		name, behind := c.unitOf(tokens, i, next)
		if scale == 1 && value < behind { // 3 to 7 million
			value, scale = value*behind, behind
		}
		written := strconv.FormatFloat(value, 'f', -1, 64)
		switch {
		case value >= largeNumber && (scale > 1 || name != ""): // people leave out the currency
			all = append(all, written)
		case name != "":
			all = append(all, written+" "+name)
		}
		i = next
	}
	if c.numbers {
		for _, n := range longNumber.FindAllString(s, -1) {
			all = append(all, digits(n))
		}
	}
	if c.logIns != nil {
		words := text.Words(s)
		for i := range words {
			if n := c.logIns.At(words, i); n > 0 {
				var phrase []string
				for _, w := range words[i : i+n] {
					phrase = append(phrase, w.Folded)
				}
				all = append(all, "log-in "+strings.Join(phrase, " "))
			}
		}
	}
	return all
}

// ahead is how many tokens behind a number may still show what it counts.
const ahead = 3

// begin returns where the first part of a claim may begin.
func (c *claims) begin(s string) int {
	if c.logIns != nil && c.logIns.In(text.Words(s)) {
		return 0
	}
	first := len(s)
	tokens := tokensOf(s)
	for i := 0; i < len(tokens) && first == len(s); i++ {
		_, scale, next := c.number(tokens, i)
		open := next+ahead > len(tokens)
		unit, behind := "", 0.0
		if next > i {
			unit, behind = c.unitOf(tokens, i, next)
		}
		switch {
		case next == i: // a sign of a currency
			if !isWord(tokens[i].text) && c.unitAt(tokens, i) != "" && i+1 == len(tokens) {
				first = tokens[i].at
			}
		case open, scale > 1, behind > 1, unit != "":
			if first = tokens[i].at; i > 0 && c.unitAt(tokens, i-1) != "" {
				first = tokens[i-1].at
			}
		}
	}
	if at := longNumber.FindStringIndex(s); at != nil && c.numbers {
		first = min(first, at[0])
	}
	if c.addresses {
		for _, a := range addressesIn(s) {
			first = min(first, a.at)
		}
		for _, sign := range []string{"@", "://"} {
			if at := strings.Index(s, sign); at >= 0 {
				first = min(first, at)
			}
		}
	}
	return first
}

// largeNumber is from where on a number needs no unit to be one that a source must say.
const largeNumber = 10_000

// number reads the number at tokens[i], and returns the index behind it, i if there is none. scale is what the
// words behind multiply it by: five million.
func (c *claims) number(tokens []token, i int) (value, scale float64, next int) {
	switch t := tokens[i]; {
	case t.isNumber():
		value, _ = strconv.ParseFloat(plainNumber(t.text), 64) // else it is no number but a date or a version
	case c.count[t.text] != 0:
		value = c.count[t.text]
	default:
		return 0, 0, i
	}
	scale = 1
	for next = i + 1; next < len(tokens) && c.count[tokens[next].text] != 0; next++ {
		if more := c.count[tokens[next].text]; more > value {
			value, scale = value*more, scale*more
		} else {
			value += more
		}
	}
	return value, scale, next
}

func isWord(token string) bool { return unicode.IsLetter([]rune(token)[0]) }

// unitOf returns the unit of the number tokens[start:end]: before it, or behind it, perhaps after a word or
// another number, whose scale it also returns; "" if it has none.
func (c *claims) unitOf(tokens []token, start, end int) (name string, scale float64) {
	if start > 0 && !isWord(tokens[start-1].text) {
		name = c.unitAt(tokens, start-1)
	}
	for gap := 0; gap <= 2 && name == ""; gap++ { // at most a hyphen and a word
		at := end + gap
		if at >= len(tokens) || gap > 0 && tokens[at-1].ends || gap == 2 && tokens[end].text != "-" {
			break
		}
		_, more, next := c.number(tokens, at)
		switch {
		case next == at:
			name = c.unitAt(tokens, at)
		case gap == 0: // another number has begun
			return "", 0
		default: // 15 to 20 minutes
			name, scale = c.unitOf(tokens, at, next)
			return name, max(scale, more)
		}
	}
	return name, scale
}

func (c *claims) unitAt(tokens []token, i int) string {
	best := unit{}
	for _, u := range c.units[tokens[i].text] {
		if len(u.tokens) > len(best.tokens) && i+len(u.tokens) <= len(tokens) && slices.EqualFunc(u.tokens, tokens[i:i+len(u.tokens)], func(s string, t token) bool { return s == t.text }) {
			best = u
		}
	}
	return best.name
}

// A token is a number, a word or a sign of a text.
type token struct {
	text string // in lower case
	at   int
	ends bool // a clause ends behind it
}

func (t token) isNumber() bool { return t.text[0] >= '0' && t.text[0] <= '9' }

var tokenForm = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*|[\p{L}\p{Mn}]+|[^\s\p{L}\p{Mn}0-9]`)

// tokensOf splits a text into tokens. Signs of punctuation are none, but for the hyphen.
func tokensOf(s string) []token {
	var all []token
	for _, at := range tokenForm.FindAllStringIndex(s, -1) {
		t := strings.ToLower(s[at[0]:at[1]])
		switch t {
		case "–", "—", "-":
			t = "-"
		case ".", ",", ";", ":", "!", "?", "(", ")", "\n":
			if len(all) > 0 {
				all[len(all)-1].ends = true
			}
			continue
		case "*", "_", "`", `"`, "'", "~":
			continue
		}
		all = append(all, token{text: t, at: at[0]})
	}
	return all
}

var (
	longNumber = regexp.MustCompile(`[0-9](?:[ .()\-]{0,2}[0-9]){6,}`)
	// address matches addresses with a scheme, and hosts and mail addresses without.
	address = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.\-]*://[^\s<>"')\]]+|(?:[\p{L}\p{N}._%+\-]+@)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}\-]*[\p{L}\p{N}])?\.)+\p{L}{2,}(?::[0-9]+)?(?:/[^\s<>"')\]]*)?)`)
)

// plainNumber returns a number without signs between its thousands, and with a decimal point.
func plainNumber(s string) string {
	at := strings.LastIndexAny(s, ".,")
	if at < 0 || len(s)-at == len(".000") && s[0] != '0' {
		return digits(s)
	}
	return digits(s[:at]) + "." + s[at+1:]
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// An addressed is an address at a place of a text, without what may be written differently.
type addressed struct {
	at         int
	name, host string
}

// addressesIn returns the addresses in a text. A sentence without a space behind it is none, and neither is a
// letter with a word ("e.max").
func addressesIn(s string) []addressed {
	var all []addressed
	for _, at := range address.FindAllStringIndex(s, -1) {
		found := s[at[0]:at[1]]
		_, rest, hasScheme := strings.Cut(found, "://")
		if !hasScheme {
			rest = found
		}
		rest = strings.TrimRight(rest, ".,;:!?*_/")
		host, path, _ := strings.Cut(rest, "/")
		if !hasScheme && path == "" && !strings.Contains(host, "@") {
			dot := strings.LastIndexByte(host, '.')
			first, last := host[:max(dot, 0)], host[dot+1:]
			if len(first) == 1 || last != strings.ToLower(last) && last != strings.ToUpper(last) {
				continue
			}
		}
		host = strings.TrimPrefix(strings.ToLower(host), "www.")
		name := host
		if path != "" {
			name += "/" + path
		}
		all = append(all, addressed{at[0], name, host})
	}
	return all
}
