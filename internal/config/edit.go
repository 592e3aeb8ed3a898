package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// serversKey is the key of a config file that holds the servers.
const serversKey = "mcpServers"

// ErrNotEditable reports a config file that only a person can edit.
var ErrNotEditable = errors.New("it cannot be changed without touching the rest of it")

// AddServers returns the text of a config file with the servers of f as the last ones of mcpServers.
// Every other byte of the text stays, except the word null or the empty braces that the servers
// replace. The text is valid YAML, in any layout.
func AddServers(data []byte, f *HostFile) ([]byte, error) {
	e, err := openEditor(data)
	if err != nil {
		return nil, err
	}
	bare := HostFile{Servers: f.Servers, entries: f.entries} // the variables are in their own file
	if err := e.add(&bare); err != nil {
		return nil, err
	}
	want, err := readServers([]byte(bare.document()))
	if err != nil {
		return nil, err
	}
	return e.result(func(before []yaml.MapItem) []yaml.MapItem {
		return append(before, want.servers...)
	})
}

// RemoveServer returns the text of a config file without a server and the comments that belong to it
// alone: those inside its entry and those right above it. A comment above the first of several
// servers stays if it may be about all of them. comments is the number of lines above it that went.
// Every other byte stays.
func RemoveServer(data []byte, name string) (text []byte, comments int, err error) {
	e, err := openEditor(data)
	if err != nil {
		return nil, 0, err
	}
	if comments, err = e.remove(name); err != nil {
		return nil, 0, err
	}
	text, err = e.result(func(before []yaml.MapItem) []yaml.MapItem {
		return slices.DeleteFunc(before, func(item yaml.MapItem) bool { return item.Key == name })
	})
	return text, comments, err
}

// An editor makes one edit of a text: it replaces text[from:to].
type editor struct {
	// original is the text after the mark of its encoding.
	mark, original []byte
	// text is the original with "\n" at the ends of all lines, for which alone the parser's positions
	// are right. lines are its lines with their ends, starts their offsets.
	text   string
	lines  []string
	starts []int
	root   *ast.MappingNode // nil for a text without a key
	before fileContent

	from, to int
	insert   string
}

func openEditor(data []byte) (*editor, error) {
	mark, data := cutMark(data)
	e := &editor{mark: mark, original: data, text: strings.ReplaceAll(string(data), "\r\n", "\n")}
	if strings.ContainsAny(e.text, "\r\x00") || !utf8.ValidString(e.text) { // a lone \r ends a line for some programs and not for others
		return nil, ErrNotEditable
	}
	root, err := parse([]byte(e.text))
	if err != nil {
		return nil, errors.New("it is not valid YAML")
	}
	if root != nil {
		var ok bool
		if e.root, ok = root.(*ast.MappingNode); !ok {
			return nil, errors.New("it is not a mapping of keys")
		}
	}
	if e.before, err = readServers(data); err != nil {
		return nil, err
	}
	at := 0
	for line := range strings.Lines(e.text) {
		e.lines, e.starts = append(e.lines, line), append(e.starts, at)
		at += len(line)
	}
	return e, nil
}

// offset returns where a token begins in the text. The parser counts characters, and is wrong about
// the column after some tabs and about the offset after some comments; so the token must be there.
func (e *editor) offset(t *token.Token) (int, error) {
	want := t.Value
	switch t.Type {
	case token.DoubleQuoteType:
		want = `"`
	case token.SingleQuoteType:
		want = "'"
	}
	places := []int{skip(e.text, 0, t.Position.Offset-1)}
	if line := t.Position.Line - 1; line >= 0 && line < len(e.lines) {
		places = append(places, skip(e.text, e.starts[line], t.Position.Column-1))
	}
	for _, at := range places {
		if want != "" && strings.HasPrefix(e.text[at:], want) {
			return at, nil
		}
	}
	return 0, ErrNotEditable
}

