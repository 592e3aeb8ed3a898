package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/chain"
	"molar/providers/openai"
	"molar/schemas"
)

// vectorsOf answers with the length of each text as its vector, the last text first.
func vectorsOf(w http.ResponseWriter, r *http.Request) {
	var sent struct{ Input []string }
	_ = json.NewDecoder(r.Body).Decode(&sent)
	var data []string
	for i, text := range slices.Backward(sent.Input) {
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,0.5]}`, i, len(text)))
	}
	_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"m","usage":{"prompt_tokens":%d,"total_tokens":%d}}`, strings.Join(data, ","), len(data), len(data))
}

func TestEmbed(t *testing.T) {
	var texts []string
	var want [][]float32
	for i := range 40 { // more than one request takes
		texts = append(texts, strings.Repeat("a", i+1))
		want = append(want, []float32{float32(i + 1), 0.5})
	}
	f := newFake(t, vectorsOf)
	p := newProvider(t, openai.Config{BaseURL: f.url, APIKey: "sk-0123456789", Tuning: schemas.Tuning{Headers: map[string]schemas.Secret{"X-Team": "docs"}}})
	got, used, err := p.Embed(t.Context(), "m", texts, providers.PurposeDocument)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	if diff := cmp.Diff(&schemas.Usage{PromptTokens: 40, TotalTokens: 40}, used); diff != "" {
		t.Error(diff)
	}
	sent := f.requests()
	if len(sent) != 2 || len(sent[0]["input"].([]any)) != 32 || sent[0]["encoding_format"] != "float" || sent[0]["model"] != "m" || len(sent[0]) != 3 {
		t.Errorf("%d requests, the first one %v", len(sent), sent[0])
	}
	if h := f.header(); f.path() != "POST /v1/embeddings" || h.Get("Authorization") != "Bearer sk-0123456789" || h.Get("X-Team") != "docs" {
		t.Errorf("got %s %v", f.path(), h)
	}
}

func TestEmbed_faults(t *testing.T) {
	const refusal = `{"error":{"message":%q,"type":"invalid_request_error","code":%q}}`
	vectors := func(list string) http.HandlerFunc {
		return raw("application/json", `{"object":"list","data":[`+list+`],"usage":{"prompt_tokens":2,"total_tokens":2}}`)
	}
	one := func(index int, numbers string) string {
		return fmt.Sprintf(`{"index":%d,"embedding":[%s]}`, index, numbers)
	}
	for name, tc := range map[string]struct {
		step http.HandlerFunc
		kind providers.Kind
		want string
	}{
		"a wrong key":         {status(401, fmt.Sprintf(refusal, "Incorrect API key provided: sk-0123456789", "invalid_api_key")), providers.KindAuth, "check OPENAI_API_KEY"},
		"no such model":       {status(404, fmt.Sprintf(refusal, "The model `m` does not exist", "model_not_found")), providers.KindModelNotFound, "name a model for embeddings"},
		"no embeddings there": {status(404, "404 page not found"), providers.KindUnavailable, "check llm.openai.base_url"},
		"a limit":             {status(429, fmt.Sprintf(refusal, "Rate limit reached", "rate_limit_exceeded"), "Retry-After", "7"), providers.KindQuota, "Rate limit"},
		"refused":             {status(400, fmt.Sprintf(refusal, "This model does not support embeddings", "")), providers.KindInvalid, "does not support embeddings"},
		"down":                {status(503, "overloaded"), providers.KindUnavailable, "503"},
		"fewer vectors":       {vectors(one(0, "1,2")), providers.KindProtocol, "1 vectors came for 2 texts"},
		"other lengths":       {vectors(one(0, "1,2") + "," + one(1, "1,2,3")), providers.KindProtocol, "vectors of 2 and of 3 numbers"},
		"NaN":                 {vectors(one(0, "1,2") + "," + one(1, "NaN,1")), providers.KindProtocol, "cannot be read"},
		"null for NaN":        {vectors(one(0, "1,2") + "," + one(1, "null,null")), providers.KindProtocol, "zero or has no numbers"},
		"zero":                {vectors(one(0, "1,2") + "," + one(1, "0,0")), providers.KindProtocol, "zero or has no numbers"},
		"no numbers":          {vectors(one(0, "1") + "," + one(1, "")), providers.KindProtocol, "numbers"},
		"a page":              {raw("text/html", "<html>hello</html>"), providers.KindProtocol, "cannot be read"},
		"an error in a 200":   {raw("application/json", `{"error":{"message":"no such model","code":"model_not_found"}}`), providers.KindModelNotFound, "no such model"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, tc.step)
			p := newProvider(t, openai.Config{BaseURL: f.url, APIKey: "sk-0123456789"})
			_, _, err := p.Embed(t.Context(), "m", []string{"a", "b"}, providers.PurposeQuestion)
			e, ok := errors.AsType[*providers.Error](err)
			if !ok || e.Kind != tc.kind || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "sk-0") {
				t.Errorf("got %v (%+v), want %s: %s", err, e, tc.kind, tc.want)
			}
			if name == "a limit" && e.RetryAfter != 7*time.Second {
				t.Errorf("wait %v", e.RetryAfter)
			}
		})
	}
}

// A text that is too long for the model is cut until it fits, and later ones at once.
func TestEmbed_tooLong(t *testing.T) {
	const fits = 1000
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		var sent struct{ Input []string }
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &sent)
		if len(sent.Input[0]) > fits {
			status(500, `{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}`)(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]}]}`)
	})
	p := newProvider(t, openai.Config{BaseURL: f.url})
	long := strings.Repeat("ạ", 1000)
	for range 2 {
		err := chain.Repeat(t.Context(), time.Now().Add(time.Minute), func(string) error { return nil }, func(error) error {
			_, _, err := p.Embed(t.Context(), "m", []string{long}, providers.PurposeDocument)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.requests()); n != 4 { // 3000, 1500 and 750 bytes, and then 750 at once
		t.Errorf("%d requests", n)
	}
}
