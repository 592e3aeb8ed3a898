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

// The time limits of listing the models of a local service and of a server that a person named.
const (
	localTimeout     = 2 * time.Second
	ownServerTimeout = 5 * time.Second
)

// An Inventory lists what setup found on this machine.
type Inventory struct {
	// Models are the choices of a model; those that are ready come first.
	Models []Model
	// Files are the files of other hosts that configure at least one server.
	Files []*config.HostFile
}

// A Model is a choice of a provider.
type Model struct {
	// Provider is a value of llm.provider.
	Provider string
	// Label is the line of the choice.
	Label string
	// BaseURL is the service's address if it is not the default one.
	BaseURL string
	// Available are the models of a local service or of a person's own server. Name is the chosen
	// one.
	Available []string
	Name      string
	// Key is the key for a person's own server, and KeyName the variable for it.
	Key     schemas.Secret
	KeyName string
	// AddressQuestion asks for the address of a person's own server, and List returns the models
	// of that server. They are empty for other choices.
	AddressQuestion string
	List            func(ctx context.Context, server Model) ([]string, error)
	// EnvKey is the service's key in the environment, and EnvKeyName the variable that holds it.
	EnvKey     schemas.Secret
	EnvKeyName string
}

// Detect returns the models of the settings, and the servers in those of the files that exist. It
// reads a file only once, even if two paths lead to it.
func Detect(ctx context.Context, cfg *config.Config, paths []string) Inventory {
	f := Inventory{Models: detectModels(ctx, cfg)}
	var seen []fs.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		seen = append(seen, info)
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if file, err := config.ReadHostFile(path, data); err == nil && len(file.Servers) > 0 {
			f.Files = append(f.Files, file)
		}
	}
	return f
}

func detectModels(ctx context.Context, cfg *config.Config) []Model {
	var ready, others []Model
	add := func(m Model, isReady bool) {
		if isReady {
			ready = append(ready, m)
		} else {
			others = append(others, m)
		}
	}
	for _, s := range providers.Services() {
		if s.Fetch != "" {
			block, _ := cfg.LLM.Endpoint(s.Name)
			local, _ := listModels(ctx, cfg, s.Name, localTimeout)
			add(Model{Provider: s.Name, BaseURL: block.BaseURL, Available: local, Label: localLabel(s, block.BaseURL, local)}, len(local) > 0)
		}
	}
	for _, s := range providers.Services() {
		if len(s.Keys) == 0 {
			continue
		}
		hasKey := cfg.LLM.MissingKey(s.Name) == ""
		state := "set " + s.Keys[0] + " before you start it"
		if hasKey {
			state = s.Keys[0] + " is set"
		}
		add(Model{Provider: s.Name, Label: fmt.Sprintf("%s (%s)", s.Label, state)}, hasKey)
	}
	auto := Model{Provider: "auto", Label: "The first of these that is available when it starts"}
	openAI, _ := providers.Find(providers.OpenAI)
	own := Model{
		Provider: providers.OpenAI, Label: "A server of your own with OpenAI's API (llama.cpp, vLLM, LM Studio)",
		AddressQuestion: "  Its address, such as http://127.0.0.1:8080/v1:", EnvKey: cfg.LLM.Keys[providers.OpenAI], EnvKeyName: openAI.Keys[0],
		List: func(ctx context.Context, server Model) ([]string, error) {
			withServer := *cfg
			withServer.LLM.OpenAI.BaseURL, withServer.LLM.OpenAI.Key = server.BaseURL, server.Key
			return listModels(ctx, &withServer, providers.OpenAI, ownServerTimeout)
		},
	}
	if len(ready) == 0 {
		return append(append([]Model{auto}, others...), own)
	}
	return append(append(ready, others...), own, auto)
}

// listModels returns the models of a service at its configured address.
func listModels(ctx context.Context, cfg *config.Config, provider string, timeout time.Duration) ([]string, error) {
	c, err := host.OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
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
