package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/config"
)

const handbook = `
knowledge:
  handbook: {path: docs, languages: [vi, en], link: "https://docs.example.com/"}
assistants:
  a: {search: [handbook]}
`

// The folder is relative to the folder of the config file.
func TestKnowledge(t *testing.T) {
	name := write(t, handbook)
	cfg, err := config.Load(config.Options{Path: name, Explicit: true, Env: environ(t)})
	if err != nil {
		t.Fatal(err)
	}
	k, ok := cfg.Knowledge.Get("handbook")
	if want := filepath.Join(filepath.Dir(name), "docs"); !ok || k.Path != want || k.Link != "https://docs.example.com/" || len(k.Languages) != 2 {
		t.Errorf("got %+v, want the folder %s", k, want)
	}
}

func TestKnowledge_Faults(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"a name":           {"  handbook: {", "  Hand-book: {", "want a name of small letters, digits and '_'"},
		"a bundled name":   {"  handbook: {", "  duckduckgo_search: {", `"duckduckgo_search" is a bundled search tool`},
		"no folder":        {"path: docs, ", "", "knowledge.handbook.path: want a folder"},
		"a language":       {"[vi, en]", "[vi, French]", "knowledge.handbook.languages[1]: want the code of a language"},
		"a threshold":      {"path: docs", "path: docs, threshold: 40", "knowledge.handbook.threshold: want a share of 0 to 1"},
		"a link":           {"https://docs.example.com/", "docs.example.com", "knowledge.handbook.link: want a web address"},
		"no such endpoint": {"path: docs", "path: docs, embeddings: {provider: olama, model: bge-m3}", "knowledge.handbook.embeddings.provider: want gemini, openai or ollama, did you mean \"ollama\"?"},
		"no embeddings":    {"path: docs", "path: docs, embeddings: {provider: anthropic, model: m}", "anthropic computes no embeddings: want gemini, openai or ollama"},
		"no key":           {"path: docs", "path: docs, embeddings: {provider: openai, model: m}", "openai has no API key"},
		"no model":         {"path: docs", "path: docs, embeddings: {provider: ollama}", "knowledge.handbook.embeddings.model: want a model for embeddings that ollama has"},
		"no provider":      {"path: docs", "path: docs, embeddings: {model: bge-m3}", "knowledge.handbook.embeddings.provider: want gemini, openai or ollama"},
		"an unknown key":   {"path: docs", "path: docs, size: 3", "knowledge.handbook.size"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, strings.Replace(handbook, tc.from, tc.to, 1))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestConvert(t *testing.T) {
	load := func(text string) (*config.Config, error) {
		return config.Load(config.Options{Path: write(t, text), Explicit: true, Env: environ(t)})
	}
	cfg, err := load("convert:\n  odt: [pandoc, -t, markdown, \"{}\"]\n  pdf: [./bin/read, \"--file={}\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	all := cfg.Converters()
	if own := filepath.Join(filepath.Dir(cfg.File), "bin", "read"); len(all) != 2 || all["odt"][0] != "pandoc" || all["pdf"][0] != own {
		t.Errorf("got %q, want pandoc and %s", all, own)
	}
	for text, want := range map[string]string{
		"{.odt: [pandoc, \"{}\"]}": "convert..odt: want the ending of a name without its dot",
		"{ODT: [pandoc, \"{}\"]}":  "convert.ODT: want the ending of a name",
		"{odt: []}":                "convert.odt: want a program and its arguments",
		"{odt: [\"{}\"]}":          "convert.odt: want a program and its arguments",
		"{odt: [pandoc, -]}":       "convert.odt: one argument must be {}, which stands for the document",
		"{odt: pandoc}":            "convert.odt",
	} {
		if _, err := load("convert: " + text + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
