// Package run is what the eval commands do: it opens the host of a case over a tape,
// records, replays and compares.
package run

import (
	"cmp"
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
	"molar/agent/answer"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/store"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// noKey stands for a key in replays, where nothing asks for one.
const noKey = "no-key-in-a-replay"

// importedAssistant answers in cases that were imported and name no config.
const importedAssistant = "imported"

// Commands are what the eval commands do, with the streams and settings of the program.
type Commands struct{ *cli.CLI }

// evalHost is a host for one case, with a store of its own.
type evalHost struct {
	*host.Host
	release func(*store.DB)
}

func (h *evalHost) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	return h.Agent.Run(ctx, t)
}

// Settle makes the summaries that are due.
func (h *evalHost) Settle(ctx context.Context) error { return h.Worker.Drain(ctx) }

// Ready waits for the servers, and names the first that is not there.
func (h *evalHost) Ready(ctx context.Context) error { return h.Attached(ctx) }

func (h *evalHost) Close() {
	h.Host.Close()
	h.release(h.DB)
}

// openEval opens the host of a case over the given edges.
func (a *Commands) openEval(mode eval.Mode, log *slog.Logger, from *storePool) eval.Opener {
	configs := a.configs()
	return func(ctx context.Context, c *eval.Case, of *tape.Player, edges eval.Edges) (eval.Host, error) {
		h := of.Tape().Header
		if _, rest := h.Routes(); !mode.LiveModel && (!slices.Contains(playable(), h.Provider) || !slices.Contains(playable(), rest.Provider)) {
			return nil, &eval.InvalidError{Err: fmt.Errorf("%s:1: the tape is of provider %q, and a replay knows %s; without a model on its tape, run the case with --live-model", c.TapeFile(), h.Provider, strings.Join(playable(), ", "))}
		}
		cfg, err := a.evalConfig(c, of, mode, configs)
		if err != nil {
			return nil, &eval.InvalidError{Err: fmt.Errorf("%s:%d: case %q: %w", c.File, c.Line, c.ID, err)}
		}
		if !mode.LiveTools {
			useTapedServers(cfg, of, c.Config != "" || a.ConfigFile != "")
		}
		if mode.FromDrift != "" {
			g, err := a.fallback(c, of, mode.FromDrift, configs, log)
			if err != nil {
				return nil, err
			}
			of.SetFallback(g)
		}
		db, err := from.get(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Memory.Store, cfg.Memory.URL, cfg.Telemetry.Trace = db.Path(), "", "off"
		opened, err := host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Env: emptyEnv, Edges: edges, DB: db})
		if err != nil {
			from.put(db)
			return nil, err
		}
		return &evalHost{opened, from.put}, nil
	}
}

// goOn is who answers behind the tape: the model that the config names now, or none.
func (a *Commands) fallback(c *eval.Case, of *tape.Player, how string, configs loader, log *slog.Logger) (tape.Fallback, error) {
	cfg, err := a.evalConfig(c, of, eval.Mode{LiveModel: true, FromDrift: how}, configs)
	if err != nil {
		return nil, &eval.InvalidError{Err: fmt.Errorf("%s:%d: case %q: %w", c.File, c.Line, c.ID, err)}
	}
	models, err := host.OpenModels(cfg, log)
	if err != nil {
		return nil, err
	}
	assistant, _ := cfg.Assistants.Get(cmp.Or(c.Assistant, cfg.Default))
	want := chain.Want{Provider: assistant.Provider, Model: assistant.Model}
	if how == eval.FromDriftOffline {
		want = chain.Want{Provider: chain.Offline}
	}
	return func(ctx context.Context) (providers.Route, error) { return models.Pick(ctx, want) }, nil
}

// playable are the providers whose wire a tape can be replayed through.
func playable() []string { return slices.Sorted(slices.Values(providers.Names())) }

// stores are databases with nothing in them: to empty one is much faster than to create one
// for each case.
type storePool struct {
	log *slog.Logger

	mu   sync.Mutex
	free []*store.DB
	dirs []string
}

// get opens a store, if none is free.
func (s *storePool) get(ctx context.Context) (*store.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		db := s.free[last]
		s.free = s.free[:last]
		return db, nil
	}
	dir, err := os.MkdirTemp(memoryDir(), "molar-eval-")
	if err != nil {
		return nil, err
	}
	s.dirs = append(s.dirs, dir)
	return store.Open(ctx, store.Config{Path: filepath.Join(dir, "molar.db"), Logger: s.log})
}

