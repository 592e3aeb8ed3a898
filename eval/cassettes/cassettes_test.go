package cassettes_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/cassettes"
)

const (
	address = "https://api.example/v1/chat/completions"
	asked   = `{"model":"m"}`
	said    = `{"choices":[{"message":{"content":"Hi"}}]}`
)

func zipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // into memory
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The same exchange in each format that keeps requests.
func TestRead(t *testing.T) {
	t.Parallel()
	pairs := `{"method":"POST","url":"` + address + `","status":429,"request":` + asked + `,"response":` + said + `}`
	coded := base64.StdEncoding.EncodeToString([]byte(zipped(t, said)))
	for name, tt := range map[string]struct {
		file, data string
		bare       bool // the format keeps no headers
	}{
		"go-vcr": {file: "a.yaml", data: "version: 2\ninteractions:\n- request:\n    method: POST\n    url: " + address + "\n    body: '" + asked + "'\n  response:\n    code: 429\n    status: 429 Too Many Requests\n    headers: {Retry-After: ['7']}\n    body: '" + said + "'\n"},
		"vcrpy":  {file: "a.yaml", data: "interactions:\n- request:\n    method: POST\n    uri: " + address + "\n    parsed_body: " + asked + "\n  response:\n    status: {code: 429, message: x}\n    headers: {retry-after: ['7']}\n    body: {string: !!binary " + coded + "}\n"},
		"vcrpy with Python's keys": {file: "a.yaml", data: "interactions:\n- request:\n    method: POST\n    uri: " + address + "\n    body: '" + asked + "'\n  response:\n    status: {code: 429, message: x}\n    headers:\n" +
			"      ? !!python/object/apply:multidict._multidict.istr\n      - Retry-After\n      : - '7'\n    body: {string: '" + said + "'}\n"},
		"one interaction": {file: "a.json", data: `{"request":{"method":"POST","url":"` + address + `","body":` + fmt.Sprintf("%q", asked) + `},"response":{"status":{"code":429},"headers":{"Retry-After":"7"},"body":` + fmt.Sprintf("%q", said) + `}}`},
		"VCR for Ruby":    {file: "a.yml", data: "http_interactions:\n- request:\n    method: POST\n    uri: " + address + "\n    body: {string: '" + asked + "'}\n  response:\n    status: {code: 429}\n    headers: {Retry-After: ['7']}\n    body:\n      string: !binary |-\n        " + base64.StdEncoding.EncodeToString([]byte(said)) + "\n"},
		"vcr of R":        {file: "a.yml", data: "http_interactions:\n- request:\n    method: POST\n    uri: " + address + "\n    body: {string: '" + asked + "'}\n  response:\n    status: 429\n    headers: {Retry-After: '7'}\n    body: {string: '" + said + "'}\n"},
		"pairs, zipped":   {file: "a.jsonl.gz", bare: true, data: zipped(t, pairs)},
		"pairs":           {file: "a.jsonl", bare: true, data: pairs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := cassettes.Read("", tt.file, []byte(tt.data))
			if err != nil || len(all) != 1 {
				t.Fatalf("%d exchanges, %v", len(all), err)
			}
			got := all[0]
			if wait := got.Header.Get("Retry-After"); wait != "7" && !tt.bare {
				t.Errorf("Retry-After %q", wait)
			}
			got.Header = nil
			want := cassettes.Exchange{Method: http.MethodPost, URL: address, Request: asked, Status: http.StatusTooManyRequests, Response: said}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Formats that keep answers alone.
func TestRead_answers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, data string
		want       cassettes.Exchange
	}{
		"Gemini CLI": {"a.responses", `{"method":"generateContentStream","response":[{"candidates":[]},{"usageMetadata":{}}]}`, cassettes.Exchange{
			URL: ":generateContentStream", Response: "data: {\"candidates\":[]}\r\n\r\ndata: {\"usageMetadata\":{}}\r\n\r\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := cassettes.Read("", tt.file, []byte(tt.data))
			if diff := cmp.Diff([]cassettes.Exchange{tt.want}, all); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestRead_faults(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"settings": `{"a": 1}`, "text": "hello", "nothing": ""} {
		if _, err := cassettes.Read("", "f.json", []byte(data)); !errors.Is(err, cassettes.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string]string{
		"a.yaml": "interactions:\n- a: [\n",
		"a.gz":   "\x1f\x8bno",
	} {
		_, err := cassettes.Read("", name, []byte(data))
		if err == nil || errors.Is(err, cassettes.ErrUnknown) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bomb := "a: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	for want, data := range map[string]string{
		"it is nested more than 200 deep":      "interactions:\n- " + strings.Repeat("[", 20_000),
		"its values have more than 67108864 b": bomb + "interactions:\n- {request: {url: *a9, parsed_body: *a9}, response: {}}\n",
	} {
		if _, err := cassettes.Read("", "a.yaml", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := cassettes.Read("x", "a", nil); err == nil || !strings.Contains(err.Error(), "cassette") {
		t.Errorf("unknown format: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a.json", said)
	f.Add("a.yaml", "interactions:\n- request: {url: x}\n")
	f.Fuzz(func(_ *testing.T, name, data string) { _, _ = cassettes.Read("", name, []byte(data)) })
}
