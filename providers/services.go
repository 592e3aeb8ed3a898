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
	// Anthropic is the Messages API.
	Anthropic = "anthropic"
	Ollama    = "ollama"
	// Offline has no model: it quotes tool results.
	Offline = "offline"
)

// A Service describes a provider to code that does not import its adapter.
type Service struct {
	// Name is the provider's value of llm.provider, the key of its block below llm, and the result
	// of [Provider.Name].
	Name string
	// Label is its name as shown to people.
	Label string
	// About describes it to people in a few words.
	About About
	// Keys are the environment variables that may hold its key: the first one that is set counts.
	// Messages name the first of the list. It is empty for a service without a key.
	Keys []string
	// KeyHost is the host that the key in Keys belongs to, including its subdomains. If base_url has
	// another host, the key is not sent to it and is not required. Empty means any host.
	KeyHost string
	// Addresses are environment variables that may hold base_url.
	Addresses []string
	// Setup tells a person, in the imperative, how to make it usable.
	Setup string
	// Fetch is the command that downloads a model of a local service; empty for a remote one.
	Fetch string
	// BaseURL, Model and SmallModel are the defaults of the settings.
	BaseURL, Model, SmallModel string
	// Lower converts a tool's input schema to what the service accepts; nil without a model.
	Lower func(json.RawMessage) (lower.Result, error)
	// MaxDescription is the longest description of a tool that it takes, in characters; 0 means no limit.
	MaxDescription int
	// Queues is set if it runs one request at a time.
	Queues bool
	// Embeds is set if it computes the vectors of texts.
	Embeds bool
	// Wire names the format of its recorded traffic, one of those that eval/tape reads.
	Wire string
	// Forms are the names of the protocols with which it can be spoken to, if there is a choice.
	// An endpoint in llm.providers has one of them, or Name for an automatic choice, as its api.
	Forms []string
	// Telemetry is its value of OpenTelemetry's gen_ai.provider.name.
	Telemetry string
}

// About is a text in the languages of the pages.
type About struct{ English, Vietnamese string }

// Services returns all services that a person can choose. The services with models come first, in
// the order in which auto tries them; the last one has no model.
func Services() []Service {
	return []Service{
		{
			Name: Gemini, Label: "Gemini", About: About{"Google’s Gemini", "Gemini của Google"},
			Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Setup: "set GEMINI_API_KEY",
			BaseURL: "https://generativelanguage.googleapis.com", Model: "gemini-2.5-flash", SmallModel: "gemini-2.5-flash-lite",
			Lower: lower.ForGemini, Embeds: true, Wire: "gemini", Telemetry: "gcp.gemini",
		},
		{
			Name: OpenAI, Label: "OpenAI", About: About{"OpenAI, or a server with its API", "OpenAI, hoặc máy chủ có cùng API"},
			Keys: []string{"OPENAI_API_KEY"}, KeyHost: "api.openai.com", Setup: "set OPENAI_API_KEY, or llm.openai.base_url for a server without a key",
			BaseURL: "https://api.openai.com/v1", Model: "gpt-4.1-mini", SmallModel: "gpt-4.1-nano",
			Lower: lower.ForOpenAI, MaxDescription: lower.MaxOpenAIDescription, Embeds: true, Wire: "openai", Forms: []string{"chat", "responses"}, Telemetry: "openai",
		},
		{
			Name: Anthropic, Label: "Anthropic", About: About{"Anthropic’s Claude, or a server with its API", "Claude của Anthropic, hoặc máy chủ có cùng API"},
			Keys: []string{"ANTHROPIC_API_KEY"}, KeyHost: "api.anthropic.com", Setup: "set ANTHROPIC_API_KEY, or llm.anthropic.base_url for a server without a key",
			BaseURL: "https://api.anthropic.com", Model: "claude-sonnet-5-5", SmallModel: "claude-haiku-5-5",
			Lower: lower.ForAnthropic, Wire: "anthropic", Telemetry: "anthropic",
		},
		{
			Name: Ollama, Label: "Ollama", About: About{"A local Ollama", "Ollama trên máy này"},
			Addresses: []string{"OLLAMA_BASE_URL", "OLLAMA_HOST"}, Setup: "give llm.ollama in the config, or set OLLAMA_BASE_URL",
			Fetch: "ollama pull qwen2.5:7b-instruct", BaseURL: "http://127.0.0.1:11434", Model: "qwen2.5:7b-instruct", SmallModel: "qwen2.5:3b-instruct",
			Lower: lower.ForOllama, Queues: true, Embeds: true, Wire: "ollama", Telemetry: "ollama",
		},
		{
			Name: Offline, Label: "Offline", About: About{"No model: quotes tools and says so", "Không có mô hình: trích kết quả công cụ và nói rõ"},
			Wire: "offline", Telemetry: "offline",
		},
	}
}

// HasModels reports whether the service has models of its own.
func (s Service) HasModels() bool { return s.Name != Offline }

// Find returns the service with the name; ok is false if no service has it.
func Find(name string) (s Service, ok bool) {
	all := Services()
	i := slices.IndexFunc(all, func(s Service) bool { return s.Name == name })
	if i < 0 {
		return Service{}, false
	}
	return all[i], true
}

// Names returns the names of all services.
func Names() []string {
	var names []string
	for _, s := range Services() {
		names = append(names, s.Name)
	}
	return names
}

// WithModels returns the names of the services that have models, in the order of auto.
func WithModels() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return name == Offline })
}

// Lowerings returns the schema conversions of the services with models.
func Lowerings() []lower.Lowering {
	var all []lower.Lowering
	for _, s := range Services() {
		if s.Lower != nil {
			all = append(all, lower.Lowering{Service: s.Name, Lower: s.Lower, MaxDescription: s.MaxDescription})
		}
	}
	slices.SortFunc(all, func(a, b lower.Lowering) int { return strings.Compare(a.Service, b.Service) })
	return all
}

// Variables returns the environment variables that hold keys and addresses of services.
func Variables() []string {
	var names []string
	for _, s := range Services() {
		names = slices.Concat(names, s.Keys, s.Addresses)
	}
	return names
}

// HowToGetOne returns how a person gets a model: "set A or B, or start C". The caller passes the
// words for set, or and start, so that the text fits into a sentence of any language.
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

// List joins names as in a sentence: "a, b or c".
func List(names []string, or string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + or + " " + names[last]
}
