package importers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"molar/eval/cassettes"
)

// A node is a value in a file of JSON, YAML or CSV, with its position. The methods accept nil, which
// stands for a missing value.
type node struct {
	file   string
	line   int
	scalar any
	list   []*node          // not nil for a list
	fields map[string]*node // not nil for an object
	keys   []string         // in their order
}

// maxDepth bounds how deep values are nested.
const maxDepth = 200

// at returns the position, FILE:LINE.
func (n *node) at() string { return fmt.Sprintf("%s:%d", n.file, n.line) }

// errorf returns an error with the position.
func (n *node) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", n.at(), fmt.Errorf(format, args...))
}

// get returns the first of the members that exists and is not null.
func (n *node) get(keys ...string) *node {
	if n == nil {
		return nil
	}
	for _, key := range keys {
		if f := n.fields[key]; f != nil && (f.scalar != nil || f.list != nil || f.fields != nil) {
			return f
		}
	}
	return nil
}

// has reports whether all members exist.
func (n *node) has(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return n.get(key) == nil })
}

// items returns the items of a list, or the value itself if it is something else.
func (n *node) items() []*node {
	switch {
	case n == nil:
		return nil
	case n.list != nil:
		return n.list
	}
	return []*node{n}
}

// text returns a scalar as text, and a list or an object as JSON.
func (n *node) text() string {
	switch {
	case n == nil, n.scalar == nil && n.list == nil && n.fields == nil:
		return ""
	case n.list == nil && n.fields == nil:
		return fmt.Sprint(n.scalar)
	}
	return string(n.json())
}

