package gemini_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/gemini"
	"molar/schemas"
)

// The real service: a tool round with its signatures, a foreign history, an answer
// under a schema.
func TestLive(t *testing.T) {
	key := os.Getenv("GEMINI_API_KEY")
	if key == "" {
		t.Skip("GEMINI_API_KEY is not set: the real service is not asked")
	}
	liveModel := os.Getenv("GEMINI_TEST_MODEL")
	if liveModel == "" {
		liveModel = "gemini-flash-latest"
	}
	p := newProvider(t, gemini.Config{APIKey: key})
	req := question("What is the weather in Hà Nội right now? Use the tool.")
	req.Model, req.Tools, req.ToolChoice = liveModel, []schemas.ToolInfo{weather()}, providers.ToolRequired
	first := ask(t.Context(), p, req)
	if first.err != nil || len(first.calls) == 0 {
		t.Fatalf("no call: %+v", first)
	}
	texts := make([]string, len(first.calls))
	for i := range texts {
		texts[i] = "31 degrees and sunny"
	}
	req.ToolChoice = providers.ToolAuto
	req.Messages = append(req.Messages, first.message, results(first.calls, texts...))
	if second := ask(t.Context(), p, req); second.err != nil || !strings.Contains(second.text, "31") {
		t.Errorf("own history: %+v", second)
	}
	for i := range req.Messages[1].Parts {
		req.Messages[1].Parts[i].State = nil // as if another model had called
	}
	if third := ask(t.Context(), p, req); third.err != nil || !strings.Contains(third.text, "31") {
		t.Errorf("foreign history: %+v", third)
	}
	req = question("Name a fruit.")
	req.Model, req.Schema = liveModel, []byte(`{"type":"object","properties":{"fruit":{"type":"string"}},"required":["fruit"]}`)
	if a := ask(t.Context(), p, req); a.err != nil || !json.Valid([]byte(a.text)) {
		t.Errorf("schema: %+v", a)
	}
}

// Recorded streams of the real service: MOLAR_TRANSCRIPTS names a file of JSON
// lines {url, status, response}.
func TestRecorded(t *testing.T) {
	path := os.Getenv("MOLAR_TRANSCRIPTS")
	if path == "" {
		t.Skip("MOLAR_TRANSCRIPTS is not set: no recorded streams to read")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	read := 0
	for lines.Scan() {
		var pair struct {
			URL      string
			Response json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &pair); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(pair.URL, "enerateContent") {
			continue
		}
		var body string
		if json.Unmarshal(pair.Response, &body) != nil {
			var compact bytes.Buffer
			if err := json.Compact(&compact, pair.Response); err != nil {
				t.Fatal(err)
			}
			body = sse(compact.String()) // a whole answer, as one event
		}
		w := wire(func(req *http.Request) (*http.Response, error) {
			return reply(req, http.StatusOK, strings.NewReader(body)), nil
		})
		a := ask(t.Context(), newProvider(t, gemini.Config{HTTPClient: w.client()}), question("q"))
		calls := strings.Count(body, `"functionCall"`)
		signed := strings.Count(body, `"thoughtSignature"`)
		for _, p := range a.message.Parts {
			if p.State != nil && strings.Contains(string(p.State.Data), "signature") {
				signed--
			}
		}
		if a.err != nil || len(a.calls) != calls || signed != 0 || a.usage.TotalTokens == 0 {
			t.Errorf("%s: error %v, %d of %d calls, %d signatures lost, usage %+v", pair.URL, a.err, len(a.calls), calls, signed, a.usage)
		}
		read++
	}
	t.Logf("%d recorded answers", read)
}
