// Package cassettes reads traffic with model services that other programs recorded: requests with
// their responses, or, of Gemini CLI, responses alone.
package cassettes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"molar/internal/text"
)

// An Exchange is one recorded request with its response, both decompressed. Of a format that keeps
// only answers, everything else is empty.
type Exchange struct {
	// Source names the recording, if a file holds several.
	Source      string
	Method, URL string
	Request     string
	// Status is 0 if the recording lacks it.
	Status   int
	Header   http.Header // of the response; nil if the recording lacks it
	Response string
}

// A format is a form of recording.
type format struct {
	name string
	// is reports whether a file has the format, by its first JSON value, which is nil if there is none.
	is   func(data []byte, first object) bool
	read func(name string, data []byte) ([]Exchange, error)
}

type object = map[string]any

// formats returns all formats; the first one that matches a file counts.
func formats() []format {
	return []format{
		{"pairs", func(_ []byte, first object) bool { return has(first, "url", "response") }, rows(pair)},
		{"cassette", func(data []byte, first object) bool {
			request, _ := first["request"].(object)
			return bytes.Contains(data, []byte("interactions:")) || has(first, "interactions") || has(first, "http_interactions") ||
				has(first, "response") && (has(request, "url") || has(request, "uri"))
		}, readVCR},
		{"gemini-cli", func(_ []byte, first object) bool {
			method, _ := first["method"].(string)
			return has(first, "response") && strings.HasPrefix(method, "generateContent")
		}, rows(geminiCLI)},
	}
}

func has(o object, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { _, there := o[key]; return !there })
}

// Guess returns the format of a file by its content, or "".
func Guess(data []byte) string {
	var first object
	for v, err := range Values(data) {
		if err == nil {
			_ = json.Unmarshal(v.Raw, &first) // another value stays nil
		}
		break
	}
	for _, f := range formats() {
		if f.is(data, first) {
			return f.name
		}
	}
	return ""
}

// ErrUnknown is the error for a file in none of the formats.
var ErrUnknown = errors.New("this is no recording")

// Read returns the exchanges of a file, which may be compressed with gzip. Errors name the file and,
// if known, the line. Without a format it guesses one.
func Read(format, name string, data []byte) ([]Exchange, error) {
	plain, err := Unzip(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	data = []byte(plain)
	if format == "" {
		format = Guess(data)
	}
	names := make(map[string]bool)
	for _, f := range formats() {
		if f.name == format {
			return f.read(name, data)
		}
		names[f.name] = true
	}
	if format == "" {
		return nil, fmt.Errorf("%s: %w: it begins with %q", name, ErrUnknown, text.Clip(string(data), longestQuote, "…"))
	}
	return nil, fmt.Errorf("format %q: choose %s", format, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// longestQuote is the maximum length of a quotation in an error, in bytes.
const longestQuote = 120

// A Value is one JSON value of a file, with its first line.
type Value struct {
	Raw  json.RawMessage
	Line int
}

// Values yields the JSON values of a file: consecutive ones, or the items of a list. After what is not
// JSON it goes on at the next line that begins an object.
func Values(data []byte) func(yield func(Value, error) bool) {
	return func(yield func(Value, error) bool) {
		dec, begun := json.NewDecoder(bytes.NewReader(data)), int64(0)
		if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
			_, _ = dec.Token() // the opening bracket
		}
		line, counted := 1, int64(0)
		for dec.More() {
			at := begun + dec.InputOffset()
			at += int64(len(data[at:]) - len(bytes.TrimLeft(data[at:], " \t\r\n,")))
			line, counted = line+bytes.Count(data[counted:at], []byte("\n")), at
			v := Value{Line: line}
			err := dec.Decode(&v.Raw)
			if err != nil {
				err = fmt.Errorf("no JSON: %w", err)
			}
			if !yield(v, err) {
				return
			}
			if err != nil {
				next := bytes.Index(data[at:], []byte("\n{"))
				if next < 0 {
					return
				}
				begun = at + int64(next)
				dec = json.NewDecoder(bytes.NewReader(data[begun:]))
			}
		}
	}
}
