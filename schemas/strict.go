package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := checkValue(dec, 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: data after the value", ErrNotJSON)
	}
	return nil
}

func checkValue(dec *json.Decoder, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	open, isDelim := tok.(json.Delim)
	if !isDelim {
		return nil
	}
	if depth >= MaxDepth {
		return fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	if open == '{' {
		err = checkObject(dec, depth)
	} else {
		err = checkArray(dec, depth)
	}
	if err != nil {
		return err
	}
	_, err = dec.Token() // the closing delimiter
	return err
}

func checkObject(dec *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		if strings.ContainsRune(key, 0) {
			return errors.New("NUL in an object key")
		}
		folded := fold(key)
		if seen[folded] {
			return fmt.Errorf("key %q twice in one object", key)
		}
		seen[folded] = true
		if err := checkValue(dec, depth+1); err != nil {
			return err
		}
	}
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

func checkArray(dec *json.Decoder, depth int) error {
	for dec.More() {
		if err := checkValue(dec, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Decode checks data with [CheckJSON] and decodes it into v. Unknown fields are
// ignored, as the protocols that Molar speaks demand.
func Decode(data []byte, v any) error {
	if err := CheckJSON(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
