package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"molar/agent"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/config"
	"molar/internal/store"
	"molar/providers/chain"
	"molar/schemas"
)

// noKey stands for a key in replays, where nothing asks for one.
const noKey = "no-key-in-a-replay"

// importedAssistant answers in cases that were imported and name no config.
const importedAssistant = "imported"

// evalHost is a host for one case, with a store of its own.
type evalHost struct {
	*host
	dir string
}

func (h *evalHost) Run(ctx context.Context, t agent.Turn) iter.Seq2[agent.Event, error] {
	return h.agent.Run(ctx, t)
}

// Settle makes the summaries that are due.
func (h *evalHost) Settle(ctx context.Context) error { return h.worker.Drain(ctx) }

// Ready waits for the servers, and names the first that is not there.
func (h *evalHost) Ready(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, chatAttachWait)
	defer cancel()
	if err := h.mcp.Wait(wait, nil); err != nil {
		return err
	}
	for _, s := range h.mcp.Status() {
		if s.State != schemas.StateReady && s.State != schemas.StateDisabled {
			return fmt.Errorf("server %s", serverLine(s))
		}
	}
	return nil
}

func (h *evalHost) Close() {
	h.host.Close()
	_ = os.RemoveAll(h.dir)
}

// openEval opens the host of a case over the given edges.
func (a *app) openEval(mode eval.Mode, log *slog.Logger) eval.Opener {
	blank := blankStore(sync.OnceValues(makeBlank))
	return func(ctx context.Context, c *eval.Case, h tape.Header, servers []string, edges eval.Edges) (eval.Host, error) {
		if !mode.LiveModel && !slices.Contains(playable(), h.Provider) {
			return nil, &eval.InvalidError{Err: fmt.Errorf("%s:1: the tape is of provider %q, and a replay knows %s; without a model on its tape, run the case with --live-model", c.TapeFile(), h.Provider, strings.Join(playable(), ", "))}
		}
		cfg, err := a.evalConfig(c, h, mode)
		if err != nil {
			return nil, &eval.InvalidError{Err: fmt.Errorf("%s:%d: case %q: %w", c.File, c.Line, c.ID, err)}
		}
		if mode.LiveTools {
			servers = nil
		}
		onlyOnTape(cfg, servers)
		dir, err := blank.folder()
		if err != nil {
			return nil, err
		}
		cfg.Memory.Store, cfg.Memory.URL, cfg.Telemetry.Trace = filepath.Join(dir, "molar.db"), "", "off"
		opened, err := openHost(ctx, cfg, log, hostOptions{attachWait: chatAttachWait, env: emptyEnv, edges: edges})
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return &evalHost{opened, dir}, nil
	}
}

// playable are the providers whose wire a tape can be replayed through.
func playable() []string { return []string{"gemini", "offline", "ollama", "openai"} }

// A blankStore gives the bytes of a database with nothing in it: to copy one is much
// faster than to create one for each case.
type blankStore func() ([]byte, error)

func makeBlank() ([]byte, error) {
	dir, err := os.MkdirTemp(quickDir(), "molar-eval-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "molar.db")
	db, err := store.Open(context.Background(), store.Config{Path: file})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// folder makes a folder with a blank molar.db in it.
func (b blankStore) folder() (string, error) {
	data, err := b()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(quickDir(), "molar-eval-")
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "molar.db"), data, 0o600)
}

// quickDir is where files that live for a case go: in memory, where that is possible.
func quickDir() string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		return memory
	}
	return ""
}

func emptyEnv(string) (string, bool) { return "", false }

// evalConfig reads the settings of a case. A model that is played is the one of the
// tape, whatever the settings say.
func (a *app) evalConfig(c *eval.Case, h tape.Header, mode eval.Mode) (*config.Config, error) {
	opts := a.options(nil)
	opts.Path, opts.Explicit = c.ConfigFile(), c.Config != ""
	if c.Config == "" && a.configFile != "" {
		opts.Path, opts.Explicit = a.configFile, true
	}
	if opts.Path == "" { // the person's own settings must not change a verdict
		opts.Path = os.DevNull
	}
	if !mode.LiveModel {
		opts.Env = a.replayEnv
	}
	cfg, err := config.Load(opts)
	if err != nil {
		return nil, err
	}
	if h.Imported != "" && c.Config == "" {
		cfg.Default = importedAssistant
		cfg.Assistants = config.Map[config.Assistant]{{Name: importedAssistant, Value: config.Assistant{Tools: []string{"*", "!*search"}}}}
	}
	if mode.LiveModel {
		liveModel(cfg, c, h)
		return cfg, nil
	}
	cfg.CAFile = ""
	playedModel(&cfg.LLM, h)
	for i := range cfg.Assistants {
		cfg.Assistants[i].Value.Provider, cfg.Assistants[i].Value.Model = "", ""
	}
	return cfg, nil
}

// liveModel applies what a case says of provider and model; else the provider of the
// tape is asked, so that another one never answers in its place.
func liveModel(cfg *config.Config, c *eval.Case, h tape.Header) {
	if c.Provider == "" && c.Model == "" {
		if h.Provider != "" && h.Provider != chain.Auto {
			cfg.LLM.Provider = config.Providers{h.Provider}
		}
		return
	}
	for i := range cfg.Assistants {
		cfg.Assistants[i].Value.Provider, cfg.Assistants[i].Value.Model = c.Provider, c.Model
	}
}

// playedModel sets the provider of a tape, with a key that opens nothing.
func playedModel(llm *config.LLM, h tape.Header) {
	llm.Provider = config.Providers{h.Provider}
	llm.GeminiKey, llm.OpenAIKey = noKey, noKey
	set := func(v *string, s string) {
		if s != "" {
			*v = s
		}
	}
	switch h.Provider {
	case "gemini":
		set(&llm.Gemini.Model, h.Model)
		set(&llm.Gemini.SmallModel, h.Small)
		set(&llm.Gemini.BaseURL, h.BaseURL)
	case "openai":
		set(&llm.OpenAI.Model, h.Model)
		set(&llm.OpenAI.SmallModel, h.Small)
		set(&llm.OpenAI.BaseURL, h.BaseURL)
	case "ollama":
		set(&llm.Ollama.Model, h.Model)
		set(&llm.Ollama.SmallModel, h.Small)
		set(&llm.Ollama.BaseURL, h.BaseURL)
	}
}

// replayEnv is the environment of a replay: no keys and no settings of the person who
// runs it, and a stand-in for what a config refers to.
func (a *app) replayEnv(name string) (string, bool) {
	for _, prefix := range []string{"MOLAR_", "GEMINI_", "GOOGLE_", "OPENAI_", "OLLAMA_", "MCP_", "OTEL_"} {
		if strings.HasPrefix(name, prefix) {
			return "", false
		}
	}
	if v, ok := a.env(name); ok {
		return v, true
	}
	return "replay", true
}

// onlyOnTape attaches the servers of a tape in name, for the player to answer: those
// that the config does not have, and none besides.
func onlyOnTape(cfg *config.Config, servers []string) {
	if servers == nil {
		return
	}
	for _, name := range servers {
		_, known := cfg.MCPServers.Get(name)
		if !known && name != memoryServer && name != toolServer {
			cfg.MCPServers = append(cfg.MCPServers, config.Entry[config.Server]{Name: name, Value: config.Server{Command: "replay", Trust: true}})
		}
	}
	cfg.MCPServers = slices.DeleteFunc(cfg.MCPServers, func(e config.Entry[config.Server]) bool {
		return !slices.Contains(servers, e.Name)
	})
}
