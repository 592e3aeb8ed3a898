package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/gemini"
)

func TestEmbed(t *testing.T) {
	f := newFake(t, status(200, `{"embeddings":[{"values":[1,0]},{"values":[0.5,0.5]}]}`))
	p := newProvider(t, gemini.Config{BaseURL: f.url, APIKey: testKey})
	for _, as := range []providers.Purpose{providers.PurposeDocument, providers.PurposeQuestion} {
		got, used, err := p.Embed(t.Context(), "gemini-embedding-001", []string{"a", "b"}, as)
		if diff := cmp.Diff([][]float32{{1, 0}, {0.5, 0.5}}, got); err != nil || used != nil || diff != "" {
			t.Fatal(err, used, diff)
		}
	}
	for i, task := range []string{"RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"} {
		sent := f.requests()[i]
		var body struct{ Requests []map[string]any }
		if err := json.Unmarshal([]byte(sent.Raw), &body); err != nil {
			t.Fatal(err)
		}
		if sent.Path != "/v1beta/models/gemini-embedding-001:batchEmbedContents" || sent.Header.Get("X-Goog-Api-Key") != testKey || len(body.Requests) != 2 {
			t.Errorf("got %s %v", sent.Path, sent.Raw)
		}
		want := map[string]any{"model": "models/gemini-embedding-001", "taskType": task, "content": map[string]any{"role": "user", "parts": []any{map[string]any{"text": "b"}}}}
		if diff := cmp.Diff(want, body.Requests[1]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEmbed_faults(t *testing.T) {
	refusal := func(code int, state, message string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q}}`, code, message, state)
	}
	for name, tc := range map[string]struct {
		status int
		body   string
		kind   providers.Kind
		want   string
	}{
		"a wrong key":   {400, refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), providers.KindAuth, "check GEMINI_API_KEY"},
		"no such model": {404, refusal(404, "NOT_FOUND", "models/m is not found for API version v1beta, or is not supported for embedContent"), providers.KindModelNotFound, "is not found"},
		"a limit":       {429, refusal(429, "RESOURCE_EXHAUSTED", "quota exceeded"), providers.KindQuota, "quota exceeded"},
		"too long":      {400, refusal(400, "INVALID_ARGUMENT", "The input token count (3000) exceeds the maximum number of tokens allowed (2048)."), providers.KindContextLength, "exceeds"},
		"no Gemini":     {404, "not here", providers.KindUnavailable, "no Gemini API at this address"},
		"fewer vectors": {200, `{"embeddings":[{"values":[1,2]}]}`, providers.KindProtocol, "1 vectors came for 2 texts"},
		"other lengths": {200, `{"embeddings":[{"values":[1,2]},{"values":[1]}]}`, providers.KindProtocol, "vectors of 2 and of 1 numbers"},
		"null":          {200, `{"embeddings":[{"values":[1,2]},null]}`, providers.KindProtocol, ""},
		"NaN":           {200, `{"embeddings":[{"values":[1,NaN]},{"values":[1]}]}`, providers.KindProtocol, "cannot be read"},
		"a shape":       {200, `{"embeddings":7}`, providers.KindProtocol, "cannot be read"},
		"a page":        {200, `<html>`, providers.KindProtocol, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, status(tc.status, tc.body))
			_, _, err := newProvider(t, gemini.Config{BaseURL: f.url, APIKey: testKey}).Embed(t.Context(), "m", []string{"a", "b"}, providers.PurposeQuestion)
			e, ok := errors.AsType[*providers.Error](err)
			if !ok || e.Kind != tc.kind || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), testKey) {
				t.Errorf("got %v (%+v), want %s: %s", err, e, tc.kind, tc.want)
			}
		})
	}
}
