package providers

import (
	"encoding/json"
	"slices"
	"strings"

	"molar/schemas/lower"
)

// The names of the services.
const (
	Gemini = "gemini"
	OpenAI = "openai"
	Ollama = "ollama"
	// Offline has no model: it quotes what tools found.
	Offline = "offline"
)

// A Service is what the rest of the program knows of a provider without its adapter.
type Service struct {
	// Name is the provider's in llm.provider, the key of its block below llm, and what
	// [Provider.Name] returns.
	Name string
	// Label is what people call it.
	Label string
	// About describes it to people, in a few words, by language.
	About About
	// Keys are the variables of the environment that may hold its key, the first that is set
	// counts and messages name the first; none for a service without a key.
	Keys []string
	// KeyHost is the host whose key is in Keys, with the hosts below it: another one at
	// base_url is not sent that key, and may need none. Empty means any host.
	KeyHost string
	// Addresses are further variables of the environment that may hold base_url.
	Addresses []string
	// Setup says what makes it usable where that is missing, as an order.
	Setup string
	// Fetch is the command that gets a model of a service on this machine; empty elsewhere.
	Fetch string
	// BaseURL, Model and SmallModel hold where the settings name no other.
	BaseURL, Model, SmallModel string
	// Lower makes the input schema of a tool fit for the service; nil where there is no model.
	Lower func(json.RawMessage) (lower.Result, error)
	// Queues is set when it runs one request after the other.
	Queues bool
	// Wire is the form of its traffic on a tape, one that eval/tape knows.
	Wire string
	// Telemetry is its name in the conventions of OpenTelemetry, gen_ai.provider.name.
	Telemetry string
}

// About is a text in the languages of the pages.
type About struct{ English, Vietnamese string }

// Services returns all that a person can choose. Those with models come first, in the order
// in which auto asks them; the last one has none.
func Services() []Service {
	return []Service{
		{
			Name: Gemini, Label: "Gemini", About: About{"Google’s Gemini", "Gemini của Google"},
			Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Setup: "set GEMINI_API_KEY",
			BaseURL: "https://generativelanguage.googleapis.com", Model: "gemini-2.5-flash", SmallModel: "gemini-2.5-flash-lite",
			Lower: lower.ForGemini, Wire: "gemini", Telemetry: "gcp.gemini",
		},
		{
			Name: OpenAI, Label: "OpenAI", About: About{"OpenAI, or a server with its API", "OpenAI, hoặc máy chủ có cùng API"},
			Keys: []string{"OPENAI_API_KEY"}, KeyHost: "api.openai.com", Setup: "set OPENAI_API_KEY, or llm.openai.base_url for a server without a key",
			BaseURL: "https://api.openai.com/v1", Model: "gpt-4.1-mini", SmallModel: "gpt-4.1-nano",
			Lower: lower.ForOpenAI, Wire: "openai", Telemetry: "openai",
		},
		{
			Name: Ollama, Label: "Ollama", About: About{"A local Ollama", "Ollama trên máy này"},
			Addresses: []string{"OLLAMA_BASE_URL", "OLLAMA_HOST"}, Setup: "give llm.ollama in the config, or set OLLAMA_BASE_URL",
			Fetch: "ollama pull qwen2.5:7b-instruct", BaseURL: "http://127.0.0.1:11434", Model: "qwen2.5:7b-instruct", SmallModel: "qwen2.5:3b-instruct",
			Lower: lower.ForOllama, Queues: true, Wire: "ollama", Telemetry: "ollama",
		},
		{
			Name: Offline, Label: "Offline", About: About{"No model: quotes tools and says so", "Không có mô hình: trích kết quả công cụ và nói rõ"},
			Wire: "offline", Telemetry: "offline",
		},
	}
}

// HasModels reports whether the service has models of its own.
func (s Service) HasModels() bool { return s.Name != Offline }

// Find returns the service of a name; ok is false where there is none.
func Find(name string) (s Service, ok bool) {
	all := Services()
	i := slices.IndexFunc(all, func(s Service) bool { return s.Name == name })
	if i < 0 {
		return Service{}, false
	}
	return all[i], true
}

// Names are those of all services.
func Names() []string {
	var names []string
	for _, s := range Services() {
		names = append(names, s.Name)
	}
	return names
}

// WithModels are the names of the services that have models, in the order of auto.
func WithModels() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return name == Offline })
}

// Lowerings returns how each service with models wants the schemas of tools, by name.
func Lowerings() []lower.Lowering {
	var all []lower.Lowering
	for _, s := range Services() {
		if s.Lower != nil {
			all = append(all, lower.Lowering{Service: s.Name, Lower: s.Lower})
		}
	}
	slices.SortFunc(all, func(a, b lower.Lowering) int { return strings.Compare(a.Service, b.Service) })
	return all
}

// Variables are the variables of the environment that hold keys and addresses of services.
func Variables() []string {
	var names []string
	for _, s := range Services() {
		names = slices.Concat(names, s.Keys, s.Addresses)
	}
	return names
}

// HowToGetOne tells which keys to set and which services to start to have a model, with
// the caller's words for that, so that it fits any sentence: "set A or B, or start C".
func HowToGetOne(set, or, start string) string {
	var keys, local []string
	for _, s := range Services() {
		switch {
		case len(s.Keys) > 0:
			keys = append(keys, s.Keys[0])
		case s.HasModels():
			local = append(local, s.Label)
		}
	}
	return set + " " + List(keys, or) + ", " + or + " " + start + " " + List(local, or)
}

// List joins names for a sentence: "a, b or c".
func List(names []string, or string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + or + " " + names[last]
}
