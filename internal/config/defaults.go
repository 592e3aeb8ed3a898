package config

import (
	"cmp"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"time"

	"molar/providers"
	"molar/schemas"
	"molar/topics"
)

// AssistantGeneral is the built-in assistant without a topic.
const AssistantGeneral = "general"

// The names of the bundled search tools in an assistant's search list.
const (
	ToolDuckDuckGo = "duckduckgo_search"
	ToolGoogle     = "google_search" // available only with a Gemini key
)

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
	assistants, preset := builtInAssistants()
	return &Config{
		Listen:     "127.0.0.1:8000",
		MCP:        MCP{Listen: "127.0.0.1:8001"},
		Default:    preset,
		LLM:        defaultLLM(),
		Assistants: assistants,
		Search:     Search{DuckDuckGo: DuckDuckGo{Timeout: 8 * time.Second}},
		Memory: Memory{
			CompressAfterSummary: true,
		},
		Audit: Audit{Retention: 365 * 24 * time.Hour},
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
		Public:    defaultPublic(),
		Handover:  defaultHandover(),
		Telemetry: Telemetry{LogFormat: "text", Trace: "on"},
		Shutdown:  Shutdown{Drain: 30 * time.Second},
	}
}

// builtIn is what a pack that comes with the program says of assistants.
type builtIn struct {
	Default    string                 `yaml:"default"`
	Assistants Map[schemas.Assistant] `yaml:"assistants"`
}

// builtInAssistants returns the assistants of the packs that come with the program, a general one
// after them, and the name of the default one.
func builtInAssistants() (all Map[schemas.Assistant], preset string) {
	for _, name := range topics.Names() {
		pack, _ := topics.Open(name)
		file := "topics/" + name + "/assistants.yaml"
		data, err := fs.ReadFile(pack, "assistants.yaml")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var own builtIn
		d := &decoder{file: file, env: func(string) (string, bool) { return "", false }, origins: map[string]string{}}
		if err := errors.Join(err, d.decode(data, &own).Join()); err != nil {
			panic(err) // it is part of the program
		}
		all, preset = append(all, own.Assistants...), cmp.Or(preset, own.Default)
	}
	return append(all, Entry[schemas.Assistant]{Name: AssistantGeneral, Value: schemas.Assistant{
		Description: "Any question, with every attached tool.",
		Tools:       []string{"*", "!tool-server__*"},
	}}), cmp.Or(preset, AssistantGeneral)
}
