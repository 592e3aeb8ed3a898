package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds the file, in bytes: it is read by people.
const maxFile = 1 << 20

// maxAliases bounds a chain of aliases, so that one that names itself ends.
const maxAliases = 16

// A decoder fills a struct from the syntax tree of one YAML file. It takes the
// keys from the yaml tags of the types, and notes where each was set.
type decoder struct {
	// File is the name for messages, Variables that of the file into which a variable can be
	// put.
	File, Variables string
	Env             func(string) (string, bool)
	// Origins takes the place of each key.
	Origins map[string]string
	// Bears reports whether a variable that is not set is no fault below a key; it is one of
	// Unset then.
	Bears func(key string) bool
	// Refers reports whether a key wants a reference to a variable, as it holds a secret, and
	// what else would do.
	Refers func(key string) (instead string, is bool)
	// Unset are the variables that those keys lack.
	Unset []Unset

	anchors map[string]ast.Node
	faults  faults
}

// An Unset is a variable that a key lacks.
type Unset struct {
	Fault    *fault
	Variable string
}

// Decode reads data into a struct, given by its pointer, and returns all that is wrong with
// it.
func (d *decoder) Decode(data []byte, to any) faults {
	d.anchors = make(map[string]ast.Node)
	body, err := parse(data)
	if err != nil {
		where := d.File
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			where = fmt.Sprintf("%s:%d", d.File, ye.GetToken().Position.Line)
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

// parse returns the root of the only document in data, or nil when it is empty.
// The parser is not ours: a panic in it is an error here.
func parse(data []byte) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the parser cannot make sense of it")
		}
	}()
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %s", Size(maxFile))
	}
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

// value decodes n into v. A null leaves v as it is.
func (d *decoder) value(key string, n ast.Node, v reflect.Value) {
	n, ok := d.resolve(key, n)
	if !ok || n.Type() == ast.NullType {
		return
	}
	if key != "" {
		d.Origins[key] = d.at(n)
	}
	if m, ok := reflect.TypeAssert[mapping](v.Addr()); ok {
		d.mapping(key, n, m)
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		d.object(key, n, v)
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

// resolve looks through anchors and aliases.
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
	d.faults.Add(d.File, key, "the alias names itself")
	return nil, false
}

// entries returns the key-value pairs of a mapping, and false when n is not one.
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
			d.faults.Add(d.at(e.Key), join(key, name), "unknown key %q%s", name, didYouMean(name, fields.Names))
			continue
		}
		d.value(join(key, name), e.Value, v.FieldByIndex(i))
	}
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
		d.Origins[at] = d.at(e.Key)
		d.value(at, e.Value, v)
	}
}

// object takes any mapping as it stands.
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
		d.faults.Add(d.at(n), key, "%s, got %s", wanted(v.Type()), nodeKind(n))
		return
	}
	isString := n.Type() == ast.StringType || n.Type() == ast.LiteralType
	expanded := text
	if isString {
		var err error
		expanded, err = expand(text, d.Env)
		lacking, unset := errors.AsType[unsetError](err)
		if unset {
			lacking.File = d.Variables
			err = lacking
		}
		if unset && d.Bears(key) {
			d.Unset = append(d.Unset, Unset{&fault{Where: d.at(n), Key: key, Message: err.Error()}, lacking.Name})
			if v.Kind() == reflect.String {
				v.SetString(text) // so that it stays known which kind of server it is
			}
			return
		}
		if err != nil {
			d.faults.Add(d.at(n), key, "%v", err)
			return
		}
	}
	if instead, is := d.Refers(key); is && expanded == text {
		d.faults.Add(d.at(n), key, "keys do not belong in this file; write ${NAME}, and put NAME=… into %s or set that variable%s", d.Variables, instead)
		return
	}
	// "${ROUNDS}" is a string in the file, and what it stands for need not be one.
	if !accepts(v.Type(), n) && expanded == text {
		d.faults.Add(d.at(n), key, "%s, got %s", wanted(v.Type()), nodeKind(n))
		return
	}
	if err := setScalar(v, expanded); err != nil {
		d.faults.Add(d.at(n), key, "%v", err)
	}
}

// at is the place of a node, for messages.
func (d *decoder) at(n ast.Node) string {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return fmt.Sprintf("%s:%d", d.File, tk.Position.Line)
	}
	return d.File
}

func keyText(k ast.MapKeyNode) string {
	if explicit, ok := k.(*ast.MappingKeyNode); ok && explicit.Value != nil {
		return explicit.Value.GetToken().Value
	}
	return k.GetToken().Value
}

// join is the key of a name below another.
func join(parent, name string) string {
	return strings.TrimPrefix(parent+"."+name, ".")
}
