package tape

import (
	"net/http"

	"molar/eval/wire"
	"molar/providers"
	"molar/schemas"
)

// A Said is what a model answered, as a trace keeps it: no bytes of any wire.
type Said struct {
	Text, Thinking string
	Calls          []schemas.ToolCall
	Finish         providers.FinishReason
	Usage          schemas.Usage
	// Error says how the call failed, or "".
	Error string
}

// Said writes a model call in the wire of the provider, so that a replay takes the same
// way through the host as the real answer did. A provider without a wire is written as
// [Builder.Local] does.
func (b *Builder) Said(provider, pass string, s Said) {
	a := wire.Answer{
		Text: s.Text, Thinking: s.Thinking, Finish: string(s.Finish), Prompt: s.Usage.PromptTokens, Completion: s.Usage.CompletionTokens,
	}
	for _, c := range s.Calls {
		a.Calls = append(a.Calls, wire.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	stream := a.Stream(provider, "")
	if stream.Chunks == nil {
		b.Local(pass, s.Text, s.Calls)
		return
	}
	end := Record{Status: http.StatusOK, ContentType: stream.ContentType, Error: s.Error}
	switch {
	case s.Error != "" && s.Text+s.Thinking == "" && len(s.Calls) == 0:
		// Nothing came: a refusal that no provider tries again.
		end = Record{Status: http.StatusBadRequest, ContentType: "application/json"}
		stream.Chunks = [][]byte{wire.Refusal(http.StatusBadRequest, s.Error)}
	case s.Error != "":
		stream.Chunks = stream.Chunks[:len(stream.Chunks)-1] // it broke off before its end
	}
	b.exchange(pass, http.MethodPost, stream.Path, nil, end, stream.Chunks...)
}
