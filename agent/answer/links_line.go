package answer

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/markdown"
)

// private reports whether only known addresses are live now.
func (l *Links) private() bool { return l.cfg.Private == nil || l.cfg.Private() }

// live reports whether an address may be a link.
func (l *Links) live(address string) bool {
	known := func(address string) bool { return l.cfg.Known != nil && l.cfg.Known(address) }
	return !l.private() || strings.HasPrefix(address, "#") || known(address) || known(strings.TrimPrefix(address, "mailto:"))
}

// passing returns how far a line can be shown from a place before its end is known. Up to there it
// holds nothing that can become part of an address, an image, a tag or a definition.
func (l *Links) passing(line string, at int) int {
	private := l.private()
	for i := at; i < len(line); {
		rest := line[i:]
		n := 1
		switch c := line[i]; {
		case c == '`':
			n = l.plainCode(line, i)
		case c == '<':
			n = plainTag(rest, private)
		case c == '!' && next(rest, "["), c == ']' && next(rest, ":"), c == ']' && private && next(rest, "("):
			n = 0
		case c == '[' && private:
			n = l.plainLabel(rest)
		case c == '[' && (i == 0 && l.last == '!' || couldBegin(rest, "[![")), c == '~' && strings.Trim(line[:i], " \t") == "" && couldBegin(rest, "~~~"):
			n = 0
		case l.defined && strings.ContainsRune(`"'(`, rune(c)) && strings.Trim(line[:i], " \t") == "":
			n = 0
		case private && signAt(line, i, true):
			n = 0
		}
		if n == 0 {
			return i
		}
		i += n
	}
	return len(line)
}

// next reports whether one of some characters follows the first one, or nothing yet.
func next(rest, chars string) bool { return len(rest) == 1 || strings.IndexByte(chars, rest[1]) >= 0 }

// couldBegin reports whether a text begins with a word, or may once it goes on.
func couldBegin(text, word string) bool {
	n := min(len(text), len(word))
	return strings.EqualFold(text[:n], word[:n])
}

// plainCode returns the length of a code span that every client reads alike, whatever surrounds it, and
// that holds no address; 0 if it is none.
func (l *Links) plainCode(line string, at int) int {
	marks := runOf(line[at:])
	inside, _, closed := strings.Cut(line[at+marks:], "`")
	end := at + marks + len(inside)
	if !closed || marks > 2 || end+marks >= len(line) || runOf(line[end:]) != marks || at > 0 && line[at-1] == '\\' ||
		strings.ContainsAny(inside, `$\|`) || l.passing(inside+" ", 0) < len(inside) {
		return 0
	}
	return end + marks - at
}

// runOf returns the length of the backticks with which a text begins.
func runOf(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// plainLabel returns the length of a text in brackets that is no link; 0 if it may be one.
func (l *Links) plainLabel(rest string) int {
	label, after, closed := strings.Cut(rest[1:], "]")
	if !closed || after == "" || strings.ContainsAny(after[:1], "([:") || strings.ContainsAny(label, "[`<!\\$") || l.passing(label+" ", 0) < len(label) {
		return 0
	}
	return len(label) + 2
}

// plainTag returns the length of a tag, or of a mark that begins none, that loads nothing: 0 if it may.
// Only an address can name another host, and only the tags in which Markdown ends could hide
// more.
func plainTag(rest string, private bool) int {
	if len(rest) == 1 {
		return 0
	}
	if c := rest[1] | 0x20; (c < 'a' || c > 'z') && !strings.ContainsRune("/!?", rune(rest[1])) {
		return 1
	}
	inside, _, closed := strings.Cut(rest[1:], ">")
	name := strings.TrimPrefix(inside, "/")
	attributes := strings.TrimLeftFunc(name, func(r rune) bool { return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) })
	name = name[:len(name)-len(attributes)]
	switch strings.ToLower(name) {
	case "", "pre", "script", "style", "textarea":
		return 0
	}
	if !closed || strings.ContainsAny(attributes, "<`'\\$&:|") || strings.Contains(attributes, "//") || strings.Count(attributes, `"`)%2 != 0 ||
		private && strings.Trim(attributes, " /") != "" {
		return 0
	}
	return len(inside) + 2
}

// bareSigns begin the addresses that clients make links of.
var bareSigns = [...]string{"http:", "https:", "ftp:", "www.", "mailto:", "//"}

// bareSign reports whether an address begins at a place that clients find in plain text. With open, the
// line may go on.
func bareSign(line string, at int, open bool) bool {
	rest := line[at:]
	if at > 0 && isWord(line[at-1]) && rest[0] != '/' {
		return false
	}
	for _, sign := range bareSigns {
		if couldBegin(rest, sign) && (open || len(rest) > len(sign)) {
			return true
		}
	}
	return false
}