// texts returns the texts of a list, or of a single value, without the empty ones.
func (n *node) texts() []string {
	var all []string
	for _, item := range n.items() {
		if text := item.text(); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// plain returns the value as encoding/json represents it.
func (n *node) plain() any {
	switch {
	case n == nil:
		return nil
	case n.list != nil:
		all := make([]any, len(n.list))
		for i, item := range n.list {
			all[i] = item.plain()
		}
		return all
	case n.fields != nil:
		all := make(map[string]any, len(n.fields))
		for key, f := range n.fields {
			all[key] = f.plain()
		}
		return all
	}
	return n.scalar
}

func (n *node) json() json.RawMessage {
	data, err := json.Marshal(n.plain())
	if err != nil { // such as YAML's .inf
		return json.RawMessage("null")
	}
	return data
}

// set adds or replaces a member.
func (n *node) set(key string, value *node) {
	if _, known := n.fields[key]; !known {
		n.keys = append(n.keys, key)
	}
	n.fields[key] = value
}

// merged returns an object with the members of several others; the later ones count.
func merged(place *node, all ...*node) *node {
	m := &node{file: place.file, line: place.line, fields: make(map[string]*node)}
	for _, n := range all {
		if n == nil {
			continue
		}
		for _, key := range n.keys {
			m.set(key, n.fields[key])
		}
	}
	return m
}

// member returns an object with one member.
func member(place *node, key string, value *node) *node {
	return &node{file: place.file, line: place.line, fields: map[string]*node{key: value}, keys: []string{key}}
}

// newText returns a text that stands at the place of another value.
func (n *node) newText(text string) *node { return &node{file: n.file, line: n.line, scalar: text} }

// readNodes reads the values of a file: the values or the items of lists in JSON and YAML, the rows of CSV. What is broken is an error with its line, and the rest is read.
func readNodes(f File) (roots []*node, faults []error) {
	data := bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf")) // the byte order mark
	switch strings.ToLower(filepath.Ext(f.Name)) {
	case ".csv", ".tsv":
		return parseCSV(f.Name, data)
	case ".yaml", ".yml":
		return parseYAML(f.Name, data)
	}
	for v, err := range cassettes.Values(data) {
		var root *node
		if err == nil {
			p := jsonParser{file: f.Name, data: v.Raw, line: v.Line, dec: json.NewDecoder(bytes.NewReader(v.Raw))}
			p.dec.UseNumber()
			root, err = p.value(0)
		} else {
			err = fmt.Errorf("%s:%d: %w", f.Name, v.Line, err)
		}
		switch page := root.get("data"); {
		case err != nil:
			faults = append(faults, err)
		case page != nil && page.list != nil && root.get("object").text() == "list": // of OpenAI's service
			roots = append(roots, page.list...)
		default:
			roots = append(roots, root)
		}
	}
	return roots, faults
}

// A jsonParser reads one value of valid JSON.
type jsonParser struct {
	file     string
	data     []byte
	dec      *json.Decoder
	at, line int // where the line was last counted
}

func (p *jsonParser) value(depth int) (*node, error) {
	token, err := p.dec.Token()
	end := int(p.dec.InputOffset())
	p.line, p.at = p.line+bytes.Count(p.data[p.at:end], []byte("\n")), end
	n := &node{file: p.file, line: p.line}
	switch {
	case err != nil:
		return nil, n.errorf("%w", err)
	case depth > maxDepth:
		return nil, n.errorf("it is nested more than %d deep", maxDepth)
	case token == json.Delim('['):
		n.list = []*node{}
	case token == json.Delim('{'):
		n.fields = make(map[string]*node)
	default:
		n.scalar = token
		return n, nil
	}
	for p.dec.More() {
		var key json.Token
		if n.fields != nil {
			if key, err = p.dec.Token(); err != nil {
				return nil, n.errorf("%w", err)
			}
		}
		value, err := p.value(depth + 1)
		switch {
		case err != nil:
			return nil, err
		case n.fields != nil:
			n.set(fmt.Sprint(key), value)
		default:
			n.list = append(n.list, value)
		}
	}
	_, err = p.dec.Token()
	return n, err
}

// parseYAML reads the documents of YAML.
func parseYAML(name string, data []byte) (roots []*node, faults []error) {
	defer func() {
		if r := recover(); r != nil { // the third-party parser may panic
			faults = append(faults, fmt.Errorf("%s:1: the YAML parser cannot make sense of it", name))
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := cassettes.Nested(name, tokens); err != nil {
		return nil, []error{err}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, []error{yamlFault(name, err)}
	}
	for _, doc := range file.Docs {
		p := yamlParser{file: name, anchors: make(map[string]*node), sizes: make(map[string]int)}
		if doc.Body == nil {
			continue
		}
		root, err := p.value(doc.Body, 0)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		roots = append(roots, root.items()...)
	}
	return roots, faults
}

func yamlFault(name string, err error) error {
	if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", name, ye.GetToken().Position.Line, ye.GetMessage())
	}
	return fmt.Errorf("%s:1: %w", name, err)
}

// A yamlParser converts one document.
type yamlParser struct {
	file    string
	anchors map[string]*node
	// size counts the bytes of the values, those of an alias each time, and sizes those of the anchors.
	size  int
	sizes map[string]int
}

// maxSize bounds the values of a document in bytes, so that aliases of aliases cannot fill the memory; each value
// has its text and overhead.
const (
	maxSize  = 256 << 20
	overhead = 256
)

func (p *yamlParser) value(v ast.Node, depth int) (*node, error) {
	n := &node{file: p.file, line: 1}
	if v == nil {
		return n, nil
	}
	n.line = v.GetToken().Position.Line
	if p.size += overhead + len(v.GetToken().Value); p.size > maxSize || depth > maxDepth {
		return nil, n.errorf("the values of the file have more than %d bytes, or they are nested more than %d deep", maxSize, maxDepth)
	}
	switch v := v.(type) {
	case *ast.AnchorNode:
		name, before := v.Name.GetToken().Value, p.size
		inner, err := p.value(v.Value, depth+1)
		p.anchors[name], p.sizes[name] = inner, p.size-before
		return inner, err
	case *ast.AliasNode:
		name := v.Value.GetToken().Value
		p.size += p.sizes[name]
		if inner := p.anchors[name]; inner != nil {
			return inner, nil
		}
		return nil, n.errorf("there is no anchor %q before it", name)
	case *ast.TagNode:
		return p.value(v.Value, depth+1)
	case *ast.SequenceNode:
		n.list = []*node{}
		for _, item := range v.Values {
			value, err := p.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, value)
		}
	case *ast.MappingNode:
		return p.object(n, v.Values, depth)
	case *ast.MappingValueNode:
		return p.object(n, []*ast.MappingValueNode{v}, depth)
	case *ast.LiteralNode:
		n.scalar = v.Value.Value
		p.size += len(v.Value.Value)
	case ast.ScalarNode:
		n.scalar = v.GetValue()
	}
	return n, nil
}

// object converts a mapping. Its own members replace those of a merged one (<<).
func (p *yamlParser) object(n *node, all []*ast.MappingValueNode, depth int) (*node, error) {
	if len(all) > 0 {
		n.line = all[0].Key.GetToken().Position.Line
	}
	own, base := merged(n), merged(n)
	for _, m := range all {
		value, err := p.value(m.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if _, merges := m.Key.(*ast.MergeKeyNode); merges {
			base = merged(n, append(slices.Clone(value.items()), base)...)
			continue
		}
		own.set(m.Key.GetToken().Value, value)
	}
	return merged(n, base, own), nil
}

// parseCSV reads rows as objects of their columns. The first line names the columns, and says by which
// character they are separated.
func parseCSV(name string, data []byte) (roots []*node, faults []error) {
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord, in.LazyQuotes = -1, true
	first, _, _ := bytes.Cut(data, []byte("\n"))
	for _, comma := range ",;\t|" {
		if strings.Count(string(first), string(comma)) > strings.Count(string(first), string(in.Comma)) {
			in.Comma = comma
		}
	}
	columns, err := in.Read()
	if err != nil {
		return nil, []error{fmt.Errorf("%s:1: there is no line with the names of the columns: %w", name, err)}
	}
	for {
		record, err := in.Read()
		if len(record) == 0 {
			break // the end
		}
		line, _ := in.FieldPos(0)
		row := merged(&node{file: name, line: line})
		if err == nil && len(record) > len(columns) {
			err = fmt.Errorf("the row has %d fields, and the first line names %d columns", len(record), len(columns))
		}
		for i, field := range record[:min(len(record), len(columns))] {
			line, _ := in.FieldPos(i)
			row.set(strings.TrimSpace(columns[i]), &node{file: name, line: line, scalar: field})
		}
		if err != nil {
			faults = append(faults, row.errorf("%w", err))
			continue
		}
		roots = append(roots, row)
	}
	return roots, faults
}
