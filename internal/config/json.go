package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxHostFile is the size of the largest file, in bytes. Claude Code keeps its history in the same file.
const maxHostFile = 16 << 20

// An object is a JSON object in the order of the file.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// get returns a member's value; nil if it is missing or null.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name && string(m.value) != "null" {
			return m.value
		}
	}
	return nil
}

// text returns the value of a member that is a string, else "".
func (o object) text(name string) string {
	text, _ := asText(o.get(name))
	return text
}

// strings returns the strings of a member that is a list of scalars, else nil.
func (o object) strings(name string) []string {
	list, _ := asTexts(o.get(name))
	return list
}

// parseFile reads a file that is one JSON object.
func parseFile(data []byte) (object, error) {
	data = plainJSON(data)
	if !json.Valid(data) {
		var v any
		err := json.Unmarshal(data, &v)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
			return nil, fmt.Errorf("line %d: it is not valid JSON", line) // the message of the library quotes the file
		}
		return nil, errors.New("it is not valid JSON")
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	return o, nil
}

// UnmarshalJSON keeps the order of the members. It returns an error for a name that occurs twice,
// because hosts differ in which of the two they use.
func (o *object) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return errors.New("want a JSON object")
	}
	*o = object{}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{name: key.(string)} // a key is always a string
		if err := dec.Decode(&m.value); err != nil {
			return err
		}
		if seen[m.name] {
			return fmt.Errorf("the key %q occurs twice in one object; remove one of the two", m.name)
		}
		seen[m.name] = true
		*o = append(*o, m)
	}
	return nil
}

// asObject parses an object, and returns false if raw is none.
func asObject(raw json.RawMessage) (object, bool) {
	var o object
	if raw == nil || json.Unmarshal(raw, &o) != nil {
		return nil, false
	}
	return o, true
}

func asObjects(raw json.RawMessage) []object {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // anything but a list has no objects
	var objects []object
	for _, item := range list {
		if o, ok := asObject(item); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

func asText(raw json.RawMessage) (string, bool) {
	var text *string
	if raw == nil || json.Unmarshal(raw, &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}

// asScalar returns a string, a number, true or false as text, because people write all of them as
// values of environment variables. Null is "".
func asScalar(raw json.RawMessage) (string, bool) {
	if text, ok := asText(raw); ok {
		return text, true
	}
	switch first := (string(raw) + " ")[0]; {
	case first == '{' || first == '[' || first == ' ':
		return "", false
	case string(raw) == "null":
		return "", true
	default:
		return string(raw), true
	}
}

func asTexts(raw json.RawMessage) ([]string, bool) {
	var list []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	texts := make([]string, len(list))
	for i, item := range list {
		text, ok := asScalar(item)
		if !ok {
			return nil, false
		}
		texts[i] = text
	}
	return texts, true
}

// plainJSON replaces comments and trailing commas by blanks, and removes a byte order mark. Line
// numbers do not change.
func plainJSON(data []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	comma := -1 // index of the last comma if only blanks follow it, else -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i, comma = endOfString(out, i), -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// endOfString returns the index of the quote that closes the string at i.
func endOfString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// blankComment overwrites the comment at i with blanks and returns the index of its last byte.
func blankComment(data []byte, i int) int {
	end := len(data)
	if data[i+1] == '/' {
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			end = i + n
		}
	} else if n := bytes.Index(data[i+2:], []byte("*/")); n >= 0 {
		end = i + 2 + n + 2
	}
	for j := i; j < end; j++ {
		if data[j] != '\n' {
			data[j] = ' '
		}
	}
	return end - 1
}
