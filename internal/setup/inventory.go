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
	"molar/providers"
	"molar/schemas"
)

// lookTime bounds the question to a local Ollama, askTime that to a server which a person
// named.
const (
	localTimeout     = 2 * time.Second
	ownServerTimeout = 5 * time.Second
)

// Found is what the machine has.
type Inventory struct {
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
	Available []string
	Name      string
	// Key is what a server of one's own is sent, KeyName the variable that holds it.
	Key     schemas.Secret
	KeyName string
	// Asks is the question for the address of a server of one's own, and List returns which
	// models one has.
	AddressQuestion string
	List            func(ctx context.Context, at Model) ([]string, error)
	// EnvKey is the service's own in the environment, EnvKeyName the variable that holds it.
	EnvKey     schemas.Secret
	EnvKeyName string
}

// Look finds the models of the settings and the servers in the files that are there. One
// that two places lead to is read once.
func Detect(ctx context.Context, cfg *config.Config, places []string) Inventory {
	f := Inventory{Models: detectModels(ctx, cfg)}
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
		if file, err := config.ReadHostFile(place, data); err == nil && len(file.Servers) > 0 {
			f.Files = append(f.Files, file)
		}
	}
	return f
}

func detectModels(ctx context.Context, cfg *config.Config) []Model {
	var ready, wanting []Model
	add := func(m Model, has bool) {
		if has {
			ready = append(ready, m)
		} else {
			wanting = append(wanting, m)
		}
	}
	for _, s := range providers.Services() {
		if s.Fetch != "" {
			block, _ := cfg.LLM.Service(s.Name)
			local, _ := listModels(ctx, cfg, s.Name, localTimeout)
			add(Model{Provider: s.Name, BaseURL: block.BaseURL, Available: local, Label: localLabel(s, block.BaseURL, local)}, len(local) > 0)
		}
	}
	for _, s := range providers.Services() {
		if len(s.Keys) == 0 {
			continue
		}
		has := cfg.LLM.MissingKey(s.Name) == ""
		state := "set " + s.Keys[0] + " before you start it"
		if has {
			state = s.Keys[0] + " is set"
		}
		add(Model{Provider: s.Name, Label: fmt.Sprintf("%s (%s)", s.Label, state)}, has)
	}
	auto := Model{Provider: "auto", Label: "Whichever of these can be had when it starts"}
	openAI, _ := providers.Find(providers.OpenAI)
	own := Model{
		Provider: providers.OpenAI, Label: "A server of your own with OpenAI's API (llama.cpp, vLLM, LM Studio)",
		AddressQuestion: "  Its address, such as http://127.0.0.1:8080/v1:", EnvKey: cfg.LLM.Keys[providers.OpenAI], EnvKeyName: openAI.Keys[0],
		List: func(ctx context.Context, at Model) ([]string, error) {
			there := *cfg
			there.LLM.OpenAI.BaseURL, there.LLM.OpenAI.Key = at.BaseURL, at.Key
			return listModels(ctx, &there, providers.OpenAI, ownServerTimeout)
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

func localLabel(s providers.Service, address string, local []string) string {
	switch len(local) {
	case 0:
		return s.Label + " (nothing answers at " + address + " yet: start it, then: " + s.Fetch + ")"
	case 1:
		return fmt.Sprintf("%s at %s (%s)", s.Label, address, local[0])
	}
	return fmt.Sprintf("%s at %s (%s and %d more)", s.Label, address, local[0], len(local)-1)
}
