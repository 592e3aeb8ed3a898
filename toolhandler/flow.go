package toolhandler

import (
	"encoding/json"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"molar/schemas"
)

// A Reading is a text in the prompt that neither the person typed nor the operator wrote.
type Reading struct {
	Origin schemas.Origin
	// Text is what was read; empty for a model's text, which only repeats what it had read.
	Text string
	// Trusted means that its text contains no orders, as the operator says.
	Trusted bool
	// Public means that the text is private to nobody.
	Public bool
	// Places are the arguments of the call that brought the text, but for free text, by path.
	Places map[string]string `json:",omitempty"`
}

// A Flow is the content of a prompt by origin.
type Flow struct {
	Readings []Reading
	// Typed are the person's own texts, Own the operator's that were read as results.
	Typed, Own []string
	// Rules are the operator's, in order; the first that fits counts.
	Rules []schemas.FlowRule
}

// Foreign returns the sorted origins whose texts may contain orders.
func (f Flow) Foreign() []schemas.Origin {
	return f.origins(func(r Reading) bool { return !r.Trusted })
}

// Private returns the sorted origins whose texts are private to them.
func (f Flow) Private() []schemas.Origin {
	return f.origins(func(r Reading) bool { return !r.Public })
}

// Origins returns the sorted origins of all texts.
func (f Flow) Origins() []schemas.Origin { return f.origins(func(Reading) bool { return true }) }

