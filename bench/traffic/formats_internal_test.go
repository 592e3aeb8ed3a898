package traffic

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

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // into memory
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The formats that molar does not import. The others are tested in the package cassettes.
func TestRecorded(t *testing.T) {
	t.Parallel()
	full := cassettes.Exchange{Method: http.MethodPost, URL: address, Request: asked, Status: http.StatusTooManyRequests, Response: said}
	waiting := full
	waiting.Header = http.Header{"Retry-After": {"7"}}
	coded := base64.StdEncoding.EncodeToString([]byte(zipped(t, said)))
	archive := `{"log":{"entries":[{"request":{"method":"POST","url":"` + address + `","postData":{"text":` + fmt.Sprintf("%q", asked) +
		`}},"response":{"status":429,"headers":[{"name":"retry-after","value":"7"}],"content":%s}}]}}`
	nock := `[{"scope":"https://api.example","method":"POST","path":"/v1/chat/completions","body":` + asked + `,"status":429,"response":` + said + `}]`
	for name, tt := range map[string]struct {
		file, data string
		want       cassettes.Exchange
	}{
		"archive":             {"a.har", fmt.Sprintf(archive, fmt.Sprintf(`{"text":%q}`, said)), waiting},
		"archive of Polly.JS": {"a.har", fmt.Sprintf(archive, fmt.Sprintf(`{"encoding":"base64","text":%q}`, `["`+coded+`"]`)), waiting},
		"nock":                {"a.json", nock, full},
		"nock, zipped":        {"a.json.gz", zipped(t, nock), full},
		"pairs":               {"a.jsonl", `{"method":"POST","url":"` + address + `","status":429,"request":` + asked + `,"response":` + said + `}`, full},
		"a response":          {"a.json", `{"status":200,"headers":{},"body":"{}"}`, cassettes.Exchange{Status: 200, Header: http.Header{}, Response: "{}"}},
		"events":              {"a.sse", "event: ping\ndata: {}\n\n", cassettes.Exchange{Response: "event: ping\ndata: {}\n\n"}},
		"a body":              {"a.json", said, cassettes.Exchange{Response: said}},
		"events as lines":     {"a.chunks.txt", "{\"type\":\"a\"}\n{\"type\":\"b\"}\n", cassettes.Exchange{Response: "data: {\"type\":\"a\"}\n\ndata: {\"type\":\"b\"}\n\n"}},
		"Ollama's lines":      {"a.txt", "{\"message\":{},\"done\":false}\n{\"message\":{},\"done\":true}\n", cassettes.Exchange{Response: "{\"message\":{},\"done\":false}\n{\"message\":{},\"done\":true}\n"}},
		"Ollama's examples": {"a.jsonl", `{"path":"/api/chat","request":{"model":"m"},"response_stream":[{"done":true}]}`, cassettes.Exchange{
			URL: "/api/chat", Request: asked, Response: "{\"done\":true}\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := recorded(tt.file, []byte(tt.data))
			if diff := cmp.Diff([]cassettes.Exchange{tt.want}, all); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestRecorded_faults(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"settings": `{"a": 1}`, "text": "hello", "nothing": ""} {
		if _, err := recorded("f.json", []byte(data)); !errors.Is(err, cassettes.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string]string{
		"a.har": `{"log":{"entries":[{"response":{"content":{"encoding":"base64","text":"?"}}}]}}`,
		"a.gz":  "\x1f\x8bno",
	} {
		if _, err := recorded(name, []byte(data)); err == nil || errors.Is(err, cassettes.ErrUnknown) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
