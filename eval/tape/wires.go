package tape

import (
	"cmp"
	"regexp"
	"strings"

	"molar/providers"
)

// The wires, as [providers.Service] names them.
const (
	gemini = "gemini"
	OpenAI = "openai"
	ollama = "ollama"
	// offline is none that goes over a network, see [LocalChunk].
	offline = "offline"
)

// A wireForm is the form of the traffic of a service.
type wireForm struct {
	name, contentType string
	// model reads the path of a request: whether it is of this wire, and the model that it
	// names, "" where the body does. It is nil for a wire without paths.
	model func(path string) (model string, ok bool)
	// path is where a request for a model goes.
	path func(model string) string
	// write returns the pieces of an answer as they are streamed.
	write func(a WireAnswer, model string) [][]byte
	// piece writes an event of an answer as a piece of a stream; nil where a whole answer has
	// other events than a streamed one.
	piece func(event object) []byte
	// lines is set where each event is a line, so that also a recorded stream is cut by them.
	lines bool
}

// wireForms are all wires that Molar speaks.
func wireForms() []wireForm {
	return []wireForm{
		{
			name: gemini, contentType: eventStream, model: geminiModel, write: func(a WireAnswer, _ string) [][]byte { return a.gemini() },
			path: func(model string) string {
				return "/v1beta/models/" + cmp.Or(model, "model") + ":streamGenerateContent"
			},
			piece: func(e object) []byte { return event(e) },
		},
		{name: OpenAI, contentType: eventStream, model: endsIn(chatPath), path: at(chatPath), write: WireAnswer.openAI},
		{
			name: ollama, contentType: "application/x-ndjson", model: endsIn(ollamaPath), path: at(ollamaPath), write: WireAnswer.ollama,
			piece: func(e object) []byte { return append(encode(e), '\n') }, lines: true,
		},
		{name: offline, path: at(""), write: func(a WireAnswer, _ string) [][]byte { return a.local() }},
	}
}

const (
	chatPath   = "/chat/completions"
	ollamaPath = "/api/chat"
)

func geminiModel(path string) (model string, ok bool) {
	m := regexp.MustCompile(`models/([^/:]+):(?:stream)?[gG]enerateContent$`).FindStringSubmatch(path)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// endsIn is the model of a wire whose requests name it in their body.
func endsIn(end string) func(path string) (model string, ok bool) {
	return func(path string) (string, bool) { return "", strings.HasSuffix(path, end) }
}

func at(path string) func(model string) string { return func(string) string { return path } }

// wireOf returns the wire that a provider speaks; Offline's for a provider that is not known.
func wireOf(provider string) wireForm {
	s, _ := providers.Find(provider)
	var none wireForm
	for _, w := range wireForms() {
		if w.name == s.Wire {
			return w
		}
		none = w
	}
	return none
}
