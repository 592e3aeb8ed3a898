package ollama_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/ollama"
)

func TestNew_ReadsAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "http://127.0.0.1:11434/api/show",
		"example.com":           "http://example.com:11434/api/show",
		"example.com:80/x/":     "http://example.com:80/x/api/show",
		"0.0.0.0":               "http://127.0.0.1:11434/api/show",
		"http://0.0.0.0:1":      "http://127.0.0.1:1/api/show",
		"https://example.com/p": "https://example.com/p/api/show",
		"[::1]":                 "http://[::1]:11434/api/show",
	} {
		var got string
		p := newProvider(t, ollama.Config{BaseURL: in, HTTPClient: &http.Client{Transport: requestFunc(func(r *http.Request) { got = r.URL.String() })}})
		_, _ = p.SupportsTools(t.Context(), "m")
		if got != want {
			t.Errorf("%q: asked %s, want %s", in, got, want)
		}
	}
}

// requestFunc is a transport that passes requests to the function and answers none.
type requestFunc func(*http.Request)

func (s requestFunc) RoundTrip(r *http.Request) (*http.Response, error) {
	s(r)
	return nil, http.ErrServerClosed
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, cfg := range []ollama.Config{
		{BaseURL: "ftp://example.com"},
		{BaseURL: "http://"},
		{BaseURL: "http://example.com?key=hunter2"},
		{BaseURL: "http://user:hunter2@exa mple.com"},
		{KeepAlive: "soon"},
		{FirstByte: -1},
	} {
		_, err := ollama.New(cfg)
		if err == nil {
			t.Errorf("%+v: no error", cfg)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret shows: %v", err)
		}
	}
}

const tags = `{"models":[
 {"name":"old:7b","model":"old:7b","modified_at":"2024-01-01T00:00:00Z","size":10},
 {"name":"new:latest","model":"new:latest","modified_at":"2025-01-01T00:00:00Z","size":20},
 {"name":"cloud:1","model":"cloud:1","remote_model":"x","modified_at":"2026-01-01T00:00:00Z","size":1}]}`

func TestProvider_Lists(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tags = tags
	f.ps = `{"models":[{"name":"old:7b","model":"old:7b","expires_at":"2025-01-01T00:00:00Z","context_length":8192}]}`
	p := at(t, f)
	models, err := p.Models(t.Context())
	if err != nil || len(models) != 3 {
		t.Fatalf("got %v, %v", models, err)
	}
	want := ollama.Model{Name: "old:7b", Modified: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, models[0]); diff != "" {
		t.Error(diff)
	}
	loaded, err := p.Loaded(t.Context())
	if err != nil || len(loaded) != 1 || loaded[0].Name != "old:7b" || loaded[0].ContextLength != 8192 {
		t.Errorf("got %v, %v", loaded, err)
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tags, show          string
		model, small        string
		want, smallWant, in string
	}{
		"the configured one":         {tags, "", "old:7b", "new", "old:7b", "new", "configured"},
		"without its tag":            {tags, "", "new", "", "new", "new", "configured"},
		"misspelt, without its tag":  {tags, "", "neww", "", "", "", "run: ollama pull neww (did you mean new:latest?)"},
		"misspelt, of another tag":   {tags, "", "odl", "", "", "", "(did you mean old:7b?)"},
		"a named one is not there":   {tags, "", "olt:7b", "", "", "", "run: ollama pull olt:7b (did you mean old:7b?)"},
		"nor is a named small one":   {tags, "", "old:7b", "small:1", "", "", "ollama pull small:1"},
		"the newest local one":       {tags, "", "", "", "new:latest", "new:latest", "not pulled"},
		"no model":                   {`{"models":[]}`, "", "", "", "", "", "ollama pull qwen2.5:7b-instruct"},
		"none takes tools":           {tags, `{"capabilities":["embedding"]}`, "", "", "", "", "ollama pull qwen2.5:7b-instruct"},
		"an old server, by template": {tags, `{"template":"{{ .Tools }}"}`, "", "", "new:latest", "new:latest", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.tags, f.show = c.tags, c.show
			p := at(t, f)
			model, small, why, err := p.Usable(t.Context(), c.model, c.small)
			if err != nil {
				why = err.Error()
			}
			if model != c.want || small != c.smallWant || !strings.Contains(why, c.in) || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %q, %q", model, small, why)
			}
		})
	}
}

func TestUsable_NamesThePullWhenNobodyListens(t *testing.T) {
	t.Parallel()
	p := newProvider(t, ollama.Config{BaseURL: "http://127.0.0.1:1", HTTPClient: client(t)})
	_, _, _, err := p.Usable(t.Context(), "", "")
	if providers.KindOf(err) != providers.KindUnavailable || !strings.Contains(err.Error(), "nobody listens") ||
		!strings.Contains(err.Error(), "ollama pull "+ollama.DefaultModel) {
		t.Errorf("got %v", err)
	}
}

func TestSupportsTools_AsksAgainAfterAFault(t *testing.T) {
	t.Parallel()
	fail := true
	p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: flaky{&fail}}})
	if _, err := p.SupportsTools(t.Context(), "m"); providers.KindOf(err) != providers.KindModelNotFound {
		t.Errorf("got %v", err)
	}
	fail = false
	if tools, err := p.SupportsTools(t.Context(), "m"); err != nil || !tools {
		t.Errorf("got %v, %v", tools, err)
	}
}

// flaky is a server that does not know the model while fail is set.
type flaky struct{ fail *bool }

func (f flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if !*f.fail {
		return wire(nil).RoundTrip(r)
	}
	rec := httptest.NewRecorder()
	rec.WriteHeader(http.StatusNotFound)
	_, _ = rec.WriteString(`{"error":"model 'm' not found"}`)
	return rec.Result(), nil
}
