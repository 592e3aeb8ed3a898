package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/internal/text"
)

// A fault is one thing that is wrong with the settings.
type fault struct {
	// Where is the file and line ("molar.yaml:12"), the environment variable or
	// "command line"; empty for a default.
	Where string
	// Key is the path of the key, such as "llm.ollama.base_url"; empty when the
	// fault is the file's.
	Key string
	// Message says what is wrong and what would be right. It never quotes a value
	// that may be secret.
	Message string
}

// Error joins place, key and message.
func (f *fault) Error() string {
	parts := []string{f.Where, f.Key, f.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// faults gathers what is wrong, so that a person can mend it in one go.
type faults []*fault

// Add notes one.
func (fs *faults) Add(where, key, format string, args ...any) {
	*fs = append(*fs, &fault{Where: where, Key: key, Message: fmt.Sprintf(format, args...)})
}

// join returns all faults as one error, or nil when there are none.
func (fs faults) Join() error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// Without drops the faults whose key is the same as, above or below the key of
// one in others: a misspelled key needs no second fault for what is now missing.
func (fs faults) Without(others faults) faults {
	return slices.DeleteFunc(slices.Clone(fs), func(f *fault) bool {
		return slices.ContainsFunc(others, func(o *fault) bool { return within(f.Key, o.Key) || within(o.Key, f.Key) })
	})
}

// within reports whether a key is the same as another, or below it.
func within(key, parent string) bool {
	rest, ok := strings.CutPrefix(key, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// didYouMean returns `, did you mean "x"?` for the nearest known name, or nothing
// when none is near.
func didYouMean(name string, known []string) string {
	if near := text.Nearest(name, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
