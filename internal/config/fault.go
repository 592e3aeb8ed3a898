package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/internal/text"
)

// A fault is one error in the settings.
type fault struct {
	// Where is the file and line ("molar.yaml:12"), the environment variable or
	// "command line"; empty for a default.
	Where string
	// Key is the path of the key, such as "llm.ollama.base_url"; empty for a fault of the whole
	// file.
	Key string
	// Message names the error and the remedy. It never quotes a value that may be secret.
	Message string
}

// Error joins place, key and message.
func (f *fault) Error() string {
	parts := []string{f.Where, f.Key, f.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// faults is a list of faults, so that a person can fix all of them at once.
type faults []*fault

// Add appends a fault.
func (fs *faults) Add(where, key, format string, args ...any) {
	*fs = append(*fs, &fault{Where: where, Key: key, Message: fmt.Sprintf(format, args...)})
}

// Join returns all faults as one error, or nil if there are none.
func (fs faults) Join() error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// Without returns the faults without those whose key equals, contains or is below the key of a
// fault in others: a misspelled key needs no second fault for the value that is therefore missing.
func (fs faults) Without(others faults) faults {
	return slices.DeleteFunc(slices.Clone(fs), func(f *fault) bool {
		return slices.ContainsFunc(others, func(o *fault) bool { return within(f.Key, o.Key) || within(o.Key, f.Key) })
	})
}

// within reports whether a key equals parent or is below it.
func within(key, parent string) bool {
	rest, ok := strings.CutPrefix(key, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// didYouMean returns `, did you mean "x"?` for the nearest known name, or "" if none is near.
func didYouMean(name string, known []string) string {
	if near := text.Nearest(name, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