func (f Flow) origins(of func(Reading) bool) []schemas.Origin {
	found := make(map[schemas.Origin]bool)
	for _, r := range f.Readings {
		if of(r) {
			found[r.Origin] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// crossing returns the sorted origins whose private texts a call may take to another destination than
// the one that they came from.
func (f Flow) crossing(tool schemas.Tool, leaves []leaf) []schemas.Origin {
	class, _ := Classify(tool)
	found := make(map[schemas.Origin]bool)
	for _, r := range f.Readings {
		if !r.Public && !found[r.Origin] && !f.stays(r, tool, class, leaves) {
			found[r.Origin] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// stays reports whether a call sends things only to where a text came from: to its own server, and
// there to the same arguments. A reader may also be given ids and addresses that the server returned,
// unless they name another host or repository; others only if the operator vouches for the server.
func (f Flow) stays(r Reading, tool schemas.Tool, class Class, leaves []leaf) bool {
	if r.Origin.Server() != tool.Server {
		return false
	}
	if tool.Rules.Marks.Closed {
		return true
	}
	for _, l := range leaves {
		value := asText(l.value)
		before, had := r.Places[l.key]
		switch {
		case l.use == Content, had && before == value, f.isClean(l):
			continue
		case class != Reads && !r.Trusted, l.value == nil:
			return false
		case had && isRepository(l.path), !f.sameHosts(r, value), !f.returned(tool.Server, value):
			return false
		}
	}
	return true
}

// isRepository reports whether an argument names a repository or its owner.
func isRepository(path string) bool {
	return slices.Contains([]string{"owner", "org", "organization", "repo", "repository", "project", "workspace"}, lastWord(path))
}

// sameHosts reports whether a value names no other host than those of the call that brought a text.
func (f Flow) sameHosts(r Reading, value string) bool {
	host := hostOf(value)
	if host == "" {
		return true
	}
	for _, place := range r.Places {
		if hostOf(place) == host {
			return true
		}
	}
	return false
}

// returned reports whether a server returned a value, as a whole word or a whole string.
func (f Flow) returned(server, value string) bool {
	for _, r := range f.Readings {
		if r.Origin.Server() == server && occurs(r.Text, value) && (!strings.ContainsAny(value, " \t\n") || strings.Contains(r.Text, `"`+value+`"`)) {
			return true
		}
	}
	return false
}

// isClean reports whether a value carries nothing but the person's own choice: it is one run of words
// that they typed, a number or date that they typed, or one of the values that the schema names.
func (f Flow) isClean(l leaf) bool {
	if !l.declared {
		return false
	}
	switch v := l.value.(type) {
	case nil, bool:
		return true
	case json.Number:
		return l.schema.names(v) || f.typedNumber(v.String())
	case string:
		return v == "" || l.schema.names(v) || f.typedRun(v) || f.typedDate(v)
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// maxEntries bounds the entries of a list that may be the person's own words: their order would carry
// more than the words do.
const maxEntries = 3

// allClean reports whether every argument is clean.
func (f Flow) allClean(leaves []leaf) bool {
	entries := make(map[string]int)
	for _, l := range leaves {
		if entries[l.path]++; !f.isClean(l) || entries[l.path] > maxEntries {
			return false
		}
	}
	return true
}

// typedRun reports whether a text is one contiguous run of words that the person typed, as they typed
// it or in small letters.
func (f Flow) typedRun(value string) bool {
	if value != oneSpaced(value) { // spaces could carry something
		return false
	}
	for _, typed := range f.Typed {
		typed = oneSpaced(typed)
		if occurs(typed, value) || value == strings.ToLower(value) && occurs(strings.ToLower(typed), value) {
			return true
		}
	}
	return false
}

func (f Flow) typedNumber(digits string) bool {
	return slices.ContainsFunc(f.Typed, func(typed string) bool { return slices.Contains(numbersIn(typed), trimZeros(digits)) })
}

// typedDate reports whether a value is a date or a time whose numbers the person typed.
func (f Flow) typedDate(value string) bool {
	isDate := len(value) >= len("15:04") && len(value) <= len("2006-01-02T15:04:05.000+07:00") &&
		strings.Trim(value, "0123456789-:.+ TZ") == "" && strings.ContainsAny(value, "-:")
	if !isDate {
		return false
	}
	var typed []string
	for _, text := range f.Typed {
		typed = append(typed, numbersIn(text)...)
	}
	for _, n := range numbersIn(value) {
		if n != "0" && !slices.Contains(typed, n) {
			return false
		}
	}
	return true
}

// numbersIn returns the runs of digits in a text, without zeros before them.
func numbersIn(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	for i := range all {
		all[i] = trimZeros(all[i])
	}
	return all
}

func trimZeros(digits string) string {
	if short := strings.TrimLeft(digits, "0"); short != "" {
		return short
	}
	return "0"
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// Occurs reports whether a text holds a value between characters that are neither letters nor digits.
func Occurs(text, value string) bool { return occurs(text, value) }

func occurs(text, value string) bool {
	if value == "" {
		return false
	}
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(value):])
		if !isWordy(before) && !isWordy(after) {
			return true
		}
		from = at + 1
	}
}

func isWordy(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// asText returns a leaf's value as text.
func asText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	raw, _ := json.Marshal(value) //nolint:errchkjson // decoded JSON marshals
	return string(raw)
}

// placesOf returns the destination of a call within its server, by key. Values that the schema gives
// anyway do not count.
func placesOf(leaves []leaf) map[string]string {
	places := make(map[string]string)
	for _, l := range leaves {
		if l.use != Content && (l.schema.Default == nil || !same(l.schema.Default, l.value)) {
			places[l.key] = asText(l.value)
		}
	}
	return places
}

// hostOf returns the host of an address or of a mail address, "" for other values.
func hostOf(value string) string {
	value = strings.TrimSpace(value)
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return strings.ToLower(u.Hostname())
	}
	if at := strings.LastIndexByte(value, '@'); at > 0 && !strings.ContainsAny(value, " \t\n/") && strings.Contains(value[at:], ".") {
		return strings.ToLower(strings.Trim(value[at+1:], "<>"))
	}
	return ""
}

// namesInside reports whether an argument names an address inside: one that is not a name on the
// public web.
func namesInside(leaves []leaf) bool {
	for _, l := range leaves {
		value, ok := l.value.(string)
		if !ok || l.use == Content {
			continue
		}
		value = strings.TrimSpace(value)
		u, err := url.Parse(value)
		isAddress := slices.Contains([]string{"url", "uri", "urls", "address", "link", "href", "endpoint", "host", "hostname", "domain", "site"}, lastWord(l.path))
		switch {
		case err == nil && u.Scheme != "" && u.Host != "":
			if u.Scheme != "http" && u.Scheme != "https" || isInside(u.Hostname()) {
				return true
			}
		case isAddress:
			host, _, _ := strings.Cut(strings.TrimLeft(value, "/"), "/")
			if u, err := url.Parse("http://" + host); err != nil || isInside(u.Hostname()) {
				return true
			}
		case strings.Contains(value, "://"):
			return true
		}
	}
	return false
}

// isInside reports whether a host is no name on the public web. Every number counts as inside.
func isInside(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := netip.ParseAddr(host); err == nil || last == host || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return true
	}
	return slices.Contains([]string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "corp", "home", "private", "arpa"}, last)
}

// A Catalogue answers for the servers and tools of a turn, where readings are made of results. A nil
// one knows none.
type Catalogue struct {
	tools func() []schemas.Tool
	once  sync.Once
	known map[[2]string]schemas.Tool
	marks map[string]schemas.ServerMarks
}

// NewCatalogue returns a catalogue of the tools of all attached servers.
func NewCatalogue(tools func() []schemas.Tool) *Catalogue { return &Catalogue{tools: tools} }

func (c *Catalogue) load() {
	c.once.Do(func() {
		c.known, c.marks = make(map[[2]string]schemas.Tool), make(map[string]schemas.ServerMarks)
		for _, t := range c.tools() {
			c.known[[2]string{t.Server, t.ToolName}], c.marks[t.Server] = t, t.Rules.Marks
		}
	})
}

// tool returns the tool that made a result, without declared arguments if it is not attached.
func (c *Catalogue) tool(server, name string) schemas.Tool {
	if c == nil {
		return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: server, ToolName: name}}
	}
	c.load()
	if t, ok := c.known[[2]string{server, name}]; ok {
		return t
	}
	return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: server, ToolName: name}, Rules: schemas.ToolRules{Marks: c.marks[server]}}
}

