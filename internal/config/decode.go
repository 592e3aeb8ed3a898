package config

import (
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

// A decoder fills a Config from the syntax tree of one YAML file. It knows every
// key from the yaml tags of the types, and notes where each was set.
type decoder struct {
	// file is the name for messages.
	file    string
	env     func(string) (string, bool)
	anchors map[string]ast.Node
	origins map[string]string
	faults  faults
}

// decode reads data into cfg and returns all that is wrong with it.
func (d *decoder) decode(data []byte, cfg *Config) faults {
	body, err := parse(data)
	if err != nil {
		where := d.file
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			where = fmt.Sprintf("%s:%d", d.file, ye.GetToken().Position.Line)
			err = errors.New(ye.GetMessage())
		}
		d.faults.add(where, "", "not readable as YAML: %v", err)
		return d.faults
	}
	if body != nil {
		d.value("", body, reflect.ValueOf(cfg).Elem())
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
		d.origins[key] = d.at(n)
	}
	if m, ok := reflect.TypeAssert[mapping](v.Addr()); ok {
		d.mapping(key, n, m)
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
				d.faults.add(d.at(node), key, "alias %q has no anchor above it", name)
				return nil, false
			}
			n = target
		case *ast.TagNode:
			d.faults.add(d.at(node), key, "YAML tags are not read; write the plain value")
			return nil, false
		default:
			return n, n != nil
		}
	}
	d.faults.add(d.file, key, "the alias names itself")
	return nil, false
}

// entries returns the key-value pairs of a mapping, and false when n is none.
func (d *decoder) entries(key string, n ast.Node) ([]*ast.MappingValueNode, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.faults.add(d.at(n), key, "want a mapping (key: value), got %s", nodeKind(n))
		return nil, false
	}
	plain := make([]*ast.MappingValueNode, 0, len(m.Values))
	for _, e := range m.Values {
		if e.Key.IsMergeKey() {
			d.faults.add(d.at(e.Key), key, "merge keys (<<) are not read; write the keys out")
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
		i, ok := fields.index[name]
		if !ok {
			d.faults.add(d.at(e.Key), join(key, name), "unknown key %q%s", name, didYouMean(name, fields.names))
			continue
		}
		d.value(join(key, name), e.Value, v.Field(i))
	}
}

func (d *decoder) mapping(key string, n ast.Node, m mapping) {
	entries, ok := d.entries(key, n)
	if !ok {
		return
	}
	m.reset()
	for _, e := range entries {
		at := join(key, keyText(e.Key))
		v := m.add(keyText(e.Key))
		d.origins[at] = d.at(e.Key)
		d.value(at, e.Value, v)
	}
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
		d.faults.add(d.at(n), key, "want a list ([a, b]), got %s", nodeKind(n))
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
		d.faults.add(d.at(n), key, "%s, got %s", wanted(v.Type()), nodeKind(n))
		return
	}
	isString := n.Type() == ast.StringType || n.Type() == ast.LiteralType
	expanded := text
	if isString {
		var err error
		if expanded, err = expand(text, d.env); err != nil {
			d.faults.add(d.at(n), key, "%v", err)
			return
		}
	}
	if expanded == text && strings.HasPrefix(key, "api_keys[") && strings.HasSuffix(key, "].key") {
		d.faults.add(d.at(n), key, "keys do not belong in a file; write ${NAME} and set that variable, or give the hash of the key")
		return
	}
	// "${ROUNDS}" is a string in the file, and what it stands for need not be one.
	if !accepts(v.Type(), n) && expanded == text {
		d.faults.add(d.at(n), key, "%s, got %s", wanted(v.Type()), nodeKind(n))
		return
	}
	if err := setScalar(v, expanded); err != nil {
		d.faults.add(d.at(n), key, "%v", err)
	}
}

// at is the place of a node, for messages.
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

func join(parent, name string) string {
	return strings.TrimPrefix(parent+"."+name, ".")
}
