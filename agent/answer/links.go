package answer

import (
	"regexp"
	"strings"
	"unicode"

	"molar/toolhandler"
)

// Limits for buffered parts of a text, in bytes.
const (
	maxAddress = 4096
	maxAlt     = 300
	maxTag     = 2048
)

// Links changes the parts of a stream of Markdown that would send text to a server by themselves
// or by one click: the end of an address that contains text which the model has read, and images
// that a client would load from elsewhere. Text passes at once, except for an address, which is
// buffered to its end.
type Links struct {
	flow func() toolhandler.Flow
	held string
	// referred is set once there may be an image with its address in a definition, defined once
	// there is such a definition.
	referred, defined bool
}

// NewLinks returns a filter. flow returns the texts that the model has read so far.
func NewLinks(flow func() toolhandler.Flow) *Links {
	return &Links{flow: flow}
}

// Pass returns the text that may be shown after the next piece. A nil filter passes everything.
func (l *Links) Pass(text string) string {
	if l == nil {
		return text
	}
	l.held += text
	return l.release(false)
}

// Rest ends the stream and returns the buffered text.
func (l *Links) Rest() string {
	if l == nil {
		return ""
	}
	return l.release(true)
}

// find is a kind of element that must be checked as a whole.
type find struct {
	begin string
	// end returns the length of the element after its beginning, or -1 while that is unknown.
	end func(rest string) int
	// clean returns the text to show instead.
	clean func(l *Links, whole string) string
}

func finds() []find {
	return []find{
		{"![", endOfImage, (*Links).image},
		{"](", endOfLink, (*Links).link},
		{"]:", endOfDefinition, (*Links).definition},
		{"://", endOfAddress, (*Links).bare},
		{`:\/\/`, endOfAddress, (*Links).bare},
		{"www.", endOfAddress, (*Links).bare},
		{"<", endOfTag, (*Links).tag},
	}
}

func (l *Links) release(last bool) string {
	var out strings.Builder
	all := finds()
	for l.held != "" {
		at, found := earliest(all, l.held)
		if at < 0 {
			keep := 0
			if !last {
				keep = partial(all, l.held)
			}
			if keep == 0 && out.Len() == 0 { // as nearly always
				text := l.held
				l.held = ""
				return text
			}
			out.WriteString(l.held[:len(l.held)-keep])
			l.held = l.held[len(l.held)-keep:]
			break
		}
		out.WriteString(l.held[:at])
		l.held = l.held[at:]
		n := found.end(l.held[len(found.begin):])
		if n < 0 && !last {
			break
		}
		if n < 0 {
			n = len(l.held) - len(found.begin)
		}
		whole := l.held[:len(found.begin)+n]
		l.held = l.held[len(whole):]
		out.WriteString(found.clean(l, whole))
	}
	return out.String()
}

func earliest(all []find, text string) (at int, first find) {
	at = -1
	for _, f := range all {
		if i := strings.Index(text, f.begin); i >= 0 && (at < 0 || i < at) {
			at, first = i, f
		}
	}
	return at, first
}

