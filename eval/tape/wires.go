package tape

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"molar/providers"
)

// The wires, as [providers.Service] names them.
const (
	Gemini = "gemini"
	OpenAI = "openai"
	// Responses is OpenAI's other wire.
	Responses = "openai-responses"
	// Anthropic is the Messages API.
	Anthropic = "anthropic"
	Ollama    = "ollama"
	// Offline is the form of providers without a network, see [LocalChunk].
	Offline = "offline"
)

// A wireForm is the format of a service's traffic.
type wireForm struct {
	name, contentType string
	// service is the service with this wire, if it is not named after it.
	service string
	// model parses the path of a request. It reports whether the path belongs to this wire, and
	// returns the model in it, or "" if the body names the model. It is nil for a wire without
	// paths.
	model func(path string) (model string, ok bool)
	// path returns the path of a request for a model.
	path func(model string) string
	// write returns the chunks of a streamed answer.
	write func(a WireAnswer, model string) [][]byte
	// piece encodes an event of an answer as a chunk; nil if the events of a whole answer differ
	// from streamed ones.
	piece func(event object) []byte
	// lines is set if each event is a line, so that recorded streams are split by lines too.
	lines bool
}

// wireForms returns all wires that Molar uses.
func wireForms() []wireForm {
	return []wireForm{
		{
			name: Gemini, contentType: eventStream, model: geminiModel, write: func(a WireAnswer, _ string) [][]byte { return a.gemini() },
			path: func(model string) string {
				return "/v1beta/models/" + cmp.Or(model, "model") + ":streamGenerateContent"
			},
			piece: func(e object) []byte { return event(e) },
		},
		{name: OpenAI, contentType: eventStream, model: endsIn(chatPath), path: at(chatPath), write: WireAnswer.openAI},
		{name: Responses, service: OpenAI, contentType: eventStream, model: endsIn(responsesPath), path: at(responsesPath), write: WireAnswer.responses},
		{name: Anthropic, contentType: eventStream, model: endsIn(messagesPath), path: at(messagesPath), write: WireAnswer.anthropic},
		{
			name: Ollama, contentType: "application/x-ndjson", model: endsIn(ollamaPath), path: at(ollamaPath), write: WireAnswer.ollama,
			piece: func(e object) []byte { return append(encode(e), '\n') }, lines: true,
		},
		{name: Offline, path: at(""), write: func(a WireAnswer, _ string) [][]byte { return a.local() }},
	}
}

const (
	chatPath      = "/chat/completions"
	responsesPath = "/responses"
	messagesPath  = "/v1/messages"
	ollamaPath    = "/api/chat"
)

func geminiModel(path string) (model string, ok bool) {
	if !strings.HasSuffix(path, "enerateContent") { // most paths, and compiling is slow
		return "", false
	}
	m := regexp.MustCompile(`models/([^/:]+):(?:stream)?[gG]enerateContent$`).FindStringSubmatch(path)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// endsIn returns the model function of a wire whose requests name the model in their body.
func endsIn(end string) func(path string) (model string, ok bool) {
	return func(path string) (string, bool) { return "", strings.HasSuffix(path, end) }
}

func at(path string) func(model string) string { return func(string) string { return path } }

// wireOf returns the wire of a name, or of the provider of that name; that of offline providers if
// there is none.
func wireOf(name string) wireForm {
	forms := wireForms()
	for _, want := range []string{name, serviceWire(name)} {
		for _, w := range forms {
			if w.name == want {
				return w
			}
		}
	}
	return forms[len(forms)-1]
}

func serviceWire(provider string) string {
	s, _ := providers.Find(provider)
	return s.Wire
}

// ServiceOf returns the provider that has a wire.
func ServiceOf(wire string) string { return cmp.Or(wireOf(wire).service, wire) }

// Speaks reports whether a model call of the tape is of a wire.
func (t *Tape) Speaks(wire string) bool {
	return slices.ContainsFunc(t.Records, func(r *Record) bool {
		if r.Type != TypeModelRequest { // the others have no path
			return false
		}
		at, _ := WireOf(r.Path)
		return at == wire
	})
}
