package importers

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	yaml "github.com/goccy/go-yaml"

	"molar/eval/match"
)

// readCassette reads a cassette of go-vcr, of VCR for Ruby or of vcrpy, in YAML or JSON. Their lists
// of requests and responses have similar keys.
func readCassette(name string, data []byte) ([]Imported, error) {
	var doc map[string]any
	// Ruby writes the tag !binary, YAML requires !!binary.
	data = regexp.MustCompile(`(?m)([:-] )!binary\b`).ReplaceAll(data, []byte("$1!!binary"))
	if err := recoverPanic(func() error { return yaml.Unmarshal(data, &doc) }); err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			return nil, fmt.Errorf("%s:%d: %s", name, ye.GetToken().Position.Line, ye.GetMessage())
		}
		return nil, fmt.Errorf("%s:1: %w", name, err)
	}
	source, list := "go-vcr", doc["interactions"]
	if ruby, there := doc["http_interactions"]; there {
		source, list = "vcr", ruby
	}
	all, _ := list.([]any)
	var pairs []pair
	for i, item := range all {
		interaction, _ := item.(map[string]any)
		request, _ := interaction["request"].(map[string]any)
		response, _ := interaction["response"].(map[string]any)
		p := pair{method: textOf(request["method"]), url: textOf(request["url"]), status: status(response)}
		if p.url == "" {
			p.url = textOf(request["uri"])
		}
		var err error
		if p.request, err = body(request); err == nil {
			p.response, err = body(response)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: interaction %d: %w", name, i+1, err)
		}
		pairs = append(pairs, p)
	}
	return importPairs(name, source, pairs)
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

// status returns the code of a response, which is next to or inside its status.
func status(response map[string]any) int {
	v := response["code"]
	if inner, ok := response["status"].(map[string]any); ok {
		v = inner["code"]
	}
	n, _ := strconv.Atoi(textOf(v)) // a missing or malformed code is 0
	return n
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
func body(message map[string]any) (string, error) {
	if parsed, there := message["parsed_body"]; there {
		return match.Canonical(match.Normal(parsed)), nil
	}
	v := message["body"]
	if inner, ok := v.(map[string]any); ok {
		v = inner["string"]
		if coded, there := inner["base64_string"]; there {
			plain, err := base64.StdEncoding.DecodeString(textOf(coded))
			if err != nil {
				return "", fmt.Errorf("base64_string: %w", err)
			}
			v = plain
		}
	}
	return gunzip(textOf(v))
}

// maxBody is the maximum size of an unzipped body, in bytes.
const maxBody = 64 << 20

func gunzip(s string) (string, error) {
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
