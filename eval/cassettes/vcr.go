package cassettes

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"molar/eval/match"
)

// readVCR reads a cassette of go-vcr, of VCR for Ruby or of vcrpy, in YAML or JSON, or a single
// interaction of one. Their lists of requests and responses have similar keys.
func readVCR(name string, data []byte) ([]Exchange, error) {
	doc, err := document(name, data)
	if err != nil {
		return nil, err
	}
	list := doc["interactions"]
	if ruby, there := doc["http_interactions"]; there {
		list = ruby
	}
	all, _ := list.([]any)
	if has(doc, "request", "response") {
		all = []any{doc}
	}
	var exchanges []Exchange
	for i, item := range all {
		interaction, _ := item.(object)
		request, _ := interaction["request"].(object)
		response, _ := interaction["response"].(object)
		e := Exchange{Method: textOf(request["method"]), URL: textOf(request["url"]), Status: status(response), Header: header(response["headers"])}
		if e.URL == "" {
			e.URL = textOf(request["uri"])
		}
		var err error
		if e.Request, err = body(request); err == nil {
			e.Response, err = body(response)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: interaction %d: %w", name, i+1, err)
		}
		exchanges = append(exchanges, e)
	}
	return exchanges, nil
}

// document parses a file of JSON, or else YAML.
func document(name string, data []byte) (doc object, err error) {
	if json.Unmarshal(data, &doc) == nil {
		return doc, nil
	}
	// vcrpy may write a key as an object of Python's.
	data = regexp.MustCompile(`(?m)^( *)\? !!python/\S+\n *- (.+)\n *: `).ReplaceAll(data, []byte("$1$2:\n$1"))
	// Ruby writes the tag !binary, YAML requires !!binary.
	data = regexp.MustCompile(`(?m)([:-] )!binary\b`).ReplaceAll(data, []byte("$1!!binary"))
	if err := Nested(name, lexer.Tokenize(string(data))); err != nil {
		return nil, err
	}
	if err := recoverPanic(func() error { return yaml.Unmarshal(data, &doc) }); err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			return nil, fmt.Errorf("%s:%d: %s", name, ye.GetToken().Position.Line, ye.GetMessage())
		}
		return nil, fmt.Errorf("%s:1: %w", name, err)
	}
	if left := maxBody; !fits(doc, &left) {
		return nil, fmt.Errorf("%s:1: its values have more than %d bytes", name, maxBody)
	}
	return doc, nil
}

// Nested returns an error if brackets, or the dashes of a line, are nested too deep in YAML. The parser needs memory
// by the square of the depth.
func Nested(name string, tokens token.Tokens) error {
	const deepest = 200
	open, dashes := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			if dashes++; i > 0 && tokens[i-1].Position.Line != t.Position.Line {
				dashes = 1
			}
		}
		if open+dashes > deepest {
			return fmt.Errorf("%s:%d: it is nested more than %d deep", name, t.Position.Line, deepest)
		}
	}
	return nil
}

// fits reports whether a value has at most the bytes that are left, with those of an alias each time.
func fits(v any, left *int) bool {
	const overhead = 64
	*left -= overhead
	switch v := v.(type) {
	case object:
		for name, value := range v {
			if *left -= len(name); !fits(value, left) {
				return false
			}
		}
	case []any:
		return *left >= 0 && !slices.ContainsFunc(v, func(item any) bool { return !fits(item, left) })
	case string:
		*left -= len(v)
	case []byte:
		*left -= len(v)
	}
	return *left >= 0
}

// recoverPanic turns a panic of a third-party parser into an error.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the parser cannot make sense of it")
		}
	}()
	return f()
}

// status returns the code of a response: its status, or a code next to or inside it.
func status(response object) int {
	v := response["code"]
	switch inner := response["status"].(type) {
	case object:
		v = inner["code"]
	case nil, string:
	default:
		v = inner
	}
	n, _ := strconv.Atoi(textOf(v)) // a missing or malformed code is 0
	return n
}

// header returns headers with one value or a list of them each.
func header(v any) http.Header {
	all, _ := v.(object)
	h := make(http.Header, len(all))
	for name, value := range all {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, one := range list {
			h.Add(name, textOf(one))
		}
	}
	return h
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// body returns the body of a message, unzipped: a text, bytes, a nested text with or without
// base64, or parsed JSON.
func body(message object) (string, error) {
	if parsed, there := message["parsed_body"]; there {
		return match.Canonical(match.Normal(parsed)), nil
	}
	v := message["body"]
	if inner, ok := v.(object); ok {
		v = inner["string"]
		if coded, there := inner["base64_string"]; there {
			plain, err := base64.StdEncoding.DecodeString(textOf(coded))
			if err != nil {
				return "", fmt.Errorf("base64_string: %w", err)
			}
			v = plain
		}
	}
	return Unzip(textOf(v))
}

// maxBody is the maximum size of an unzipped body, in bytes.
const maxBody = 64 << 20

// Unzip decompresses a text if it is compressed with gzip.
func Unzip(s string) (string, error) {
	if len(s) < 2 || s[0] != 0x1f || s[1] != 0x8b {
		return s, nil
	}
	in, err := gzip.NewReader(bytes.NewReader([]byte(s)))
	if err != nil {
		return "", fmt.Errorf("gzip: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(in, maxBody))
	if err != nil {
		return "", fmt.Errorf("gzip: %w", err)
	}
	return string(plain), nil
}