// put takes a store back, if it can be emptied.
func (s *storePool) put(db *store.DB) {
	if err := db.Empty(context.Background()); err != nil {
		_ = db.Close() // another one is opened
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, db)
}

// close removes all stores.
func (s *storePool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, db := range s.free {
		_ = db.Close() // its folder goes
	}
	for _, dir := range s.dirs {
		_ = os.RemoveAll(dir)
	}
	s.free, s.dirs = nil, nil
}

// quickDir is where files that live for a case go: in memory, where that is possible.
func memoryDir() string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		return memory
	}
	return ""
}

func emptyEnv(string) (string, bool) { return "", false }

// evalConfig reads the settings of a case. A model that is played is the one of the
// tape, whatever the settings say.
func (a *Commands) evalConfig(c *eval.Case, of *tape.Player, mode eval.Mode, configs loader) (*config.Config, error) {
	h := of.Tape().Header
	cfg, err := configs(cmp.Or(c.ConfigFile(), a.ConfigFile), mode.LiveModel)
	if err != nil {
		return nil, err
	}
	if lacking := host.MissingVariables(cfg); len(lacking) > 0 { // a case is not judged without a server of its
		return nil, errors.New(strings.Join(lacking, "; "))
	}
	if h.Imported != "" && c.Config == "" {
		cfg.Default = importedAssistant
		cfg.Assistants = config.Map[schemas.Assistant]{{Name: importedAssistant, Value: schemas.Assistant{Tools: []string{"*", "!*search"}}}}
	}
	if mode.LiveModel {
		if was, kept := h.Settings[cmp.Or(c.Assistant, cfg.Default)]; mode.FromDrift == "" || !kept || was == modelSettings(cfg, cmp.Or(c.Assistant, cfg.Default), h.Provider) {
			liveModel(cfg, c, h)
		}
		return cfg, nil
	}
	noteModelChange(cfg, c, of)
	cfg.CAFile = ""
	turns, rest := h.Routes()
	useTapedModel(&cfg.LLM, rest)
	useTapedModel(&cfg.LLM, turns)
	cfg.LLM.Provider = config.Providers{rest.Provider}
	if mode.LiveTools && turns.Provider != providers.Gemini && rest.Provider != providers.Gemini {
		cfg.LLM.Keys[providers.Gemini] = a.geminiKey() // a live search needs a real one, or is not there
	}
	for i := range cfg.Assistants {
		cfg.Assistants[i].Value.Provider, cfg.Assistants[i].Value.Model = "", ""
		if h.Rest != nil {
			cfg.Assistants[i].Value.Provider = turns.Provider
		}
	}
	return cfg, nil
}

// A loader gives the settings of a file to a case of its own, with the environment of a
// live model or of a replay.
type loader func(file string, live bool) (*config.Config, error)

// configs reads each file once.
func (a *Commands) configs() loader {
	type key struct {
		file string
		live bool
	}
	var mu sync.Mutex
	known := make(map[key]*config.Config)
	return func(file string, live bool) (*config.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if known[key{file, live}] == nil {
			env := a.replayEnv
			if live {
				env = a.Env
			}
			cfg, err := a.loadFor(file, env)
			if err != nil {
				return nil, err
			}
			known[key{file, live}] = cfg
		}
		cfg := *known[key{file, live}]
		cfg.Assistants, cfg.MCPServers = slices.Clone(cfg.Assistants), slices.Clone(cfg.MCPServers)
		return &cfg, nil
	}
}

// loadFor reads a config as a case sees it: without a file the built-in settings, since
// the person's own must not change a verdict.
func (a *Commands) loadFor(file string, env func(string) (string, bool)) (*config.Config, error) {
	opts := a.Options(nil)
	opts.Path, opts.Explicit, opts.Env = file, file != "", env
	if file == "" {
		opts.Path = os.DevNull
	}
	return config.Load(opts)
}

func (a *Commands) geminiKey() schemas.Secret {
	gemini, _ := providers.Find(providers.Gemini)
	for _, name := range gemini.Keys {
		if key, ok := a.Env(name); ok {
			return schemas.Secret(key)
		}
	}
	return ""
}