// Reading returns a text of an origin.
func (c *Catalogue) Reading(origin schemas.Origin, text string) Reading {
	r := Reading{Origin: origin, Text: text, Public: origin == schemas.FromWeb || origin == schemas.FromPaste}
	if server := origin.Server(); server != "" && c != nil {
		c.load()
		marks := c.marks[server]
		r.Trusted, r.Public = marks.Trust, marks.Public && !origin.IsInside()
	}
	return r
}

// Result returns the reading of a call's result; ok is false if the operator wrote its text. The call
// may be nil if it is not known.
func (c *Catalogue) Result(result schemas.ToolResult, call *schemas.ToolCall) (r Reading, ok bool) {
	tool := c.tool(result.Server, result.ToolName)
	origin := schemas.Origin(result.Server)
	if result.Server == schemas.ToolServer {
		if open := tool.Annotations.OpenWorldHint; open != nil && !*open {
			return Reading{Text: contentOf(result)}, false
		}
		origin = schemas.FromWeb
	}
	var leaves []leaf
	if call != nil {
		leaves = leavesOf(tool, json.RawMessage(call.Function.Arguments))
	}
	if tool.Rules.Marks.Public && namesInside(leaves) {
		origin = schemas.InsideOrigin(result.Server)
	}
	r = c.Reading(origin, contentOf(result))
	if call != nil {
		r.Places = placesOf(leaves)
	}
	return r, true
}

// Origin returns the origin of a code-driven result.
func (c *Catalogue) Origin(result schemas.ToolResult) schemas.Origin {
	r, _ := c.Result(result, nil)
	return r.Origin
}

// contentOf returns the text of a result with its strings as a reader sees them, without the escapes of
// JSON.
func contentOf(result schemas.ToolResult) string {
	content := result.OutputText()
	var value any
	if json.Unmarshal(result.Output, &value) == nil {
		if _, isText := value.(string); !isText {
			content += "\n" + strings.Join(stringsIn(nil, value), "\n")
		}
	}
	for _, link := range result.Resources {
		content += "\n" + link.URI
	}
	for _, link := range result.Links {
		content += "\n" + link.URL
	}
	return content
}

// stringsIn returns the strings in a JSON value.
func stringsIn(all []string, value any) []string {
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, e := range v {
			all = stringsIn(all, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = stringsIn(all, v[key])
		}
	}
	return all
}
