package schemas

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Tuning is how models answer where a request does not say, and what else requests to them
// hold. Zero values leave it to the service.
type Tuning struct {
	Temperature *float64          `yaml:"temperature" jsonschema:"minimum=0,maximum=2" jsonschema_description:"How freely a model chooses words, from 0."`
	TopP        *float64          `yaml:"top_p" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of the likeliest words that a model chooses among."`
	MaxTokens   int               `yaml:"max_tokens" jsonschema:"minimum=0" jsonschema_description:"Longest answer of a model call, in tokens."`
	Thinking    Thinking          `yaml:"thinking" jsonschema:"enum=off,enum=low,enum=medium,enum=high" jsonschema_description:"How much models think before they answer, where they can be told."`
	Headers     map[string]Secret `yaml:"headers" jsonschema_description:"Further HTTP headers of every request."`
	// ExtraBody is a JSON object; objects on both sides are merged.
	ExtraBody json.RawMessage `yaml:"extra_body" jsonschema_description:"Further fields of every request's body; they win."`
}

// Thinking is how much a model thinks before it answers.
type Thinking string

// The amounts of thinking.
const (
	ThinkingOff    Thinking = "off"
	ThinkingLow    Thinking = "low"
	ThinkingMedium Thinking = "medium"
	ThinkingHigh   Thinking = "high"
)

// A Secret is a value that no print, log or encoding shows. Reveal is the only way
// to it.
type Secret string

// Masked is what every print of a secret shows.
const Masked = "***"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// RevealAll returns the texts of the secrets.
func RevealAll(secrets map[string]Secret) map[string]string {
	if secrets == nil {
		return nil
	}
	all := make(map[string]string, len(secrets))
	for name, s := range secrets {
		all[name] = s.Reveal()
	}
	return all
}

// String hides the text.
func (s Secret) String() string { return Masked }

// Format hides the text from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Masked) }

// MarshalJSON hides the text.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Masked + `"`), nil }

// MarshalText hides the text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Masked), nil }

// LogValue hides the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Masked) }
