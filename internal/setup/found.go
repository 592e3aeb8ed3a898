package setup

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"molar/internal/config"
	"molar/internal/host"
)

// lookTime bounds the question to a local Ollama, askTime that to a server which a person
// named.
const (
	lookTime = 2 * time.Second
	askTime  = 5 * time.Second
)

// Found is what the machine has.
type Found struct {
	// Models are what can answer, those that are ready first.
	Models []Model
	// Files hold the servers of other hosts, without those that hold none.
	Files []*config.HostFile
}

// A Model is a provider to choose.
type Model struct {
	// Provider is a value of llm.provider.
	Provider string
	// Label is the line that a person reads.
	Label string
	// BaseURL is the service's address where it is not the usual one.
	BaseURL string
	// Local are the models that an Ollama, or a server of one's own, has. Name is the one
	// that was chosen.
	Local []string
	Name  string
	// Key is what a server of one's own is sent, KeyName the variable that holds it.
	Key     config.Secret
	KeyName string
	// Asks is the question for the address of a server of one's own, and List returns which
	// models one has.
	Asks string
	List func(ctx context.Context, at Model) ([]string, error)
	// OpenAIKey is OpenAI's in the environment.
	OpenAIKey config.Secret
}

// Look finds the models of the settings and the servers in the files that are there. One
// that two places lead to is read once.
func Look(ctx context.Context, cfg *config.Config, places []string) Found {
	f := Found{Models: lookForModels(ctx, cfg)}
	var seen []fs.FileInfo
	for _, place := range places {
		info, err := os.Stat(place)
		if err != nil || slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		seen = append(seen, info)
		data, err := os.ReadFile(place)
		if err != nil {
			continue
		}
		if file, err := config.Read(place, data); err == nil && len(file.Servers) > 0 {
			f.Files = append(f.Files, file)
		}
	}
	return f
}

func lookForModels(ctx context.Context, cfg *config.Config) []Model {
	var ready, wanting []Model
	add := func(m Model, has bool) {
		if has {
			ready = append(ready, m)
		} else {
			wanting = append(wanting, m)
		}
	}
	local, _ := listModels(ctx, cfg, "ollama", lookTime)
	add(Model{Provider: "ollama", BaseURL: cfg.LLM.Ollama.BaseURL, Local: local, Label: ollamaLabel(cfg.LLM.Ollama.BaseURL, local)}, len(local) > 0)
	hosted := func(provider, label, key string) {
		has := cfg.LLM.Missing(provider) == ""
		state := "set " + key + " before you start it"
		if has {
			state = key + " is set"
		}
		add(Model{Provider: provider, Label: fmt.Sprintf("%s (%s)", label, state)}, has)
	}
	hosted("gemini", "Gemini", "GEMINI_API_KEY")
	hosted("openai", "OpenAI", "OPENAI_API_KEY")
	auto := Model{Provider: "auto", Label: "Whichever of these can be had when it starts"}
	own := Model{
		Provider: "openai", Label: "A server of your own with OpenAI's API (llama.cpp, vLLM, LM Studio)",
		Asks: "  Its address, such as http://127.0.0.1:8080/v1:", OpenAIKey: cfg.LLM.OpenAIKey,
		List: func(ctx context.Context, at Model) ([]string, error) {
			there := *cfg
			there.LLM.OpenAI.BaseURL, there.LLM.OpenAI.Key = at.BaseURL, at.Key
			return listModels(ctx, &there, "openai", askTime)
		},
	}
	if len(ready) == 0 {
		return append(append([]Model{auto}, wanting...), own)
	}
	return append(append(ready, wanting...), own, auto)
}

// listModels returns the models of a service where the settings say that it is.
func listModels(ctx context.Context, cfg *config.Config, provider string, longest time.Duration) ([]string, error) {
	c, err := host.OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return c.Models(ctx, provider)
}

func ollamaLabel(address string, local []string) string {
	switch len(local) {
	case 0:
		return "Ollama (nothing answers at " + address + " yet: start it, then: ollama pull qwen2.5:7b-instruct)"
	case 1:
		return fmt.Sprintf("Ollama at %s (%s)", address, local[0])
	}
	return fmt.Sprintf("Ollama at %s (%s and %d more)", address, local[0], len(local)-1)
}
