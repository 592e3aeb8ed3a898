package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// A mentionKind says what a value in a question looks like.
type mentionKind string

const (
	isUUID     mentionKind = "uuid"
	isEmail    mentionKind = "email"
	isURL      mentionKind = "url"
	isPath     mentionKind = "path"
	isRepo     mentionKind = "owner/name"
	isDate     mentionKind = "date"
	isTime     mentionKind = "time"
	isCode     mentionKind = "identifier"
	isHash     mentionKind = "#number"
	isNumber   mentionKind = "number"
	isCurrency mentionKind = "currency"
	isQuote    mentionKind = "quoted text"
	isProper   mentionKind = "name"
)

// A mention is a typed value in a question.
type mention struct {
	kind       mentionKind
	text       string // as it goes into an argument
	number     float64
	start, end int  // bytes in the question
	weak       bool // it may be an ordinary word
}

// strong reports whether the value is so particular that a tool which has no
// place for it is hardly the one meant.
func (m mention) strong() bool {
	return slices.Contains([]mentionKind{isUUID, isEmail, isURL, isPath, isHash, isCode}, m.kind)
}

// A matcher finds mentions of one kind; value gives nil for a false alarm.
type matcher struct {
	re    *regexp.Regexp
	value func(groups []string, now time.Time) *mention
}

// matchers returns them with the more particular kinds first: a byte belongs to the
// first that takes it.
var matchers = sync.OnceValue(func() []matcher {
	text := func(kind mentionKind) func([]string, time.Time) *mention {
		return func(g []string, _ time.Time) *mention { return &mention{kind: kind, text: lastGroup(g)} }
	}
	list := []matcher{
		{regexp.MustCompile(`"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|„([^“”\n]+)[“”]|` + "`([^`\n]+)`"), text(isQuote)},
		{regexp.MustCompile(`(?:^|[\s(:,=])'([^'\n]+)'(?:$|[\s).,:;!?])`), text(isQuote)},
		{regexp.MustCompile(`(?i)\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`), text(isUUID)},
		{regexp.MustCompile(`([A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`), text(isEmail)},
		{regexp.MustCompile(`(?:^|\s)([^\s*]*\*[^\s,;?!]*)`), text(isQuote)}, // a file pattern, a formula
		{placeNames(), text(isProper)},
		{regexp.MustCompile(`\b((?:https?|ftp)://[^\s"'<>]*[^\s"'<>.,;:!?)])`), text(isURL)},
	}
	list = append(list, dateMatchers()...)
	return append(list,
		matcher{regexp.MustCompile(`(?:^|[\s(:=])((?:[A-Za-z]:\\|~/|\.{1,2}/|/)[^\s,;?!"']*[^\s,;?!"'.:)])`), text(isPath)},
		matcher{regexp.MustCompile(`\b((?:[\w.-]+/)+[\w-]+\.[A-Za-z][A-Za-z0-9]{0,4})\b`), text(isPath)},
		matcher{regexp.MustCompile(`\b([\w-]+(?:\.[\w-]+)*\.(?:txt|md|go|py|js|ts|json|ya?ml|csv|tsv|log|html?|css|xml|toml|ini|conf|cfg|sh|sql|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|zip|tar|gz|env|lock|mod|sum|rs|java|cpp|h|c|rb|php))\b`), text(isPath)},
		matcher{regexp.MustCompile(`\b([A-Za-z0-9][\w.-]*[A-Za-z0-9]/[A-Za-z0-9][\w.-]*[A-Za-z0-9])(?:$|[\s.,;:?!)])`), text(isRepo)},
		matcher{regexp.MustCompile(`#(\d+)\b`), numeric(isHash)},
		matcher{regexp.MustCompile(`\b([A-Za-z]{1,10}[-_]?(?:[A-Za-z0-9]{1,10}[-_])*\d[A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*)\b`), text(isCode)},
		matcher{regexp.MustCompile(`\b(\d+[A-Za-z]+\d[\w-]*|\d+(?:-\d+){2,}|\d{9,13}[Xx]?|[0-9a-f]*[a-f][0-9a-f]*\d[0-9a-f]{4,})\b`), text(isCode)},
		matcher{regexp.MustCompile(`\b([A-Za-z]{3})\b`), isoCurrency},
		matcher{regexp.MustCompile(`(?i)\d\s?(?:nghìn |ngàn |triệu |trieu |nghin )?(đô|do|yên)(?:$|[\s.,?!])`), currencyWord},
		matcher{regexp.MustCompile(`(-?\d[\d.,]*\d|-?\d)\s*(k\b|nghìn|nghin\b|ngàn|ngan\b|thousand\b|triệu|trieu\b|million\b|tỷ|billion\b)?`), quantity},
		matcher{regexp.MustCompile(`(?i)(\$|€|£|¥|₫)|(?:^|[^\pL])((?:us dollars?|dollars?|euros?|pounds? sterling|yen|đồng|đô la mỹ|do la my|đô la|do la|bảng anh|bang anh|baht|won|nhân dân tệ|nhan dan te|yuan|rupees?|francs?))(?:$|[^\pL])`), currencyWord},
		matcher{regexp.MustCompile(`(?:^|\s)(two|three|four|five|six|seven|eight|nine|ten|hai|ba|bốn|năm|sáu|bảy|tám|chín|mười)(?:$|[\s.,?!])`), wordNumber},
	)
})

