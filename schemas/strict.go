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

// ErrNotJSON is wrapped by every error of [CheckJSON].
var ErrNotJSON = errors.New("not strict JSON")

// CheckJSON reports whether data is exactly one JSON value that every decoder reads alike: valid
// UTF-8, no duplicate key in an object, even with another case, no NUL in a key, at most
// [MaxDepth] levels. This keeps two layers from reading different values (encoding/json alone
// takes the last of two equal keys and folds their case).
func CheckJSON(data []byte) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("%w: invalid UTF-8", ErrNotJSON)
	}
	if !json.Valid(data) {
		var value json.RawMessage
		return fmt.Errorf("%w: %w", ErrNotJSON, json.Unmarshal(data, &value)) // it names the fault
	}
	if err := checkKeys(data); err != nil {
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return nil
}

// checkKeys checks the depth and keys of valid JSON.
func checkKeys(data []byte) error {
	var open []keys // the enclosing objects and arrays; an array has no keys
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

// stringEnd returns the length of the JSON string at the start of data, with its quotes.
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

// keys are an object's keys so far, folded.
type keys struct {
	object bool
	few    []string
	many   map[string]struct{} // further keys of large objects
}

// fewKeys is how many keys are searched linearly.
const fewKeys = 16

// add adds a quoted key.
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

// fold normalises keys that encoding/json treats as one name of ASCII letters. Two non-ASCII
// runes fold to such a letter.
func fold(key string) string {
	key = strings.ToLower(key) // maps the Kelvin sign to k
	if strings.ContainsRune(key, longS) {
		key = strings.ReplaceAll(key, string(longS), "s")
	}
	return key
}

// longS is the long s, which folds to s but has no capital of its own.
const longS = 'ſ'

// Decode checks data with [CheckJSON] and decodes it into v. It ignores unknown fields, as
// Molar's protocols require.
func Decode(data []byte, v any) error {
	if err := CheckJSON(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
