package lower

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Trim returns a schema without the definitions at its root that nothing refers to. Generators often
// copy all definitions of an API into the schema of each tool. The rest stays as it is, in its order,
// and accepts the same values. A schema that cannot be read, or that refers to its parts in another
// way than by "#/…", is returned unchanged.
func Trim(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"$defs"`)) && !bytes.Contains(raw, []byte(`"definitions"`)) {
		return raw
	}
	root, err := read(raw)
	if err != nil || !root.isObject() {
		return raw
	}
	u := uses{definitions: map[string]value{}, used: map[string]bool{}}
	for _, m := range root.obj {
		for _, d := range definitions(m) {
			u.definitions["#/"+m.key+"/"+d.key] = d.val
		}
	}
	for _, m := range root.obj {
		if definitions(m) == nil {
			u.add(m)
		}
	}
	if u.unknown || len(u.used) == len(u.definitions) {
		return raw
	}
	b := []byte{'{'}
	for _, m := range root.obj {
		if kept, is := u.trimmed(m); !is {
			b = append(appendKey(b, m.key), m.val.raw...)
		} else if len(kept) > 0 {
			b = append(appendKey(b, m.key), '{')
			for _, d := range kept {
				b = append(appendKey(b, d.key), d.val.raw...)
			}
			b = append(b, '}')
		}
	}
	return append(b, '}')
}

// definitions returns the definitions of a member of the root; nil if it is another member.
func definitions(m member) []member {
	if !holdsDefinitions(m.key) {
		return nil
	}
	return m.val.obj
}

// holdsDefinitions reports whether a member of the root holds definitions.
func holdsDefinitions(key string) bool { return key == "$defs" || key == "definitions" }

// appendKey appends the key of an object's member, after a comma if it is not the first.
func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendString(b, key), ':')
}

// uses are the definitions that a schema refers to.
type uses struct {
	definitions map[string]value // by reference
	used        map[string]bool
	// unknown is set if the schema refers to its parts in a way that is not followed.
	unknown bool
}

// add follows the references in a member and in what they lead to.
func (u *uses) add(m member) {
	switch m.key {
	case "$ref":
		if m.val.isString() {
			u.refer(m.val.str)
		}
	case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef":
		u.unknown = true
	}
	u.addAll(m.val)
}

// addAll follows the references in a value.
func (u *uses) addAll(v value) {
	for _, m := range v.obj {
		u.add(m)
	}
	for _, e := range v.arr {
		u.addAll(e)
	}
}

// refer follows a reference.
func (u *uses) refer(ref string) {
	if ref != "#" && !strings.HasPrefix(ref, "#/") {
		u.unknown = true
		return
	}
	if decoded, err := url.PathUnescape(ref); err == nil {
		ref = decoded
	}
	steps := strings.Split(ref, "/")
	if len(steps) < 3 {
		u.unknown = u.unknown || holdsDefinitions(steps[len(steps)-1])
		return
	}
	key := strings.Join([]string{"#", steps[1], strings.ReplaceAll(strings.ReplaceAll(steps[2], "~1", "/"), "~0", "~")}, "/")
	if d, known := u.definitions[key]; known && !u.used[key] {
		u.used[key] = true
		u.addAll(d)
	}
}

// trimmed returns the used definitions of a member of the root, and whether it holds definitions.
func (u *uses) trimmed(m member) (kept []member, is bool) {
	all := definitions(m)
	if all == nil {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(all), func(d member) bool { return !u.used["#/"+m.key+"/"+d.key] }), true
}