// placeNames finds names that, typed without marks and capitals, are made of common
// syllables ("da nang" reads as two words of a sentence).
func placeNames() *regexp.Regexp {
	return regexp.MustCompile(`\b(ha noi|da nang|hai phong|can tho|sai gon|ho chi minh|nha trang|da lat|vung tau|quy nhon|ha long|hoi an|` +
		`bien hoa|thanh hoa|nam dinh|ninh binh|thai binh|bac ninh|phu quoc|tay ninh|dong nai|long an|tien giang|kien giang|an giang|` +
		`ca mau|soc trang|binh duong|lao cai|ha giang|thai nguyen|quang ninh|quang nam|viet nam)\b`)
}

func lastGroup(groups []string) string {
	for _, g := range slices.Backward(groups[1:]) {
		if g != "" {
			return g
		}
	}
	return ""
}

// findMentions returns the values in question, in order. Relative dates count from
// now. Names (isProper) come from the tokens that are left.
func findMentions(question string, now time.Time) []mention {
	var found []mention
	taken := make([]bool, len(question))
	for _, m := range matchers() {
		for _, loc := range m.re.FindAllStringSubmatchIndex(question, -1) {
			groups, start, end := submatches(question, loc)
			if slices.Contains(taken[start:end], true) {
				continue
			}
			v := m.value(groups, now)
			if v == nil || v.text == "" {
				continue
			}
			v.start, v.end = start, end
			if v.kind == isQuote && !strings.HasSuffix(question[loc[0]:loc[1]], v.text) {
				v.start, v.end = loc[0], loc[1] // with its quotes
			}
			for i := v.start; i < v.end; i++ {
				taken[i] = true
			}
			found = append(found, *v)
		}
	}
	found = append(found, findNames(question, taken)...)
	slices.SortStableFunc(found, func(a, b mention) int { return a.start - b.start })
	return found
}

// submatches returns the groups of a match and the span of what they cover.
func submatches(s string, loc []int) (groups []string, start, end int) {
	start, end = -1, loc[1]
	for i := 0; i < len(loc); i += 2 {
		if loc[i] < 0 {
			groups = append(groups, "")
			continue
		}
		groups = append(groups, s[loc[i]:loc[i+1]])
		if i > 0 {
			if start < 0 {
				start, end = loc[i], loc[i+1]
			}
			start, end = min(start, loc[i]), max(end, loc[i+1])
		}
	}
	if start < 0 {
		start = loc[0]
	}
	return groups, start, end
}

func numeric(kind mentionKind) func([]string, time.Time) *mention {
	return func(g []string, _ time.Time) *mention {
		f, err := strconv.ParseFloat(g[1], 64)
		if err != nil {
			return nil
		}
		return &mention{kind: kind, text: g[1], number: f}
	}
}

// quantity reads "1,200.50", "1.200,50", "50k" and "2 triệu".
func quantity(g []string, _ time.Time) *mention {
	f, err := strconv.ParseFloat(plainNumber(g[1]), 64)
	if err != nil {
		return nil
	}
	scale := map[string]float64{
		"k": 1e3, "nghin": 1e3, "ngan": 1e3, "thousand": 1e3,
		"trieu": 1e6, "million": 1e6, "ty": 1e9, "billion": 1e9,
	}
	if s, ok := scale[fold(g[2])]; ok {
		f *= s
	}
	return &mention{kind: isNumber, text: strconv.FormatFloat(f, 'f', -1, 64), number: f}
}