// partial returns the length of the end of a text that may be the beginning of an element.
func partial(all []find, text string) int {
	longest := 0
	for _, f := range all {
		for n := min(len(f.begin)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, f.begin[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// endAt returns the index of the first of some characters, the bound if it comes first, or -1 if
// neither is reached.
func endAt(rest, chars string, bound int) int {
	if i := strings.IndexAny(rest, chars); i >= 0 && i <= bound {
		return i
	}
	if len(rest) > bound {
		return bound
	}
	return -1
}

// endOfImage returns the index of the bracket that closes an image's address, its text or its
// label.
func endOfImage(rest string) int {
	n := endAt(rest, "]\n", maxAlt)
	switch {
	case n < 0 || n == maxAlt || rest[n] == '\n':
		return n
	case n+1 == len(rest):
		return -1
	case rest[n+1] != '(' && rest[n+1] != '[':
		return n
	case rest[n+1] == '[':
		end := endAt(rest[n+2:], "]\n", maxAlt)
		if end < 0 {
			return -1
		}
		return n + 2 + end
	}
	end := endOfLink(rest[n+2:])
	if end < 0 {
		return -1
	}
	return n + 2 + end
}

// endOfLink returns the index of the bracket that closes an address; an address in angle brackets
// may contain spaces.
func endOfLink(rest string) int {
	if strings.HasPrefix(strings.TrimLeft(rest, " "), "<") {
		return endAt(rest, ">\n", maxAddress)
	}
	return endAt(rest, ")\n", maxAddress)
}

// endOfDefinition returns the end of the address in a Markdown link definition, or 0 if it has none.
func endOfDefinition(rest string) int {
	address := strings.TrimLeft(rest, " \t\n")
	for _, begin := range []string{"http", "<", "//", "www."} {
		if strings.HasPrefix(begin, address) { // it may become an address
			return -1
		}
		if strings.HasPrefix(address, begin) {
			n := endAt(address, " \t\n", maxAddress)
			if n < 0 {
				return -1
			}
			return len(rest) - len(address) + n
		}
	}
	return 0
}

func endOfAddress(rest string) int {
	n := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("()<>[]{}\"'`|，。、；", r)
	})
	if n < 0 && len(rest) > maxAddress {
		return maxAddress
	}
	return n
}

// endOfTag returns the end of an HTML tag, or 0 if it is not a tag.
func endOfTag(rest string) int {
	if rest == "" {
		return -1
	}
	if c := rest[0] | 0x20; c < 'a' || c > 'z' {
		return 0
	}
	n := endAt(rest, ">", maxTag)
	if n < 0 || n == maxTag {
		return n
	}
	return n + 1
}

// image turns a remote image into a link.
func (l *Links) image(whole string) string {
	alt, address, inline := strings.Cut(whole[2:], "](")
	switch {
	case inline && isRemote(address):
		return "[" + alt + l.link("]("+address)
	case inline:
		return whole
	}
	if l.defined { // it may be the address of this image
		return whole[1:]
	}
	l.referred = true
	return whole
}

// isRemote reports whether a client needs a server for an address.
func isRemote(address string) bool {
	address = strings.TrimLeft(address, " <")
	return strings.Contains(address, "://") || strings.HasPrefix(address, "//") || strings.Contains(address, `:\/\/`) || strings.Contains(address, "&")
}

// link turns an address that would carry read text into plain text.
func (l *Links) link(whole string) string {
	address := strings.TrimLeft(whole[2:], " <")
	if clean, changed := l.cleaned(address); changed {
		return "] (`" + clean + "`"
	}
	return whole
}

// definition breaks the definition of a remote address that images may use, and cleans its
// address.
func (l *Links) definition(whole string) string {
	if clean, changed := l.cleaned(strings.TrimSpace(whole[2:])); changed {
		return "] : `" + clean + "`"
	}
	if isRemote(whole[2:]) && l.referred {
		return "] :" + whole[2:] // no longer a definition
	}
	l.defined = l.defined || isRemote(whole[2:])
	return whole
}

func (l *Links) bare(whole string) string {
	if clean, changed := l.cleaned(whole); changed {
		return clean
	}
	return whole
}

// loading matches the tags for which clients load something by themselves.
var loading = regexp.MustCompile(`(?i)^</?(img|image|picture|source|video|audio|track|iframe|frame|embed|object|applet|link|style|script|svg|use|base|meta|body|table|td|input|form)\b`)

// autolink matches an address in angle brackets.
var autolink = regexp.MustCompile(`^<[a-zA-Z][a-zA-Z0-9+.\-]*:`)

// tag turns a tag that would load something, or carry read text, into plain text.
func (l *Links) tag(whole string) string {
	remote := isRemote(whole) && (loading.MatchString(whole) || strings.Contains(strings.ToLower(whole), "style"))
	clean, changed := l.cleaned(whole)
	switch {
	case changed && autolink.MatchString(whole):
		return "`" + clean[1:] + "`"
	case changed:
		return "&lt;" + clean[1:]
	case remote:
		return "&lt;" + whole[1:]
	}
	return whole
}

// addressLeftOut replaces an address, or a part of it, that would carry read text.
const addressLeftOut = "[…]"

// cleaned returns an address without the read text that it may carry, and reports whether it
// changed.
func (l *Links) cleaned(address string) (string, bool) {
	flow := l.flow()
	bare := strings.Trim(strings.TrimSpace(address), "<>) ")
	if len(flow.Private()) == 0 || flow.Holds(bare) {
		return address, false
	}
	return addressLeftOut, true
}
