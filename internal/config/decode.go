package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile is the size of the largest config file, in bytes. People write such files by hand.
const maxFile = 1 << 20

// maxAliases is the length of the longest chain of anchors and aliases, so that resolving an alias
// that refers to itself ends.
const maxAliases = 16

// A decoder fills a struct from the syntax tree of one YAML file. The keys are the yaml tags of
// the struct types. It records the line that sets each key.
type decoder struct {
	// file is the name of the file in messages, and variablesFile the one to which their
	// remedies add variables.
	file, variablesFile string
	env                 func(string) (string, bool)
	// origins receives the place of each key.
	origins map[string]string
	// unset are the unset variables of servers. They are no faults: only their server is not
	// attached.
	unset []unsetVariable

	anchors map[string]ast.Node
	faults  faults
}

// An unsetVariable is a variable that a key refers to and that is not set.
type unsetVariable struct {
	Fault    *fault
	Variable string
}

// decode reads data into the struct that to points to, and returns all faults.
func (d *decoder) decode(data []byte, to any) faults {
	d.anchors = make(map[string]ast.Node)
	body, err := parse(data)
	if err != nil {
		where := d.file
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			where = fmt.Sprintf("%s:%d", d.file, ye.GetToken().Position.Line)
			err = errors.New(ye.GetMessage())
		}
		d.faults.Add(where, "", "not readable as YAML: %v", err)
		return d.faults
	}
	if body != nil {
		d.value("", body, reflect.ValueOf(to).Elem())
	}
	return d.faults
}

// cutMark cuts the mark of the encoding off a text, with which some editors begin it. The parser takes it for
// a part of the first key.
func cutMark(data []byte) (mark, text []byte) {
	const all = "\ufeff"
	if bytes.HasPrefix(data, []byte(all)) {
		return data[:len(all)], data[len(all):]
	}
	return nil, data
}

// parse returns the root of the only document in data, or nil if it is empty. It turns a panic of
// the YAML library into an error.
func parse(data []byte) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the parser failed")
		}
	}()
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %s", Size(maxFile))
	}
	_, data = cutMark(data)
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, err
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			return nil, errors.New("it holds more than one document")
		default:
			root = doc.Body
		}
	}
	return root, nil
}

// value decodes n into v. A null leaves v unchanged.
func (d *decoder) value(key string, n ast.Node, v reflect.Value) {
	n, ok := d.resolve(key, n)
	if !ok || n.Type() == ast.NullType {
		return
	}
	if key != "" {
		d.origins[key] = d.at(n)
	}
	if m, ok := reflect.TypeAssert[mapping](v.Addr()); ok {
		d.mapping(key, n, m)
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		d.object(key, n, v)
		return
	}
	if _, text := readsText(v); text {
		d.scalar(key, n, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(key, n, v)
	case reflect.Map:
		d.secrets(key, n, v)
	case reflect.Slice:
		d.list(key, n, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.scalar(key, n, v.Elem())
	default:
		d.scalar(key, n, v)
	}
}

// resolve returns the node behind anchors and aliases.
func (d *decoder) resolve(key string, n ast.Node) (ast.Node, bool) {
	for range maxAliases {
		switch node := n.(type) {
		case *ast.AnchorNode:
			d.anchors[node.Name.GetToken().Value] = node.Value
			n = node.Value
		case *ast.AliasNode:
			name := node.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.faults.Add(d.at(node), key, "alias %q has no anchor above it", name)
				return nil, false
			}
			n = target
		case *ast.TagNode:
			d.faults.Add(d.at(node), key, "YAML tags are not read; write the plain value")
			return nil, false
		default:
			return n, n != nil
		}
	}
	d.faults.Add(d.file, key, "the alias refers to itself")
	return nil, false
}

// entries returns the key-value pairs of a mapping, and false if n is not a mapping.
func (d *decoder) entries(key string, n ast.Node) ([]*ast.MappingValueNode, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.faults.Add(d.at(n), key, "want a mapping (key: value), got %s", nodeKind(n))
		return nil, false
	}
	plain := make([]*ast.MappingValueNode, 0, len(m.Values))
	for _, e := range m.Values {
		if e.Key.IsMergeKey() {
			d.faults.Add(d.at(e.Key), key, "merge keys (<<) are not read; write the keys out")
			continue
		}
		plain = append(plain, e)
	}
	return plain, true
}