// skip returns the offset of n characters after another offset.
func skip(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// section returns the pair of mcpServers and the line of the key after it, or the number of lines.
func (e *editor) section() (pair *ast.MappingValueNode, next int) {
	next = len(e.lines)
	if e.root == nil {
		return nil, next
	}
	for i, v := range e.root.Values {
		if keyText(v.Key) != serversKey {
			continue
		}
		if i+1 < len(e.root.Values) {
			next = e.root.Values[i+1].Key.GetToken().Position.Line - 1
		}
		return v, next
	}
	return nil, next
}

// add sets the edit that adds the servers.
func (e *editor) add(f *HostFile) error {
	pair, next := e.section()
	if pair == nil {
		return e.addSection(f)
	}
	value := pair.Value
	if anchor, ok := value.(*ast.AnchorNode); ok {
		value = anchor.Value
	}
	key := pair.Key.GetToken().Position
	switch value := value.(type) {
	case *ast.NullNode:
		return e.replaceEmpty(f, key)
	case *ast.MappingNode:
		switch {
		case !value.IsFlowStyle:
			indent := value.Values[0].Key.GetToken().Position.Column - 1
			last, text := e.lastLine(key.Line-1, next, indent-1), block(f, indent)
			if e.commentsAbove(last+1, indent) > 0 {
				text = "\n" + text // else the comment would seem to be of the new server, and go with it
			}
			e.insertAfter(last, text)
			return nil
		case len(value.Values) == 0 && !e.root.IsFlowStyle && value.Start.Position.Line == value.End.Position.Line:
			return e.replaceEmpty(f, key)
		default:
			return e.insertInside(value, func() (string, error) { return f.flowText(false) })
		}
	default:
		return fmt.Errorf("mcpServers is not written as entries: %w", ErrNotEditable)
	}
}

// addSection adds the key with the servers: at the end, or as the first key inside the braces of the
// file.
func (e *editor) addSection(f *HostFile) error {
	if e.root != nil && e.root.IsFlowStyle {
		return e.insertInside(e.root, func() (string, error) {
			text, err := f.flowText(false)
			return `"` + serversKey + `": {` + text + "}", err
		})
	}
	text := f.document()
	if e.root != nil {
		indent := e.root.Values[0].Key.GetToken().Position.Column - 1
		text = strings.Repeat(" ", indent) + serversKey + ":\n" + block(f, indent+len(entryIndent))
	}
	if strings.TrimSpace(e.text) != "" && !strings.HasSuffix(e.text, "\n\n") {
		text = "\n" + text
	}
	e.insertAfter(len(e.lines)-1, text)
	return nil
}

// block returns the servers as entries of a block.
func block(f *HostFile, indent int) string {
	text, _ := f.TextFor(&Section{Place: Below, Indent: indent}) // fails only for braces
	return text
}

// insertAfter inserts a text of whole lines after a line; -1 is the begin of the text.
func (e *editor) insertAfter(line int, text string) {
	if line >= 0 {
		e.from = e.starts[line] + len(e.lines[line])
		if !strings.HasSuffix(e.lines[line], "\n") {
			text = "\n" + text
		}
	}
	e.to, e.insert = e.from, text
}

// emptySection matches the line of mcpServers whose value holds nothing: null, which may be left out, or
// empty braces, in group 1 with the blanks before the comment.
var emptySection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ *["']?` + serversKey + `["']? *:(?: *&[^ ]+)?( *(?:null|Null|NULL|~|\{ *\})?) *(?:#.*)?\n?$`)
})

// replaceEmpty replaces a value that holds nothing.
func (e *editor) replaceEmpty(f *HostFile, key *token.Position) error {
	line := key.Line - 1
	at := emptySection().FindStringSubmatchIndex(e.lines[line])
	if at == nil || e.root.IsFlowStyle {
		return fmt.Errorf("mcpServers is empty: %w", ErrNotEditable)
	}
	e.insertAfter(line, block(f, key.Column-1+len(entryIndent)))
	if strings.TrimSpace(e.lines[line][at[2]:at[3]]) == "" {
		return nil
	}
	rest := strings.TrimSuffix(e.lines[line][at[3]:], "\n")
	e.from, e.insert = e.starts[line]+at[2], rest+"\n"+strings.TrimPrefix(e.insert, "\n")
	return nil
}

// insertInside inserts a text as the first entry in braces, in the layout of the entry that is the
// first now.
func (e *editor) insertInside(braces *ast.MappingNode, text func() (string, error)) error {
	at, err := e.offset(braces.Start)
	if err != nil {
		return err
	}
	entry, err := text()
	if err != nil {
		return err
	}
	rest := e.text[at+1:]
	blanks := rest[:len(rest)-len(strings.TrimLeft(rest, " \t\n"))]
	e.from, e.to = at+1, at+1
	switch {
	case len(braces.Values) == 0:
		e.insert = entry
	case blanks == "":
		e.insert = entry + ", "
	default:
		e.insert = blanks + entry + ","
	}
	return nil
}

// lastLine returns the last line from first on and before next that belongs to what begins on the
// line first: trailing blank lines and comments that are indented by at most outer do not.
func (e *editor) lastLine(first, next, outer int) int {
	last := next - 1
	for ; last > first; last-- {
		line := strings.TrimLeft(e.lines[last], " ")
		indent, plain := len(e.lines[last])-len(line), strings.TrimSpace(line)
		isComment := strings.HasPrefix(plain, "#") && indent <= outer
		isMarker := indent == 0 && (plain == "..." || plain == "---")
		if plain != "" && !isComment && !isMarker {
			break
		}
	}
	return last
}

