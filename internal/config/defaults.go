package config

import (
	"reflect"
	"strings"
	"time"

	"molar/providers"
	"molar/schemas"
)

// The names of the built-in assistants.
const (
	AssistantDental           = "dental"
	AssistantDentalDuckDuckGo = "dental-duckduckgo"
	AssistantDentalGoogle     = "dental-google"
	AssistantGeneral          = "general"
)

// The names of the bundled search tools in an assistant's search list.
const (
	ToolDentalGuide = "dental_guide_search"
	ToolDuckDuckGo  = "duckduckgo_search"
	ToolGoogle      = "google_search" // available only with a Gemini key
)

// TopicDental is the built-in topic.
const TopicDental = "dental"

// defaultTimeout is the longest wait for the first output of a model call.
const defaultTimeout = 180 * time.Second

// defaultLLM returns the defaults of all services, from the table of the providers package.
func defaultLLM() LLM {
	llm := LLM{Provider: Providers{"auto"}}
	for _, s := range providers.Services() {
		llm.SetEndpoint(s.Name, "", s.Model, s.SmallModel, s.BaseURL)
	}
	for _, leaf := range leaves("", reflect.ValueOf(&llm).Elem()) {
		if strings.HasSuffix(leaf.Key, ".timeout") {
			leaf.Value.SetInt(int64(defaultTimeout))
		}
	}
	return llm
}

// Default returns the default settings, which are valid.
func Default() *Config {
	return &Config{
		Listen:     "127.0.0.1:8000",
		MCP:        MCP{Listen: "127.0.0.1:8001"},
		Default:    AssistantDental,
		LLM:        defaultLLM(),
		Assistants: builtInAssistants(),
		Search:     Search{DuckDuckGo: DuckDuckGo{Timeout: 8 * time.Second}},
		Memory: Memory{
			CompressAfterSummary: true,
		},
		Limits: Limits{
			Rounds:    8,
			Calls:     16,
			Parallel:  4,
			Summaries: 4,
			ToolTime:  120 * time.Second,
			// About 64 KiB of English text.
			ResultTokens:   16_000,
			Messages:       10_000,
			Body:           4 << 20,
			Files:          64 << 20,
			TurnsInFlight:  4096,
			Tools:          128,
			TurnsPerMinute: 120,
		},
		Telemetry: Telemetry{LogFormat: "text", Trace: "on"},
		Shutdown:  Shutdown{Drain: 30 * time.Second},
	}
}

func builtInAssistants() Map[schemas.Assistant] {
	return Map[schemas.Assistant]{
		{Name: AssistantDental, Value: schemas.Assistant{
			Description: "Dental questions, answered from the dental guide, else from DuckDuckGo.",
			Topic:       TopicDental,
			Search:      []string{ToolDentalGuide, ToolDuckDuckGo},
			Summarize:   schemas.SummarizeAnswer,
		}},
		{Name: AssistantDentalDuckDuckGo, Value: schemas.Assistant{
			Description: "Dental questions, answered from DuckDuckGo.",
			Topic:       TopicDental,
			Search:      []string{ToolDuckDuckGo},
			Summarize:   schemas.SummarizeAnswer,
		}},
		{Name: AssistantDentalGoogle, Value: schemas.Assistant{
			Description: "Dental questions, answered from Google Search; needs a Gemini key.",
			Topic:       TopicDental,
			Search:      []string{ToolGoogle},
			Summarize:   schemas.SummarizeAnswer,
		}},
		{Name: AssistantGeneral, Value: schemas.Assistant{
			Description: "Any question, with every attached tool.",
			Tools:       []string{"*", "!tool-server__*"},
		}},
	}
}
