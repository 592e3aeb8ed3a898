package toolhandler

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/bits"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
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
	// Places are the arguments of the call that brought the text, but for free text, by path; nil if
	// that call is not known.
	Places map[string]string `json:",omitzero"`
}

// A Flow is the content of a prompt by origin.
type Flow struct {
	Readings []Reading
	// Described are the servers whose descriptions of tools, or instructions, no person has confirmed:
	// they may order calls of other servers' tools.
	Described []string
	// Typed are the person's own texts, Own the operator's that were read as results.
	Typed, Own []string
	// Rules are the operator's, in order; the first that fits counts.
	Rules []schemas.FlowRule
}

// Orders returns the sorted origins whose texts may have ordered a call of a server's tool. What a server
// says of its own tools orders nothing that it could not do by itself.
func (f Flow) Orders(server string) []schemas.Origin {
	all := f.origins(func(r Reading) bool { return !r.Trusted })
	for _, described := range f.Described {
		if described != server {
			all = append(all, schemas.Origin(described))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// HoldsPrivate reports whether a text is private to somebody.
func (f Flow) HoldsPrivate() bool {
	return slices.ContainsFunc(f.Readings, func(r Reading) bool { return !r.Public })
}

// Private returns the sorted origins whose texts are private to them.
func (f Flow) Private() []schemas.Origin {
	return f.origins(func(r Reading) bool { return !r.Public })
}

// Origins returns the sorted origins of all texts.
func (f Flow) Origins() []schemas.Origin { return f.origins(func(Reading) bool { return true }) }

func (f Flow) origins(of func(Reading) bool) []schemas.Origin {
	var found []schemas.Origin
	for _, r := range f.Readings {
		if !slices.Contains(found, r.Origin) && of(r) {
			found = append(found, r.Origin)
		}
	}
	slices.Sort(found)
	return found
}

// An action is a call as the rules see it.
type action struct {
	tool   schemas.Tool
	leaves []leaf
	// places are its destination within the server, by key. Values that the schema gives anyway do not
	// count.
	places map[string]string
	// arguments is how many arguments the tool declares.
	arguments int
	// class and its evidence, and what the values can carry, are known once the call is reviewed.
	class  Class
	why    string
	values []cargo
}

func (t *Turn) actionOf(tool schemas.Tool, args json.RawMessage) action {
	return actionOf(tool, t.h.inputs.schemaOf(tool), string(args))
}

func actionOf(tool schemas.Tool, root *argSchema, arguments string) action {
	a := action{tool: tool, leaves: leavesOf(tool, root, arguments), places: make(map[string]string), arguments: root.arguments}
	for _, l := range a.leaves {
		if l.use != Content && !l.isPreset() {
			a.places[l.key] = asText(l.value)
		}
	}
	return a
}

// A cargo is what a value of a call can carry.
type cargo struct {
	leaf
	text, host string
	// repository is set if it names a repository or its owner.
	repository bool
	// bits is how much a choice of the person's own words or of the schema's values carries; clean is
	// set if it carries nothing else.
	bits  int
	clean bool
	// from returns the readings of the call's server that hold the value.
	from func() []Reading
}

// cargoOf weighs the values of a call.
func (f Flow) cargoOf(a action) []cargo {
	all, own := make([]cargo, len(a.leaves)), wordsOf(f.Typed)
	for i, l := range a.leaves {
		c := cargo{leaf: l, text: asText(l.value), repository: isRepository(l.path)}
		c.bits, c.clean = own.weigh(l)
		c.bits += bits.Len(uint(a.arguments))                                 // that it is there at all
		if l.use == Place || !strings.ContainsFunc(c.text, unicode.IsSpace) { // an address may be called a text
			c.host, _ = hostOf(l.path, c.text)
		}
		c.from = sync.OnceValue(func() (from []Reading) {
			for _, r := range f.Readings {
				if r.Origin.Server() == a.tool.Server && returns(r.Text, c.text) {
					from = append(from, r)
				}
			}
			return from
		})
		all[i] = c
	}
	return all
}

// crossing returns the sorted origins whose private texts a call may take to another destination than
// the one that they came from.
func (f Flow) crossing(a action) []schemas.Origin {
	if isOwn(a.tool) { // it looks in texts of the operator
		return nil
	}
	return f.origins(func(r Reading) bool { return !r.Public && !stays(r, a) })
}

// stays reports whether a call sends things only to where a text came from: to its own server, and
// there to the same arguments.
func stays(r Reading, a action) bool {
	switch {
	case r.Origin.Server() != a.tool.Server:
		return false
	case a.tool.Rules.Marks.Closed:
		return true
	case a.class == Reads:
		return readsOn(r, a)
	case len(a.places) == 0:
		return r.Places != nil && len(r.Places) == 0 // nil is unknown
	case r.Trusted:
		return !slices.ContainsFunc(a.values, func(c cargo) bool {
			return a.places[c.key] != r.Places[c.key] && (c.host != "" || c.repository || len(c.from()) == 0)
		})
	}
	return maps.Equal(a.places, r.Places)
}

// readsOn reports whether a reader is only given what it was given before, the person's own words,
// and ids and addresses that its server returned in one text, on the same host. In another repository,
// which the person must have named, the ids must have been returned there.
func readsOn(r Reading, a action) bool {
	moves := func(c cargo) bool {
		before, had := r.Places[c.key]
		return had && before != c.text && c.repository
	}
	moved := slices.ContainsFunc(a.values, moves)
	var ids []cargo
	for _, c := range a.values {
		before, had := r.Places[c.key]
		switch {
		case c.host != "" && !hasHost(r, c.host), !c.clean && (moves(c) || climbs(c.text) && before != c.text):
			return false
		case c.clean, had && before == c.text, c.use == Content && !moved:
		default:
			ids = append(ids, c)
		}
	}
	return len(ids) == 0 || slices.ContainsFunc(ids[0].from(), func(source Reading) bool {
		return (!moved || maps.Equal(repositoryOf(source.Places), repositoryOf(a.places))) &&
			!slices.ContainsFunc(ids[1:], func(c cargo) bool { return !returns(source.Text, c.text) })
	})
}

// climbs reports whether a path leads out of what is named before it, however it is escaped.
func climbs(path string) bool {
	for range 4 {
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
	}
	return slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// isRepository reports whether an argument names a repository or its owner.
func isRepository(path string) bool {
	all := words(path)
	for len(all) > 1 && slices.Contains([]string{"id", "key", "name", "slug"}, all[len(all)-1]) {
		all = all[:len(all)-1]
	}
	return len(all) > 0 && slices.Contains([]string{"owner", "org", "organization", "repo", "repository", "project", "workspace"}, all[len(all)-1])
}

// repositoryOf returns the arguments that name a repository.
func repositoryOf(places map[string]string) map[string]string {
	named := maps.Clone(places)
	maps.DeleteFunc(named, func(key, _ string) bool { return !isRepository(key) })
	return named
}

// hasHost reports whether the call that brought a text named a host.
func hasHost(r Reading, host string) bool {
	for key, place := range r.Places {
		if named, _ := hostOf(key, place); named == host {
			return true
		}
	}
	return false
}

// returns reports whether a text holds a value as a whole word or a whole string.
func returns(text, value string) bool {
	return occurs(text, value) && (!strings.ContainsAny(value, " \t\r\n") || strings.Contains(text, `"`+value+`"`))
}

// typedWords are what a person typed.
type typedWords struct {
	// texts have one space between words, each text as it was typed and in small letters.
	texts, numbers []string
	// runs bounds how many runs of words there are.
	runs int
}

func wordsOf(typed []string) typedWords {
	var w typedWords
	for _, text := range typed {
		text = oneSpaced(text)
		n := 1 + strings.Count(text, " ")
		w.runs += n * n
		w.texts = append(w.texts, text, strings.ToLower(text))
		w.numbers = append(w.numbers, numbersIn(text)...)
	}
	return w
}

// weigh reports whether a value is the person's own choice: one run of words that they typed, a number
// or date that they typed, or one of the values that the schema names. It returns how many bits the
// choice carries.
func (w typedWords) weigh(l leaf) (carried int, clean bool) {
	_, isText := l.value.(string)
	_, isNumber := l.value.(json.Number)
	text, number := asText(l.value), bits.Len(uint(len(w.numbers)))
	switch {
	case !l.declared:
		return 0, false
	case !isText && !isNumber, text == "": // nothing, yes or no, an empty list or object
		return 1, true
	case slices.ContainsFunc(l.schema.named, func(named any) bool { return reflect.DeepEqual(named, l.value) }):
		return bits.Len(uint(len(l.schema.named))), true
	case slices.Contains(w.numbers, text):
		return number, true
	case w.isDate(text):
		return number * len(numbersIn(text)), true
	}
	return bits.Len(uint(w.runs)), w.isRun(text)
}

// isRun reports whether a text is one contiguous run of words. Other spaces could carry something.
func (w typedWords) isRun(text string) bool {
	return text == oneSpaced(text) && slices.ContainsFunc(w.texts, func(typed string) bool { return occurs(typed, text) })
}

// isDate reports whether a text is a date or a time whose numbers were typed.
func (w typedWords) isDate(text string) bool {
	parses := func(layout string) bool {
		_, err := time.Parse(layout, text)
		return err == nil
	}
	return slices.ContainsFunc([]string{time.DateOnly, "15:04", time.TimeOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, "2006-01-02 15:04", time.DateTime}, parses) &&
		!slices.ContainsFunc(numbersIn(text), func(n string) bool { return n != "0" && !slices.Contains(w.numbers, n) })
}

// maxClean is how many calls of a turn may go somewhere else because all their arguments are the
// person's own words, and maxBits how much the choices in them may carry together: two searches for
// runs of a question of thirty words, or one with a date.
const (
	maxClean = 3
	maxBits  = 32
)

// bitsOf adds up what the choices of clean values carry; ok is false if one is not clean.
func bitsOf(values []cargo) (sum int, ok bool) {
	for _, c := range values {
		if sum += c.bits; !c.clean {
			return 0, false
		}
	}
	return sum, true
}

// numbersIn returns the runs of digits in a text, without zeros before them.
func numbersIn(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	for i := range all {
		all[i] = cmp.Or(strings.TrimLeft(all[i], "0"), "0")
	}
	return all
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

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

func isWordy(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd) }

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

// isAddress reports whether an argument is one for addresses.
func isAddress(path string) bool {
	return slices.Contains([]string{"url", "uri", "urls", "address", "link", "href", "endpoint", "host", "hostname", "domain", "site"}, lastWord(path))
}

var startsWithScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// hostOf returns the host, with its port, of an address or of a mail address in an argument, "" for
// other values. A value that might name a host, but not clearly one, counts as a host of its own.
func hostOf(path, value string) (host string, clear bool) {
	value = strings.TrimSpace(value)
	hasScheme := startsWithScheme.MatchString(value)
	if !hasScheme && !strings.ContainsAny(value, `@\`) && !strings.HasPrefix(value, "//") {
		if !isAddress(path) || value == "" || value[0] == '/' {
			return "", false
		}
		value, hasScheme = "https://"+value, true
	}
	if strings.Count(value, "://") > 1 || strings.ContainsFunc(value, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return value, false
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return strings.ToLower(u.Host), u.User == nil
	}
	name, at, isMail := strings.Cut(value, "@")
	switch {
	case hasScheme || !isMail || strings.ContainsAny(value, `,;<>?%/`) || strings.Contains(at, "@"):
		return value, false
	case name == "": // what a person is called in some service
		return "", false
	}
	return strings.ToLower(at), true
}

// namesInside reports whether an argument names an address inside: one that is not clearly a name on
// the public web.
func (l leaf) namesInside() bool {
	value := strings.TrimSpace(asText(l.value))
	if l.use == Content || l.isPreset() || value == "" {
		return false
	}
	scheme := startsWithScheme.FindString(value)
	address := isAddress(l.path) || l.schema.format == "uri" || strings.Contains(value, "://") || strings.HasPrefix(value, "//") ||
		strings.EqualFold(scheme, "http:") || strings.EqualFold(scheme, "https:")
	if scheme == "" {
		value = "http://" + strings.TrimLeft(value, "/")
	}
	u, err := url.Parse(value)
	if address {
		return err != nil || u.Scheme != "http" && u.Scheme != "https" || isInside(u.Hostname())
	}
	return err == nil && (strings.Contains(u.Hostname(), ".") || u.Scheme == "localhost") && isInside(u.Hostname())
}

// actsInside reports whether a reader of the public web is given an address inside that the person did
// not type, of a host that it has not read from: there, a request alone may change something.
func (f Flow) actsInside(a action) bool {
	return a.class == Reads && a.tool.Rules.Marks.Public && slices.ContainsFunc(a.values, func(c cargo) bool {
		return !c.clean && c.namesInside() && (c.host == "" || !slices.ContainsFunc(f.Readings, func(r Reading) bool {
			return r.Origin.Server() == a.tool.Server && hasHost(r, c.host)
		}))
	})
}

// isInside reports whether a host is no name on the public web. Every number counts as inside, and so
// do letters that a server may read as others.
func isInside(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := netip.ParseAddr(host); err == nil || last == host || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") ||
		strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return true
	}
	return slices.Contains([]string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "corp", "home", "private", "arpa"}, last)
}

// isOwn reports whether a tool is one of the host's own that looks in texts of the operator only.
func isOwn(tool schemas.Tool) bool {
	open := tool.Annotations.OpenWorldHint
	return tool.Server == schemas.ToolServer && open != nil && !*open
}

// A Catalogue answers for the servers and tools of a turn, where readings are made of results. A nil
// one knows none.
type Catalogue struct {
	inputs *inputs
	tools  func() []schemas.Tool
}

// Catalogue returns a catalogue of the tools of all attached servers.
func (h *Handler) Catalogue(tools func() []schemas.Tool) *Catalogue {
	return &Catalogue{inputs: h.inputs, tools: sync.OnceValue(tools)}
}

// find returns the first tool that is as asked.
func (c *Catalogue) find(is func(schemas.Tool) bool) (t schemas.Tool, ok bool) {
	if c == nil {
		return t, false
	}
	all := c.tools()
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return t, false
	}
	return all[i], true
}

// marks returns the marks of a server; ok is false if it is not attached.
func (c *Catalogue) marks(server string) (m schemas.ServerMarks, ok bool) {
	t, ok := c.find(func(t schemas.Tool) bool { return t.Server == server })
	return t.Rules.Marks, ok
}

// MayClaim reports whether a client may say that a result comes from a server: it is attached, and no
// text counts for more because it comes from there.
func (c *Catalogue) MayClaim(server string) bool {
	marks, attached := c.marks(server)
	return attached && server != schemas.ToolServer && !marks.Trust && !marks.Public
}

// actionOf returns a call as the rules see it.
func (c *Catalogue) actionOf(tool schemas.Tool, arguments string) action {
	if c == nil {
		return actionOf(tool, new(argSchema), arguments)
	}
	return actionOf(tool, c.inputs.schemaOf(tool), arguments)
}

// tool returns the tool that made a result, without declared arguments if it is not attached.
func (c *Catalogue) tool(server, name string) schemas.Tool {
	if t, ok := c.find(func(t schemas.Tool) bool { return t.Server == server && t.ToolName == name }); ok {
		return t
	}
	marks, _ := c.marks(server)
	return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: server, ToolName: name}, Rules: schemas.ToolRules{Marks: marks}}
}

// Reading returns a text of an origin.
func (c *Catalogue) Reading(origin schemas.Origin, text string) Reading {
	r := Reading{Origin: origin, Text: text, Public: origin == schemas.FromWeb || origin == schemas.FromPaste}
	if server := origin.Server(); server != "" {
		marks, _ := c.marks(server)
		r.Trusted, r.Public = marks.Trust, marks.Public && !origin.IsInside()
	}
	return r
}

// Named returns the origin of what a server gives for a person's words: the address of a resource, or
// the arguments of a prompt.
func (c *Catalogue) Named(server string, args map[string]string) schemas.Origin {
	given, _ := json.Marshal(args) //nolint:errchkjson // strings marshal
	tool := c.tool(server, "")
	if tool.Rules.Marks.Public && slices.ContainsFunc(c.actionOf(tool, string(given)).leaves, leaf.namesInside) {
		return schemas.InsideOrigin(server)
	}
	return schemas.Origin(server)
}

// Result returns the reading of a call's result; ok is false if the operator wrote its text. The call
// may be nil if it is not known: it may have named an address inside.
func (c *Catalogue) Result(result schemas.ToolResult, call *schemas.ToolCall) (r Reading, ok bool) {
	tool := c.tool(result.Server, result.ToolName)
	origin := schemas.Origin(result.Server)
	if result.Server == schemas.ToolServer {
		if isOwn(tool) {
			return Reading{Text: contentOf(result)}, false
		}
		origin = schemas.FromWeb
	}
	var a action
	if call != nil {
		a = c.actionOf(tool, call.Function.Arguments)
	}
	if tool.Rules.Marks.Public && (call == nil || slices.ContainsFunc(a.leaves, leaf.namesInside)) {
		origin = schemas.InsideOrigin(result.Server)
	}
	r = c.Reading(origin, contentOf(result))
	r.Places = a.places
	return r, true
}

// contentOf returns the text of a result with its strings as a reader sees them, without the escapes of
// JSON.
func contentOf(result schemas.ToolResult) string {
	text := result.OutputText()
	all := []string{text}
	var value any
	if text == string(result.Output) && json.Unmarshal(result.Output, &value) == nil { // else it is one string
		all = stringsIn(all, value)
	}
	for _, link := range result.Resources {
		all = append(all, link.URI)
	}
	for _, link := range result.Links {
		all = append(all, link.URL)
	}
	return strings.Join(all, "\n")
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
