package importers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formats returns the readers by format.
func formats() map[string]func(name string, data []byte) ([]Imported, error) {
	return map[string]func(string, []byte) ([]Imported, error){
		"cassette": readCassette, "httprr": readHTTPRR, "openai": readOpenAI, "pairs": readPairs,
	}
}

// choices lists the formats that [Read] accepts.
func choices() string { return strings.Join(slices.Sorted(maps.Keys(formats())), ", ") }

// Read converts a file to cases. Without a format it guesses one from the start of the file.
func Read(format, name string, data []byte) ([]Imported, error) {
	if format == "" {
		if format = guess(data); format == "" {
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
func guess(data []byte) string {
	if bytes.HasPrefix(data, []byte("httprr trace")) {
		return "httprr"
	}
	var first map[string]json.RawMessage
	for v, err := range values(data) {
		if err == nil {
			err = json.Unmarshal(v.raw, &first)
		}
		if err != nil {
			first = nil
		}
		break
	}
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { _, there := first[key]; return !there })
	}
	switch {
	case has("url", "response"):
		return "pairs"
	case has("messages"), has("request", "response"):
		return "openai"
	case bytes.Contains(data, []byte("interactions:")), has("interactions"), has("http_interactions"):
		return "cassette"
	}
	return ""
}

// A value is one JSON value of a file, with its first line.
type value struct {
	raw  json.RawMessage
	line int
}

// values yields the JSON values of a file: consecutive ones, or the items of a list.
func values(data []byte) func(yield func(value, error) bool) {
	return func(yield func(value, error) bool) {
		dec := json.NewDecoder(bytes.NewReader(data))
		if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
			_, _ = dec.Token() // the opening bracket
		}
		for dec.More() {
			at := dec.InputOffset()
			at += int64(len(data[at:]) - len(bytes.TrimLeft(data[at:], " \t\r\n,")))
			v := value{line: 1 + bytes.Count(data[:at], []byte("\n"))}
			err := dec.Decode(&v.raw)
			if err != nil {
				err = fmt.Errorf("no JSON: %w", err)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}
