package wire_test

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/schemas"
)

// sent returns the body and the headers of a request on a wire.
func (w adapter) sent(t *testing.T, req providers.Request) (object, http.Header) {
	t.Helper()
	s := &service{body: whole(w.says("ok", 2))}
	p := w.on(t, s)
	req.Messages = question().Messages
	if _, _, err := read(t, p, req); err != nil {
		t.Fatal(err)
	}
	var body object
	if err := json.Unmarshal(s.sent, &body); err != nil {
		t.Fatal(err)
	}
	return body, s.header
}

// added returns the fields of a body that another one lacks or has with other values.
func added(before, after object) object {
	more := object{}
	for key, value := range after {
		inner, isObject := value.(object)
		old, wasObject := before[key].(object)
		switch {
		case isObject && (wasObject || before[key] == nil):
			if m := added(old, inner); len(m) > 0 {
				more[key] = m
			}
		case !reflect.DeepEqual(value, before[key]):
			more[key] = value
		}
	}
	return more
}

// Each setting is sent on each wire as the table of docs/configuration.md describes: the test
// compares the bodies, and checks that the table names the fields.
func TestSettings(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	think := func(wish schemas.Thinking) func(*providers.Request) {
		return func(r *providers.Request) { r.Thinking = wish }
	}
	for _, tt := range []struct {
		row                                          string // of the table
		set                                          func(*providers.Request)
		openai, responses, gemini, ollama, anthropic string // fields that the setting adds to the body
	}{
		{"`temperature`", func(r *providers.Request) { r.Temperature = new(0.25) }, `{"temperature":0.25}`, `{"temperature":0.25}`, `{"generationConfig":{"temperature":0.25}}`, `{"options":{"temperature":0.25}}`, `{"temperature":0.25}`},
		{"`top_p`", func(r *providers.Request) { r.TopP = new(0.5) }, `{"top_p":0.5}`, `{"top_p":0.5}`, `{"generationConfig":{"topP":0.5}}`, `{"options":{"top_p":0.5}}`, `{"top_p":0.5}`},
		{"`max_tokens`", func(r *providers.Request) { r.MaxTokens = 77 }, `{"max_completion_tokens":77}`, `{"max_output_tokens":77}`, `{"generationConfig":{"maxOutputTokens":77}}`, `{"options":{"num_predict":77}}`, `{"max_tokens":77}`},
		{"a client's `seed`", func(r *providers.Request) { r.Seed = new(int64(7)) }, `{"seed":7}`, `{}`, `{"generationConfig":{"seed":7}}`, `{"options":{"seed":7}}`, `{}`},
		{"a client's `stop`", func(r *providers.Request) { r.Stop = []string{"END"} }, `{"stop":["END"]}`, `{}`, `{"generationConfig":{"stopSequences":["END"]}}`, `{"options":{"stop":["END"]}}`, `{"stop_sequences":["END"]}`},
		{"`thinking: off`", think(schemas.ThinkingOff), `{"reasoning_effort":"none"}`, `{"reasoning":{"effort":"none"}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}}`, `{}`, `{"thinking":{"type":"disabled"}}`}, // `think: false` is always sent
		{"`thinking: low`, `medium`, `high`", think(schemas.ThinkingLow), `{"reasoning_effort":"low"}`, `{"reasoning":{"effort":"low"}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","includeThoughts":true}}}`, `{"think":true}`, `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
		{"`thinking: low`, `medium`, `high`", think(schemas.ThinkingMedium), `{"reasoning_effort":"medium"}`, `{"reasoning":{"effort":"medium"}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"MEDIUM","includeThoughts":true}}}`, `{"think":true}`, `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}}`},
		{"`thinking: low`, `medium`, `high`", think(schemas.ThinkingHigh), `{"reasoning_effort":"high"}`, `{"reasoning":{"effort":"high"}}`, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true}}}`, `{"think":true}`, `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}}`},
		{"`extra_body`", func(r *providers.Request) { r.ExtraBody = json.RawMessage(`{"a":{"b":1}}`) }, `{"a":{"b":1}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{"`headers`", func(r *providers.Request) { r.Headers = map[string]string{"X-Team": "a"} }, `{}`, `{}`, `{}`, `{}`, `{}`},
	} {
		var cells []string
		for line := range strings.Lines(string(docs)) {
			if c := strings.Split(strings.TrimSpace(line), " | "); len(c) == 6 && c[0] == "| "+tt.row {
				cells = c
			}
		}
		if cells == nil {
			t.Errorf("the table has no row %s", tt.row)
			continue
		}
		for _, w := range wires() {
			column := map[string]int{"openai": 1, "responses": 2, "gemini": 3, "ollama": 4, "anthropic": 5}[w.name]
			want := []string{"", tt.openai, tt.responses, tt.gemini, tt.ollama, tt.anthropic}[column]
			req := providers.Request{Model: "m", Pass: providers.PassAnswer}
			before, _ := w.sent(t, req)
			tt.set(&req)
			after, header := w.sent(t, req)
			var wanted object
			if err := json.Unmarshal([]byte(want), &wanted); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wanted, added(before, after)); diff != "" {
				t.Errorf("%s on %s: %s", tt.row, w.name, diff)
			}
			if len(req.Headers) > 0 && header.Get("X-Team") != "a" {
				t.Errorf("%s on %s: headers %v", tt.row, w.name, header)
			}
			for name := range names(wanted) {
				if cells[column] != "the same" && len(req.ExtraBody) == 0 && !strings.Contains(cells[column], name) {
					t.Errorf("the table's cell %q of %s does not say %s", cells[column], tt.row, name)
				}
			}
		}
	}
}

// names returns the innermost keys of an object, except those that are always sent together with
// others.
func names(o object) map[string]bool {
	all := map[string]bool{}
	for key, value := range o {
		if inner, ok := value.(object); ok {
			for name := range names(inner) {
				all[name] = true
			}
		} else if key != "includeThoughts" {
			all[key] = true
		}
	}
	return all
}
