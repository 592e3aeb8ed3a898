package gemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"molar/schemas"
)

// content and part are the wire form of the history. The SDK's own types omit an empty text with
// a signature, and round numbers.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *inlineData       `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type inlineData struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
	Parts    []part         `json:"parts,omitempty"` // since Gemini 3
}

// state is stored with a part: its thought signature in standard base64, unchanged, and the
// service's id of a call.
type state struct {
	Signature string `json:"signature,omitempty"`
	ID        string `json:"id,omitempty"`
}

// stateOf returns the state of a part; empty for another endpoint's.
func stateOf(endpoint string, p schemas.Part) state {
	var s state
	if p.State == nil || p.State.Provider != endpoint || json.Unmarshal(p.State.Data, &s) != nil {
		return state{}
	}
	s.Signature = standard(s.Signature) // a damaged one would fail the request
	return s
}

// newState returns the state of a part's signature and id, if any.
func newState(endpoint, signature, id string) *schemas.ProviderState {
	s := state{Signature: standard(signature), ID: id}
	if s == (state{}) {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil { // two strings always marshal
		return nil
	}
	return &schemas.ProviderState{Provider: endpoint, Data: data}
}

// standard converts a signature to standard base64: gateways re-encode them, URL-safe or without
// padding. It is empty if the signature is not base64.
func standard(signature string) string {
	text := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(signature, "="))
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(data)
}

// media decodes the data URL of an image or a file.
func media(p schemas.Part) (*inlineData, error) {
	mime, raw, err := schemas.DataOf(p.Text)
	switch {
	case p.Kind == schemas.PartImage && err != nil:
		return nil, fmt.Errorf("an image %w: Gemini does not fetch addresses", err)
	case err != nil:
		return nil, fmt.Errorf("the file %q %w", p.Name, err)
	}
	for _, kind := range []string{"image/", "audio/", "video/", "application/pdf"} {
		if strings.HasPrefix(mime, kind) {
			return &inlineData{mime, raw}, nil
		}
	}
	return nil, fmt.Errorf("the file %q is %s: Gemini takes text, images, audio, video and PDF", p.Name, mime)
}
