package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Fault is one thing that is wrong with the settings.
type Fault struct {
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
func (f *Fault) Error() string {
	parts := []string{f.Where, f.Key, f.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// faults gathers what is wrong, so that a person can mend it in one go.
type faults []*Fault

func (fs *faults) add(where, key, format string, args ...any) {
	*fs = append(*fs, &Fault{Where: where, Key: key, Message: fmt.Sprintf(format, args...)})
}

// join returns all faults as one error, or nil when there are none.
func (fs faults) join() error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// without drops the faults whose key is the same as, above or below the key of
// one in others: a misspelled key needs no second fault for what is now missing.
func (fs faults) without(others faults) faults {
	return slices.DeleteFunc(slices.Clone(fs), func(f *Fault) bool {
		return slices.ContainsFunc(others, func(o *Fault) bool { return within(f.Key, o.Key) || within(o.Key, f.Key) })
	})
}

func within(key, parent string) bool {
	rest, ok := strings.CutPrefix(key, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// didYouMean returns `, did you mean "x"?` for the nearest known name, or nothing
// when none is near.
func didYouMean(name string, known []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// editDistance counts the single-letter changes from a to b; two letters that
// changed places count once.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range t {
		rows[0][j+1] = j + 1
	}
	for i := range s {
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(s)][len(t)]
}