// remove sets the edit that removes a server, and returns the number of comment lines above it that
// it removes too.
func (e *editor) remove(name string) (comments int, err error) {
	pair, next := e.section()
	if pair == nil {
		return 0, ErrNotEditable
	}
	value := pair.Value
	if anchor, ok := value.(*ast.AnchorNode); ok {
		value = anchor.Value
	}
	servers, ok := value.(*ast.MappingNode)
	if !ok {
		return 0, ErrNotEditable
	}
	i := slices.IndexFunc(servers.Values, func(v *ast.MappingValueNode) bool { return keyText(v.Key) == name })
	if i < 0 {
		return 0, fmt.Errorf("mcpServers has no entry %q of its own: %w", name, ErrNotEditable)
	}
	if servers.IsFlowStyle {
		return 0, e.removeInside(servers, i)
	}
	lineOf := func(n int) int { return servers.Values[n].Key.GetToken().Position.Line - 1 }
	indent := servers.Values[i].Key.GetToken().Position.Column - 1
	if i+1 < len(servers.Values) {
		next = lineOf(i + 1)
	}
	first, last := lineOf(i), e.lastLine(lineOf(i), next, indent)
	comments = e.commentsAbove(first, indent)
	above := first - comments - 1
	heads := i == 0 && len(servers.Values) > 1 && above == pair.Key.GetToken().Position.Line-1
	if heads && slices.ContainsFunc(servers.Values[1:], func(v *ast.MappingValueNode) bool {
		return e.commentsAbove(v.Key.GetToken().Position.Line-1, indent) == 0
	}) {
		comments = 0
	}
	e.from, e.to = e.starts[first-comments], e.starts[last]+len(e.lines[last])
	return comments, nil
}

// commentsAbove returns the number of comment lines right above a line, with its indent.
func (e *editor) commentsAbove(line, indent int) int {
	n := 0
	for line-n > 0 && strings.HasPrefix(e.lines[line-n-1], strings.Repeat(" ", indent)+"#") {
		n++
	}
	return n
}

// removeInside removes an entry in braces, with one comma.
func (e *editor) removeInside(servers *ast.MappingNode, i int) error {
	at, err := e.offset(servers.Values[i].Key.GetToken())
	if err != nil {
		return err
	}
	if i+1 < len(servers.Values) {
		e.from = at
		if e.to, err = e.offset(servers.Values[i+1].Key.GetToken()); err == nil && regexp.MustCompile(`(?m)^\s*#`).MatchString(e.text[at:e.to]) {
			err = ErrNotEditable // whose comment it is, a person knows
		}
		return err
	}
	open, err := e.offset(servers.Start)
	if err != nil {
		return err
	}
	end, err := e.offset(servers.End)
	if err != nil {
		return err
	}
	if i == 0 { // the only one
		e.from, e.to = open+1, end
		return nil
	}
	e.from = len(strings.TrimRight(e.text[:at], " \t\n"))
	if e.from == 0 || e.text[e.from-1] != ',' {
		return ErrNotEditable
	}
	e.to = len(strings.TrimRight(e.text[:end], " \t\n"))
	if e.text[e.to-1] != ',' { // else the comma after the last entry takes the place of the one before it
		e.from--
	}
	return nil
}

// result makes the edit. It returns an error unless the new text holds what change makes of the
// servers, and everything else as before.
func (e *editor) result(change func([]yaml.MapItem) []yaml.MapItem) ([]byte, error) {
	insert := e.insert
	if bytes.Contains(e.original, []byte("\r\n")) {
		insert = strings.ReplaceAll(insert, "\n", "\r\n")
	}
	from, to := e.originalOffset(e.from), e.originalOffset(e.to)
	text := slices.Concat(e.original[:from], []byte(insert), e.original[to:])
	after, err := readServers(text)
	if err != nil {
		return nil, ErrNotEditable
	}
	want := change(slices.Clone(e.before.servers))
	if !sameItems(want, after.servers) || !reflect.DeepEqual(e.before.rest, after.rest) {
		return nil, ErrNotEditable
	}
	return slices.Concat(e.mark, text), nil
}

// originalOffset returns the offset in the original of an offset in the text.
func (e *editor) originalOffset(at int) int {
	seen := 0
	for i := range e.original {
		if seen == at {
			return i
		}
		if e.original[i] == '\r' && i+1 < len(e.original) && e.original[i+1] == '\n' {
			continue
		}
		seen++
	}
	return len(e.original)
}

// A fileContent holds what a config file says, without layout and comments.
type fileContent struct {
	servers, rest []yaml.MapItem
}

func readServers(data []byte) (c fileContent, err error) {
	defer func() {
		if recover() != nil {
			err = ErrNotEditable
		}
	}()
	var file yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.UseOrderedMap()); err != nil {
		return c, ErrNotEditable // the message of the library quotes the file
	}
	for _, item := range file {
		if item.Key != serversKey {
			c.rest = append(c.rest, item)
			continue
		}
		c.servers, _ = item.Value.(yaml.MapSlice)
	}
	return c, nil
}

// sameItems reports whether two lists hold the same servers. The order may differ: in braces a new
// one comes first.
func sameItems(want, got []yaml.MapItem) bool {
	return len(want) == len(got) && !slices.ContainsFunc(want, func(item yaml.MapItem) bool {
		return !slices.ContainsFunc(got, func(other yaml.MapItem) bool { return reflect.DeepEqual(item, other) })
	})
}