func (d *decoder) structure(key string, n ast.Node, v reflect.Value) {
	entries, ok := d.entries(key, n)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, e := range entries {
		name := keyText(e.Key)
		i, ok := fields.Index[name]
		if !ok {
			d.faults.Add(d.at(e.Key), join(key, name), "unknown key %q%s", name, cmp.Or(replaced(v.Type(), name), didYouMean(name, fields.Names)))
			continue
		}
		d.value(join(key, name), e.Value, v.FieldByIndex(i))
	}
}

// replaced returns what takes the place of a key that earlier versions had, "" for other keys.
func replaced(of reflect.Type, name string) string {
	if of == reflect.TypeFor[ToolRule]() && name == "egress" {
		return ": it is gone; say closed: true of a server that reaches nobody outside, or allow the way with flows: [{from, to, allow}]"
	}
	return ""
}

func (d *decoder) mapping(key string, n ast.Node, m mapping) {
	entries, ok := d.entries(key, n)
	if !ok {
		return
	}
	m.Reset()
	for _, e := range entries {
		at := join(key, keyText(e.Key))
		v := m.Add(keyText(e.Key))
		d.origins[at] = d.at(e.Key)
		d.value(at, e.Value, v)
	}
}

// object stores a mapping with arbitrary keys as JSON.
func (d *decoder) object(key string, n ast.Node, v reflect.Value) {
	if _, ok := d.entries(key, n); !ok {
		return
	}
	var fields map[string]any
	if err := yaml.NodeToValue(n, &fields); err != nil {
		d.faults.Add(d.at(n), key, "cannot be read")
		return
	}
	object, err := json.Marshal(fields)
	if err != nil {
		d.faults.Add(d.at(n), key, "cannot be written as JSON: %v", err)
		return
	}
	v.SetBytes(object)
}

func (d *decoder) secrets(key string, n ast.Node, v reflect.Value) {
	entries, ok := d.entries(key, n)
	if !ok {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range entries {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(join(key, keyText(e.Key)), e.Value, value)
		v.SetMapIndex(reflect.ValueOf(keyText(e.Key)), value)
	}
}

func (d *decoder) list(key string, n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok && v.Type() == reflect.TypeFor[Providers]() {
		v.Set(reflect.ValueOf(Providers{""}))
		d.scalar(key, n, v.Index(0))
		return
	}
	if !ok {
		d.faults.Add(d.at(n), key, "want a list ([a, b]), got %s", nodeKind(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		d.value(fmt.Sprintf("%s[%d]", key, i), item, v.Index(i))
	}
}

func (d *decoder) scalar(key string, n ast.Node, v reflect.Value) {
	text, ok := scalarText(n)
	if !ok {
		d.faults.Add(d.at(n), key, "%s, got %s", expectation(v.Type()), nodeKind(n))
		return
	}
	isString := n.Type() == ast.StringType || n.Type() == ast.LiteralType
	expanded := text
	if isString {
		var err error
		env := d.env
		if isPersonHeader(key) {
			env = keepPerson(env)
		}
		expanded, err = expand(text, env)
		missing, unset := errors.AsType[unsetError](err)
		if unset {
			missing.File = d.variablesFile
			err = missing
		}
		if unset && within(key, "mcpServers") {
			d.unset = append(d.unset, unsetVariable{&fault{Where: d.at(n), Key: key, Message: err.Error()}, missing.Name})
			if v.Kind() == reflect.String {
				v.SetString(text) // a non-empty command or url still tells the kind of server
			}
			return
		}
		if err != nil {
			d.faults.Add(d.at(n), key, "%v", err)
			return
		}
	}
	if alternative, needed := needsReference(key); needed && expanded == text {
		d.faults.Add(d.at(n), key, "keys do not belong in this file; write ${NAME}, and put NAME=… into %s or set that variable%s", d.variablesFile, alternative)
		return
	}
	// "${ROUNDS}" is a string in the file, but the value of the variable may be a number.
	if !accepts(v.Type(), n) && expanded == text {
		d.faults.Add(d.at(n), key, "%s, got %s", expectation(v.Type()), nodeKind(n))
		return
	}
	if err := setScalar(v, expanded); err != nil {
		d.faults.Add(d.at(n), key, "%v", err)
	}
}

// at returns the file and line of a node, for messages.
func (d *decoder) at(n ast.Node) string {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return fmt.Sprintf("%s:%d", d.file, tk.Position.Line)
	}
	return d.file
}

func keyText(k ast.MapKeyNode) string {
	if explicit, ok := k.(*ast.MappingKeyNode); ok && explicit.Value != nil {
		return explicit.Value.GetToken().Value
	}
	return k.GetToken().Value
}

// join returns the key path of name below parent.
func join(parent, name string) string {
	return strings.TrimPrefix(parent+"."+name, ".")
}
