package lower

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Local returns a schema whose references all lead to a part of it by its place ("#/…"), also those by an
// anchor or an id. One that leads nowhere in the schema, or out of it, is left out, so that its part
// accepts what the rest of it does; lost are these references. Nothing is ever fetched. A schema that needs
// no change, or that cannot be read, is returned as it is.
func Local(raw json.RawMessage) (local json.RawMessage, lost []string) {
	if !hasReferences(raw) {
		return raw, nil
	}
	root, err := read(raw)
	if err != nil {
		return raw, nil
	}
	l := linker{root: root, drop: true}
	local, changed := l.link()
	if !changed {
		return raw, nil
	}
	return local, l.lost
}

// link is [Local] for a schema that was read; references that lead nowhere stay, for the notes.
func link(root value) value {
	if !bytes.Contains(root.raw, []byte(`"$id"`)) && !bytes.Contains(root.raw, []byte(`nchor"`)) {
		return root
	}
	l := linker{root: root}
	local, changed := l.link()
	if !changed {
		return root
	}
	linked, err := read(local)
	if err != nil {
		return root
	}
	return linked
}

func hasReferences(raw json.RawMessage) bool {
	return bytes.Contains(raw, []byte(`"$ref"`)) || bytes.Contains(raw, []byte(`"$dynamicRef"`)) || bytes.Contains(raw, []byte(`"$recursiveRef"`))
}

// A linker makes the references of a schema local.
type linker struct {
	root value
	// drop leaves out references that lead nowhere.
	drop bool
	// places are the places of what has an id or an anchor, by its address.
	places  map[string]string
	find    normaliser
	lost    []string
	changed bool
}

func (l *linker) link() (local json.RawMessage, changed bool) {
	l.places, l.find = map[string]string{"": ""}, normaliser{root: l.root}
	l.collect(l.root, "", "")
	local = l.schema(make([]byte, 0, len(l.root.raw)), l.root, "")
	return local, l.changed
}

// collect records the ids and anchors in a part of the schema. base is the address of the schema that it
// belongs to.
func (l *linker) collect(v value, at, base string) {
	base = l.enter(v, at, base)
	for _, m := range v.obj {
		if m.val.isString() && (m.key == "$anchor" || m.key == "$dynamicAnchor") {
			l.name(base+"#"+m.val.str, at)
		}
	}
	l.each(v, at, func(inner value, at string) { l.collect(inner, at, base) })
}

// enter returns the base of a part of the schema, and records it if it is the part's own.
func (l *linker) enter(v value, at, base string) string {
	for _, m := range v.obj {
		if m.key != "$id" || !m.val.isString() {
			continue
		}
		address, fragment, ok := resolveAddress(base, m.val.str)
		switch {
		case ok && strings.HasPrefix(m.val.str, "#"): // how older drafts write an anchor
			l.name(base+"#"+fragment, at)
		case ok:
			l.name(address, at)
			return address
		}
	}
	return base
}

func (l *linker) name(address, at string) {
	if _, taken := l.places[address]; !taken {
		l.places[address] = at
	}
}

// each calls visit with each schema right inside a part of the schema.
func (l *linker) each(v value, at string, visit func(inner value, at string)) {
	for i, e := range v.arr {
		visit(e, at+"/"+strconv.Itoa(i))
	}
	for _, m := range v.obj {
		at := at + "/" + pointerStep(m.key)
		switch {
		case HoldsValues(m.key):
		case HoldsNamed(m.key):
			for _, inner := range m.val.obj {
				visit(inner.val, at+"/"+pointerStep(inner.key))
			}
		default:
			visit(m.val, at)
		}
	}
}

// HoldsValues reports whether a keyword of JSON Schema holds values, in which nothing is a keyword.
func HoldsValues(key string) bool {
	return slices.Contains([]string{"const", "default", "enum", "example", "examples"}, key)
}

// HoldsNamed reports whether a keyword of JSON Schema holds schemas by names, which are not keywords.
func HoldsNamed(key string) bool {
	return slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}, key)
}

// schema appends a part of the schema with local references.
func (l *linker) schema(b []byte, v value, base string) []byte {
	switch {
	case v.isArray():
		b = append(b, '[')
		for i, e := range v.arr {
			if i > 0 {
				b = append(b, ',')
			}
			b = l.schema(b, e, base)
		}
		return append(b, ']')
	case !v.isObject():
		return append(b, v.raw...)
	}
	base = l.enter(v, "", base) // its place is recorded already
	b = append(b, '{')
	for _, m := range v.obj {
		switch {
		case slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef"}, m.key) && m.val.isString():
			if ref, ok := l.refer(m.val.str, base); ok || !l.drop {
				b = appendString(appendKey(b, "$ref"), ref)
			}
		case slices.Contains([]string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"}, m.key) && !m.val.isObject():
		case HoldsValues(m.key):
			b = append(appendKey(b, m.key), m.val.raw...)
		case HoldsNamed(m.key) && m.val.isObject():
			b = append(appendKey(b, m.key), '{')
			for _, inner := range m.val.obj {
				b = l.schema(appendKey(b, inner.key), inner.val, base)
			}
			b = append(b, '}')
		default:
			b = l.schema(appendKey(b, m.key), m.val, base)
		}
	}
	return append(b, '}')
}

// refer returns a reference as one to a place from the root; ok is false if it leads to no schema.
func (l *linker) refer(ref, base string) (local string, ok bool) {
	address, fragment, ok := resolveAddress(base, ref)
	at, known := l.places[address]
	switch {
	case !ok:
	case known && strings.HasPrefix(fragment, "/"):
		at += fragment
	case fragment != "":
		at, known = l.places[address+"#"+fragment]
	}
	local = "#" + (&url.URL{Fragment: at}).EscapedFragment()
	if target, found := l.find.pointer(local); !ok || !known || !found || !target.isObject() && !target.isTrue() && !target.isFalse() {
		if l.changed = l.changed || l.drop; len(l.lost) < maxNotes && !slices.Contains(l.lost, ref) {
			l.lost = append(l.lost, ref)
		}
		return ref, false
	}
	if before, _ := url.PathUnescape(ref); before == "#"+at {
		return ref, true
	}
	l.changed = true
	return local, true
}

// resolveAddress splits a reference into the address that it means, seen from a base, and its fragment.
func resolveAddress(base, ref string) (address, fragment string, ok bool) {
	address, fragment, _ = strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return "", "", false
	}
	switch {
	case address == "":
		return base, fragment, true
	case base == "":
		return address, fragment, true
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", "", false
	}
	to, err := from.Parse(address)
	if err != nil {
		return "", "", false
	}
	return to.String(), fragment, true
}

// pointerStep escapes a key as a step of a JSON pointer.
func pointerStep(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
