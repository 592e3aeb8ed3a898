package providers_test

import (
	"testing"

	"molar/providers"
	"molar/providers/anthropic"
	"molar/providers/gemini"
	"molar/providers/openai"
)

// The counts are those of the services' pages on images.
func TestPictureTokens(t *testing.T) {
	chat, err := openai.New(openai.Config{})
	if err != nil {
		t.Fatal(err)
	}
	google, err := gemini.New(gemini.Config{APIKey: "AIza-test"})
	if err != nil {
		t.Fatal(err)
	}
	claude, err := anthropic.New(anthropic.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		provider      providers.Provider
		width, height int
		want          int
	}{
		"OpenAI, square":         {chat, 1024, 1024, 765},
		"OpenAI, very large":     {chat, 2048, 4096, 1105},
		"OpenAI, small":          {chat, 100, 100, 255},
		"Gemini, small":          {google, 384, 384, 258},
		"Gemini, large":          {google, 1568, 768, 774},
		"Anthropic, small":       {claude, 200, 200, 54},
		"Anthropic, a megapixel": {claude, 1000, 1000, 1334},
		"Anthropic, large":       {claude, 1568, 1568, 3279},
		"Anthropic, very large":  {claude, 5152, 2000, 3435},
		"Anthropic, the most":    {claude, 8000, 8000, 4784},
		"a provider without one": {nil, 280, 56, 20},
	} {
		if got := providers.PictureTokens(tt.provider, tt.width, tt.height); got != tt.want {
			t.Errorf("%s: %d tokens, want %d", name, got, tt.want)
		}
	}
}

// A PDF goes to a service that takes it; that a server of others takes it is not sure.
func TestTakesFile(t *testing.T) {
	original, err := openai.New(openai.Config{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := openai.New(openai.Config{BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	google, err := gemini.New(gemini.Config{APIKey: "AIza-test"})
	if err != nil {
		t.Fatal(err)
	}
	claude, err := anthropic.New(anthropic.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		provider    providers.Provider
		media       string
		takes, sure bool
	}{
		"OpenAI":                 {original, "application/pdf", true, true},
		"a server like OpenAI":   {other, "application/pdf", true, false},
		"OpenAI, Word":           {original, "application/msword", false, true},
		"Gemini":                 {google, "application/pdf", true, true},
		"Gemini, a table":        {google, "text/csv", false, true},
		"Anthropic":              {claude, "application/pdf", true, true},
		"Anthropic, a recording": {claude, "audio/wav", false, true},
		"a provider without one": {nil, "application/pdf", false, false},
	} {
		if takes, sure := providers.TakesFile(tt.provider, tt.media); takes != tt.takes || sure != tt.sure {
			t.Errorf("%s: takes %v, sure %v, want %v and %v", name, takes, sure, tt.takes, tt.sure)
		}
	}
}
