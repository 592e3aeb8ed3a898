package importers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"molar/eval/cassettes"
)

// formats returns the readers by format.
func formats() map[string]func(name string, data []byte) ([]Imported, error) {
	all := map[string]func(string, []byte) ([]Imported, error){"openai": readOpenAI}
	for _, format := range []string{"cassette", "pairs"} {
		all[format] = readExchanges(format)
	}
	return all
}

// choices lists the formats that [Read] accepts.
func choices() string { return strings.Join(slices.Sorted(maps.Keys(formats())), ", ") }

// Read converts a file to cases. Without a format it guesses one from the start of the file.
func Read(format, name string, data []byte) ([]Imported, error) {
	if format == "" {
		if format = guess(name, data); format == "" {
			return nil, fmt.Errorf("%s: this is not recognised as one of %s: it begins with %q; name the format with --from", name, choices(), string(data[:min(len(data), 60)]))
		}
	}
	read, known := formats()[format]
	if !known {
		return nil, fmt.Errorf("format %q: choose %s", format, choices())
	}
	return read(name, data)
}

// guess returns the format of a file by its start, or "".
func guess(name string, data []byte) string {
	format := cassettes.Guess(name, data)
	if _, known := formats()[format]; known {
		return format
	}
	for v, err := range cassettes.Values(data) {
		var first struct{ Messages, Request, Response json.RawMessage }
		if err == nil && json.Unmarshal(v.Raw, &first) == nil && (first.Messages != nil || first.Request != nil && first.Response != nil) {
			return "openai"
		}
		break
	}
	return ""
}