// otherModel notes where the config, or the case, names another model than it did when
// the tape was made. A replay serves the tape's in any case.
func noteModelChange(cfg *config.Config, c *eval.Case, of *tape.Player) {
	h := of.Tape().Header
	name := cmp.Or(c.Assistant, cfg.Default)
	if was, kept := h.Settings[name]; kept {
		if _, there := cfg.Assistants.Get(name); there && was != modelSettings(cfg, name, h.Provider) {
			of.Differs("model of assistant "+name, was, modelSettings(cfg, name, h.Provider))
		}
	}
	if h.Imported != "" {
		return
	}
	if c.Provider != "" && c.Provider != h.Provider {
		of.Differs("provider of the case", h.Provider, c.Provider)
	}
	if c.Model != "" && c.Model != h.Model {
		of.Differs("model of the case", h.Model, c.Model)
	}
}

// modelSettings tells which provider a config names for an assistant, and the models that
// the played provider would use.
func modelSettings(cfg *config.Config, assistant, played string) string {
	a, _ := cfg.Assistants.Get(assistant)
	service, _ := cfg.LLM.Service(played)
	window := ""
	if n := cfg.LLM.Ollama.NumCtx; n > 0 && played == providers.Ollama {
		window = fmt.Sprintf(", num_ctx %d", n)
	}
	rest := ""
	if a.Provider != "" {
		rest = ", for the rest " + strings.Join(cfg.LLM.Provider, ", ")
	}
	return fmt.Sprintf("provider %s, model %s, small model %s%s%s",
		cmp.Or(a.Provider, strings.Join(cfg.LLM.Provider, ", ")), cmp.Or(a.Model, service.Model, "(none)"), cmp.Or(service.SmallModel, "(none)"), window, rest)
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

// playedModel sets the models of a tape, with a key that opens nothing.
func useTapedModel(llm *config.LLM, h tape.Route) {
	llm.Keys = make(map[string]schemas.Secret)
	for _, name := range providers.WithModels() {
		llm.Keys[name] = noKey
	}
	llm.Use(h.Provider, h.Model, h.Small, h.BaseURL)
}

// replayEnv is the environment of a replay: no settings of the person who runs it, a key
// that opens nothing, and a stand-in for what else a config refers to.
func (a *Commands) replayEnv(name string) (string, bool) {
	for _, s := range providers.Services() {
		if len(s.Keys) > 0 && name == s.Keys[0] {
			return noKey, true // a config may name a service that wants one
		}
	}
	kind, _, _ := strings.Cut(name, "_")
	for _, other := range append(providers.Variables(), "MOLAR_", "MCP_", "OTEL_") {
		if strings.HasPrefix(other, kind+"_") && strings.HasPrefix(name, kind+"_") {
			return "", false
		}
	}
	if v, ok := a.Env(name); ok {
		return v, true
	}
	return "replay", true
}

// onlyOnTape attaches the servers of a tape in name, for the player to answer, and none
// besides. One that the config of the case had and has no more is left out, and said.
func useTapedServers(cfg *config.Config, of *tape.Player, configured bool) {
	servers, h := of.Servers(), of.Tape().Header
	for _, name := range servers {
		_, known := cfg.MCPServers.Get(name)
		switch {
		case known, name == schemas.MemoryServer, name == schemas.ToolServer:
		case configured && h.Imported == "" && !slices.Contains(h.Attached, name):
			if of.Uses(name) {
				of.Differs("server "+name, "in the config", "not in the config: removed or renamed; it has "+serverNames(cfg))
			}
		default:
			cfg.MCPServers = append(cfg.MCPServers, config.Entry[config.Server]{Name: name, Value: tapedServer()})
		}
	}
	cfg.MCPServers = slices.DeleteFunc(cfg.MCPServers, func(e config.Entry[config.Server]) bool {
		return !slices.Contains(servers, e.Name)
	})
}

// onTape is a server of a tape of which no config is known: what was called then may be
// called again.
func tapedServer() config.Server {
	allow := config.Entry[config.ToolRule]{Name: "*", Value: config.ToolRule{Policy: schemas.PolicyAllow}}
	return config.Server{Command: "replay", Trust: true, Tools: config.Map[config.ToolRule]{allow}}
}

func serverNames(cfg *config.Config) string {
	var names []string
	for _, e := range cfg.MCPServers {
		names = append(names, e.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