// signAt reports whether at a place such an address begins, the second part of a name with a dot, or
// what follows an @.
func signAt(line string, at int, open bool) bool {
	if bareSign(line, at, open) {
		return true
	}
	if at < 2 || line[at-1] != '.' && line[at-1] != '@' || !isWord(line[at-2]) {
		return false
	}
	if line[at-1] == '@' {
		return isWord(line[at])
	}
	rest := line[at:]
	first, n := utf8.DecodeRuneInString(rest)
	second, _ := utf8.DecodeRuneInString(rest[n:])
	return unicode.IsLetter(first) && (unicode.IsLetter(second) || second == '-' || open && n == len(rest))
}

// isWord reports whether a byte may belong to a name.
func isWord(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// rewritten returns a whole line from a place on, so that only what may be live is.
func (l *Links) rewritten(line string, from int) string {
	w := lineWriter{Links: l, line: line, at: from, isPrivate: l.private()}
	body := strings.TrimLeft(line, " \t")
	if l.isDefinition(body) {
		l.defined = true
		return line[from:]
	}
	if l.defined && from == len(line)-len(body) && strings.ContainsRune(`"'(`, rune(body[0])) {
		w.put(`\`) // not the definition's title
	}
	if l.passing(line+" ", from) >= len(line) { // there is nothing to change
		return w.out.String() + line[from:]
	}
	if l.inlines == nil {
		l.inlines = markdown.NewInlines()
	}
	for _, in := range l.inlines.Of(body) {
		start, end := in.Start+len(line)-len(body), in.End+len(line)-len(body)
		if start < w.at || end > len(line) {
			continue
		}
		if kept := l.kept(in, line[start:end]); kept != "" {
			w.rest(start)
			w.put(kept)
			w.at = end
		}
	}
	w.rest(len(line))
	return w.out.String()
}

// isDefinition reports whether a line is a link definition that every client reads alike, and whose
// address may be live.
func (l *Links) isDefinition(line string) bool {
	label, rest, found := strings.Cut(line, "]:")
	f := strings.Fields(rest)
	if !found || len(f) == 0 || !strings.HasPrefix(label, "[") || strings.HasPrefix(label, "[^") || strings.ContainsAny(label[1:], "[]<>`\\|!$&") || !isPlain(f[0]) {
		return false
	}
	title := strings.Join(f[1:], " ")
	inside := strings.TrimSuffix(strings.TrimPrefix(title, `"`), `"`)
	return (title == "" || len(title) == len(inside)+2 && !strings.ContainsAny(inside, "\"\\<`")) && l.live(f[0])
}

// isPlain reports whether an address is read alike wherever it stands.
func isPlain(address string) bool {
	return address != "" && strings.IndexFunc(address, func(r rune) bool { return !isPlainRune(r) }) < 0 &&
		(!strings.Contains(address, "&") || !strings.Contains(address, ";"))
}

func isPlainRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-._~:/?#@+,;=%&", r)
}

// kept returns what stays of an element: its source if every client reads that alike, else the same in
// a form that they do. It is empty for what is shown as text.
func (l *Links) kept(in markdown.Inline, source string) string {
	if in.Kind == markdown.CodeSpan {
		marks := runOf(source)
		if inside := strings.Trim(source, "`"); l.murky || marks > 2 || strings.ContainsAny(inside, "`|") {
			return ""
		}
		return source
	}
	image := in.Kind == markdown.Image
	if !l.live(in.Address) || image && strings.HasPrefix(strings.ToLower(strings.TrimSpace(in.Address)), "data:") {
		return ""
	}
	plain := isPlain(in.Address)
	if in.Kind == markdown.Autolink {
		if plain && source == "<"+in.Address+">" {
			return source
		}
		return ""
	}
	label := strings.TrimPrefix(source, "!")
	label, _, _ = strings.Cut(strings.TrimPrefix(label, "["), "]")
	link := "[" + label + "](" + in.Address + ")"
	if plain && !strings.ContainsAny(label, "[]<>`|\\!&$\n") && strings.TrimSpace(label) != "" {
		switch {
		case source == link, image && source == "!"+link && isOwn(in.Address):
			return source
		case image && source == "!"+link:
			return link
		}
	}
	return "[" + labelText(in) + "](<" + plainAddress(in.Address) + ">)"
}

// isOwn reports whether a client finds an address at its own host.
func isOwn(address string) bool {
	first, _, _ := strings.Cut(address, "/")
	return isPlain(address) && !strings.Contains(first, ":") && !strings.HasPrefix(address, "//")
}

// labelText returns the text of an element as a label, its address if it has none.
func labelText(in markdown.Inline) string {
	text := cmp.Or(strings.Join(strings.Fields(in.Label), " "), in.Address)
	return strings.NewReplacer(`\`, `\\`, "`", "&#96;", "<", "&lt;", "&", "&amp;", "[", "&#91;", "]", "&#93;", "!", `\!`,
		"*", `\*`, "_", `\_`, "~", `\~`, "|", "&#124;", "$", "&#36;").Replace(text)
}

// plainAddress writes an address so that it can stand between angle brackets.
func plainAddress(address string) string {
	var b strings.Builder
	for _, r := range address {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case isPlainRune(r), strings.ContainsRune("()'*!", r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	return b.String()
}

// A lineWriter writes what is shown of a line.
type lineWriter struct {
	*Links
	line      string
	at        int // in the line
	isPrivate bool
	out       strings.Builder
}

// put writes an element, apart from a mark before it that would change it.
func (w *lineWriter) put(text string) {
	last := w.last
	if s := w.out.String(); s != "" {
		last = s[len(s)-1]
	} else if w.at > 0 {
		last = w.line[w.at-1]
	}
	if last == '\\' || text[0] == '`' && last == '`' || text[0] == '[' && last == '!' {
		w.out.WriteByte(' ')
	}
	w.out.WriteString(text)
}

// rest writes the line up to a place as text.
func (w *lineWriter) rest(end int) {
	for w.at < end {
		rest := w.line[w.at:end]
		n, text := 1, rest[:1]
		switch c := rest[0]; {
		case c == '`':
			n = runOf(rest)
			if text = strings.Repeat("&#96;", n); n >= 3 && fenceOf(withoutContainers(strings.Trim(w.line, " \t"))) != "" {
				text = rest[:n]
			}
		case c == '<':
			if n = plainTag(rest+" ", w.isPrivate); n == 0 {
				n, text = 1, "&lt;"
			} else {
				text = rest[:n]
			}
		case c == '!' && len(rest) > 1 && rest[1] == '[', c == ']' && len(rest) > 1 && rest[1] == '(' && w.isPrivate,
			c == ']' && len(rest) > 1 && rest[1] == ':' && definable(rest[2:]):
			text += " "
		case w.isPrivate && strings.IndexFunc(rest, isNameRune) == 0:
			w.address(end)
			continue
		}
		w.out.WriteString(text)
		w.at += n
	}
}

// definable reports whether a client could read a definition in what follows its colon.
func definable(after string) bool {
	f := strings.Fields(after)
	return len(f) < 2 || strings.ContainsRune(`"'(`, rune(f[1][0]))
}

// Marks that may follow an address without being part of it: those that every client leaves out of its
// link, and more.
const (
	trailing = ".,:;!?)*_~"
	around   = trailing + "'\"]}”’»。，、；！？）"
)

// address writes the name that begins here: as it is, or if it is an address that may not be live, as
// code.
func (w *lineWriter) address(end int) {
	whole := w.line[w.at:end]
	if n := strings.IndexFunc(whole, endsAddress); n >= 0 {
		whole = whole[:n]
	}
	name := len(whole) - len(strings.TrimLeftFunc(whole, isNameRune))
	found := false
	for i := 0; i < name && !found; i++ {
		found = signAt(w.line[:w.at+len(whole)], w.at+i, false)
	}
	exact := whole[:len(whole)-len(strings.TrimLeftFunc(whole, func(r rune) bool { return r < utf8.RuneSelf && isPlainRune(r) }))]
	exact = strings.TrimRight(exact, around)
	shown := strings.TrimRight(whole, around)
	switch {
	case !found:
		w.out.WriteString(whole[:name])
		w.at += name
	case w.ends(w.at+len(whole)) && (!w.goesOn() && w.liveWithin(whole, trailing) || w.liveWithin(w.line[w.begins():w.at]+whole, trailing)):
		w.out.WriteString(whole)
		w.at += len(whole)
	case strings.Contains(exact, "://") && isPlain(exact) && !w.goesOn() && w.live(exact): // more follows at once
		w.put("<" + exact + ">")
		w.at += len(exact)
	default:
		w.put("`" + shown + "`")
		w.at += len(shown)
	}
}

// begins returns where the name begins that goes on here.
func (w *lineWriter) begins() int {
	return len(strings.TrimRightFunc(w.line[:w.at], isNameRune))
}

// goesOn reports whether what was written here is the end of a longer name: that of a mailbox or of a host.
func (w *lineWriter) goesOn() bool { return w.at > 0 && strings.IndexByte("@.", w.line[w.at-1]) >= 0 }

// ends reports whether an address in plain text ends at a place for every client, that of a mailbox at any
// mark.
func (w *lineWriter) ends(at int) bool {
	r, _ := utf8.DecodeRuneInString(w.line[at:])
	whole := w.line[w.at:at]
	return at == len(w.line) || r < utf8.RuneSelf && unicode.IsSpace(r) || strings.Contains(w.line[w.begins():at], "@") && !strings.ContainsAny(whole, ":/")
}

// liveWithin reports whether a text is an address that may be live and some marks after it.
func (l *Links) liveWithin(text, marks string) bool {
	for text != "" && !l.live(text) {
		r, n := utf8.DecodeLastRuneInString(text)
		if !strings.ContainsRune(marks, r) {
			return false
		}
		text = text[:len(text)-n]
	}
	return text != ""
}

// endsAddress reports whether an address in plain text ends here for some client, or the code that is
// shown instead could.
func endsAddress(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"|`$\\", r) }

func isNameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.+%@:/~", r)
}