// plainNumber takes out the separators of thousands: a separator followed by
// exactly three digits, or that occurs again, separates thousands.
func plainNumber(s string) string {
	point := strings.LastIndexAny(s, ".,")
	if point < 0 {
		return s
	}
	whole, tail := s[:point], s[point+1:]
	thousands := len(tail) == 3 && !strings.HasPrefix(strings.TrimPrefix(whole, "-"), "0")
	if strings.ContainsAny(whole, ".,") && whole[strings.LastIndexAny(whole, ".,")] != s[point] {
		thousands = false
	}
	strip := strings.NewReplacer(".", "", ",", "").Replace
	if thousands {
		return strip(s)
	}
	return strip(whole) + "." + tail
}

func wordNumber(g []string, _ time.Time) *mention {
	n := map[string]float64{
		"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
		"hai": 2, "ba": 3, "bon": 4, "nam": 5, "sau": 6, "bay": 7, "tam": 8, "chin": 9, "muoi": 10,
	}[fold(g[1])]
	return &mention{kind: isNumber, text: strconv.FormatFloat(n, 'f', -1, 64), number: n, weak: true}
}

const isoCurrencies = ` USD EUR VND JPY GBP CNY KRW THB AUD CAD CHF SGD HKD INR IDR MYR PHP TWD NZD SEK NOK DKK PLN
 CZK HUF RUB BRL MXN ZAR TRY AED SAR ILS LAK KHR MMK RON BGN UAH EGP CLP COP PEN ARS `

func isoCurrency(g []string, _ time.Time) *mention {
	code := strings.ToUpper(g[1])
	// TRY and PHP are words in lower case.
	if !strings.Contains(isoCurrencies, " "+code+" ") || (code == "TRY" || code == "PHP") && g[1] != code {
		return nil
	}
	return &mention{kind: isCurrency, text: code}
}

func currencyWord(g []string, _ time.Time) *mention {
	w := fold(lastGroup(g))
	for _, c := range []struct{ prefix, code string }{
		{"$", "USD"},
		{"us dollar", "USD"},
		{"dollar", "USD"},
		{"do", "USD"},
		{"€", "EUR"},
		{"euro", "EUR"},
		{"£", "GBP"},
		{"pound", "GBP"},
		{"bang anh", "GBP"},
		{"¥", "JPY"},
		{"yen", "JPY"},
		{"₫", "VND"},
		{"baht", "THB"},
		{"won", "KRW"},
		{"nhan dan te", "CNY"},
		{"yuan", "CNY"},
		{"rupee", "INR"},
		{"franc", "CHF"},
	} {
		if w == "dong" {
			return &mention{kind: isCurrency, text: "VND"}
		}
		if strings.HasPrefix(w, c.prefix) {
			return &mention{kind: isCurrency, text: c.code}
		}
	}
	return nil
}

// findNames returns the runs of capitalised words outside taken. A word that opens a
// sentence counts only within a longer run, and never when it is a known word.
func findNames(question string, taken []bool) []mention {
	tokens := tokenize(question)
	free := func(t token) bool { return !slices.Contains(taken[t.start:t.end], true) }
	capital := func(i int) bool {
		r := []rune(tokens[i].raw)
		return free(tokens[i]) && unicode.IsUpper(r[0]) && tokens[i].raw != "I"
	}
	opens := func(i int) bool {
		return i == 0 || strings.ContainsAny(question[tokens[i-1].end:tokens[i].start], ".?!\n")
	}
	var out []mention
	for i := 0; i < len(tokens); i++ {
		if !capital(i) || opens(i) && isKnownWord(tokens, i) {
			continue
		}
		last := i
		for j := i + 1; j < len(tokens) && !tokens[j].breaks && free(tokens[j]); j++ {
			if capital(j) {
				last = j
				continue
			}
			if !slices.Contains([]string{"of", "the", "de", "la", "von", "van", "du", "s"}, tokens[j].bare) || j > last+2 {
				break
			}
		}
		m := mention{kind: isProper, start: tokens[i].start, end: tokens[last].end}
		m.text = question[m.start:m.end]
		m.weak = opens(i) && last == i
		out = append(out, m)
		i = last
	}
	return out
}

func isKnownWord(tokens []token, i int) bool {
	l := words()
	t := tokens[i]
	if l.stopEnglish[t.bare] || l.stopMarked[t.marked] || len(l.english[t.bare]) > 0 || len(l.stems[t.stem]) > 0 || len(l.marked[t.marked]) > 0 {
		return true
	}
	if i+1 < len(tokens) {
		pair := t.marked + " " + tokens[i+1].marked
		if len(l.marked[pair]) > 0 {
			return true
		}
		return t.marked == t.bare && len(l.bare[t.bare]) > 0 && len(tokens[i+1].raw) > 0 &&
			!unicode.IsUpper([]rune(tokens[i+1].raw)[0])
	}
	return false
}
