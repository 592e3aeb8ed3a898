package gemini

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"google.golang.org/genai"

	"molar/schemas"
)

// content and part are the history as it goes over the wire. The SDK's own types
// leave out an empty text beside a signature, and round numbers.
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
}

// state is what the provider keeps beside a part: its thought signature in
// standard base64, as it came, and the id that the service gave a call.
type state struct {
	Signature string `json:"signature,omitempty"`
	ID        string `json:"id,omitempty"`
}

// stateOf reads the state of a part; one of another provider is empty.
func stateOf(p schemas.Part) state {
	var s state
	if p.State == nil || p.State.Provider != name || json.Unmarshal(p.State.Data, &s) != nil {
		return state{}
	}
	if _, err := base64.StdEncoding.DecodeString(s.Signature); err != nil {
		s.Signature = "" // damaged on the way; sent back, it would sink the request
	}
	return s
}

// newState keeps a part's signature and id, if it has any.
func newState(part *genai.Part) *schemas.ProviderState {
	s := state{}
	if len(part.ThoughtSignature) > 0 {
		s.Signature = base64.StdEncoding.EncodeToString(part.ThoughtSignature)
	}
	if part.FunctionCall != nil {
		s.ID = part.FunctionCall.ID
	}
	if s == (state{}) {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil { // two strings always marshal
		return nil
	}
	return &schemas.ProviderState{Provider: name, Data: data}
}

// wireName makes any name a model invented, and was told does not exist, fit to be
// sent back.
func wireName(s string) string {
	if validName(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '_'
	}, s)
	s = "_" + s
	return s[:min(len(s), maxToolName)]
}

// image reads a data URL.
func image(address string) (*inlineData, error) {
	head, data, found := strings.Cut(address, ",")
	mime, isData := strings.CutPrefix(head, "data:")
	mime, isBase64 := strings.CutSuffix(mime, ";base64")
	if !found || !isData || !isBase64 || !strings.HasPrefix(mime, "image/") {
		return nil, errors.New("an image must be a base64 data URL: Gemini does not fetch addresses")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, errors.New("the data of an image is not base64")
	}
	mime, _, _ = strings.Cut(mime, ";")
	return &inlineData{mime, raw}, nil
}
