package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/anthropic"
)

// pages is a list of models in two pages.
func pages(query string) string {
	if strings.Contains(query, "after_id=claude-a") {
		return `{"data":[{"type":"model","id":"claude-b-20251001","max_input_tokens":200000,"max_tokens":64000}],"has_more":false,"last_id":"claude-b-20251001"}`
	}
	return `{"data":[{"type":"model","id":"claude-a","display_name":"A","max_input_tokens":1000000,"max_tokens":16000}],"has_more":true,"first_id":"claude-a","last_id":"claude-a"}`
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := &service{models: pages, answers: []reply{says("ok")}}
	p := s.open(t, anthropic.Config{})
	ids, err := p.Models(t.Context())
	if diff := cmp.Diff([]string{"claude-a", "claude-b-20251001"}, ids); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for model, want := range map[string]string{
		"claude-a": "", "claude-b-20251001": "", "claude-b": "", "claude-b-latest": "",
		"claude-c": "did you mean claude-a?", "claude-b-20251002": "did you mean claude-b-20251001?",
	} {
		if err := p.Has(t.Context(), model); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || providers.KindOf(err) != providers.KindModelNotFound) {
			t.Errorf("%s: %v", model, err)
		}
	}
	// A server without a list has every model.
	if err := (&service{}).open(t, anthropic.Config{}).Has(t.Context(), "any"); err != nil {
		t.Error(err)
	}
}

// An address that answers every path with a page has no list.
func TestModels_Page(t *testing.T) {
	t.Parallel()
	s := &service{models: func(string) string { return "\n<!doctype html><html></html>" }}
	if _, err := s.open(t, anthropic.Config{}).Models(t.Context()); providers.KindOf(err) != providers.KindProtocol || !strings.Contains(err.Error(), "web page: check ") {
		t.Error(err)
	}
}

// The window is the configured one, else that of the list, by name and by alias; the longest answer is that
// of the list too.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := &service{models: pages, answers: []reply{says("ok")}}
	p := s.open(t, anthropic.Config{})
	for model, want := range map[string]int{"claude-a": 1_000_000, "claude-b": 200_000, "claude-c": 0} {
		if got := p.Window(t.Context(), model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
	if got := s.open(t, anthropic.Config{Window: 5000}).Window(t.Context(), "claude-a"); got != 5000 {
		t.Errorf("configured: %d", got)
	}
	if got := (&service{}).open(t, anthropic.Config{}).Window(t.Context(), "m"); got != 0 {
		t.Errorf("without a list: %d", got)
	}
	req := question()
	req.Model = "claude-a"
	if got := ask(t, p, req); got.err != nil || field(t, s.bodies[0], "max_tokens") != "16000" {
		t.Errorf("%v, sent %s", got.err, s.bodies[0])
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]anthropic.Config{
		"a key with blanks": {APIKey: "sk ant"}, "an address without a host": {BaseURL: "https://"}, "a negative wait": {FirstByte: -1},
	} {
		if _, err := anthropic.New(cfg); err == nil || strings.Contains(err.Error(), "sk ant") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
