package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of [CheckJSON].
const (
	// MaxDepth is how deep objects and arrays may nest.
	MaxDepth = 128
)

// ErrNotJSON is the kind of every error of [CheckJSON].
var ErrNotJSON = errors.New("not strict JSON")

// CheckJSON reports whether data is exactly one JSON value that every decoder
// would read alike: valid UTF-8, no key twice in an object nor twice but for
// its case, no NUL in a key, at most [MaxDepth] levels. It keeps one layer from
// seeing another value than the next (encoding/json alone takes the last of two
// equal keys and folds their case).
func CheckJSON(data []byte) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("%w: invalid UTF-8", ErrNotJSON)
	}
	if !json.Valid(data) {
		var value json.RawMessage
		return fmt.Errorf("%w: %w", ErrNotJSON, json.Unmarshal(data, &value)) // which says what is wrong
	}
	if err := checkKeys(data); err != nil {
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return nil
}

// checkKeys looks at depth and keys of a text that is known to be JSON.
func checkKeys(data []byte) error {
	var open []keys // the objects and arrays around; an array has no keys
	key := false    // the next string is a key
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if len(open) >= MaxDepth {
				return fmt.Errorf("nested deeper than %d levels", MaxDepth)
			}
			key = data[i] == '{'
			open = append(open, keys{object: key})
		case '}', ']':
			open, key = open[:len(open)-1], false
		case ',':
			key = open[len(open)-1].object
		case '"':
			end := i + stringEnd(data[i:])
			if key {
				if err := open[len(open)-1].add(data[i:end]); err != nil {
					return err
				}
			}
			i, key = end-1, false
		}
	}
	return nil
}

// stringEnd is the length of the JSON string at the start of data, with its quotes.
func stringEnd(data []byte) int {
	for i := 1; ; i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// keys are those of an object so far, folded.
type keys struct {
	object bool
	few    []string
	many   map[string]struct{} // those beyond few, in large objects
}

// fewKeys is how many keys are looked through one by one.
const fewKeys = 16

// add takes a quoted key.
func (k *keys) add(quoted []byte) error {
	key := string(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(quoted, '\\') >= 0 {
		if err := json.Unmarshal(quoted, &key); err != nil {
			return err
		}
	}
	if strings.ContainsRune(key, 0) {
		return errors.New("NUL in an object key")
	}
	folded := fold(key)
	_, twice := k.many[folded]
	if twice || slices.Contains(k.few, folded) {
		return fmt.Errorf("key %q twice in one object", key)
	}
	if k.many == nil && len(k.few) < fewKeys {
		k.few = append(k.few, folded)
		return nil
	}
	if k.many == nil {
		k.many = map[string]struct{}{}
	}
	k.many[folded] = struct{}{}
	return nil
}

// fold gives keys that encoding/json takes for one name of ASCII letters the same form.
// Two runes from beyond ASCII fold to such a letter.
func fold(key string) string {
	key = strings.ToLower(key) // takes the Kelvin sign to k
	if strings.ContainsRune(key, longS) {
		key = strings.ReplaceAll(key, string(longS), "s")
	}
	return key
}

// longS is the old form of a small s, which has no capital of its own.
const longS = 'ſ'

// Decode checks data with [CheckJSON] and decodes it into v. Unknown fields are
// ignored, as the protocols that Molar speaks demand.
func Decode(data []byte, v any) error {
	if err := CheckJSON(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
