// Package run implements the eval commands: it opens the host of a case over a tape,
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
	"molar/providers/openai"
	"molar/schemas"
)

// noKey is the API key in replays, where no service checks it.
const noKey = "no-key-in-a-replay"

// importedAssistant is the assistant of replays of imported tapes.
const importedAssistant = "imported"

// Commands implements the eval commands with the streams and settings of the program.
type Commands struct{ *cli.CLI }

// Say prints a line on standard output, without control characters of models and tools.
func (a *Commands) Say(format string, args ...any) {
	a.CLI.Say("%s", eval.Clean(fmt.Sprintf(format, args...)))
}

// Note prints a line on standard error, without control characters of models and tools.
func (a *Commands) Note(format string, args ...any) {
	a.CLI.Note("%s", eval.Clean(fmt.Sprintf(format, args...)))
}

// evalHost is a host for one case. Closing it returns its store to the pool.
type evalHost struct {
	*host.Host
	release func(*store.DB)
}

func (h *evalHost) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	return h.Agent.Run(ctx, t)
}

// Settle makes the summaries that are due.
func (h *evalHost) Settle(ctx context.Context) error { return h.Worker.Drain(ctx) }

// Ready waits for the servers. Its error names the first missing one.
func (h *evalHost) Ready(ctx context.Context) error { return h.Attached(ctx) }

func (h *evalHost) Close() {
	h.Host.Close()
	h.release(h.DB)
}

// openEval returns an opener of hosts.
func (a *Commands) openEval(mode eval.Mode, log *slog.Logger, pool *storePool) eval.Opener {
	configs := a.configs()
	return func(ctx context.Context, c *eval.Case, of *tape.Player, edges eval.Edges) (eval.Host, error) {
		h := of.Tape().Header
		if _, rest := h.Routes(); !mode.LiveModel && (!slices.Contains(playable(), h.Speaks()) || !slices.Contains(playable(), rest.Speaks())) {
			return nil, &eval.InvalidError{Err: fmt.Errorf("%s:1: the tape is of provider %q, and a replay knows %s; without a model on its tape, run the case with --live-model", c.TapeFile(), h.Provider, strings.Join(playable(), ", "))}
		}
		cfg, err := a.evalConfig(c, of, mode, configs)
		if err != nil {
			return nil, c.Invalid(err)
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
		db, err := pool.get(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Memory.Store, cfg.Memory.URL, cfg.Telemetry.Trace = db.Path(), "", "off"
		opened, err := host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Env: emptyEnv, Edges: edges, DB: db})
		if err != nil {
			pool.put(db)
			return nil, err
		}
		return &evalHost{opened, pool.put}, nil
	}
}

// fallback returns what answers once the run leaves the tape: the model that the config names
// now, or the offline provider.
func (a *Commands) fallback(c *eval.Case, of *tape.Player, how string, configs loader, log *slog.Logger) (tape.Fallback, error) {
	cfg, err := a.liveConfig(c, of.Tape().Header, how, configs)
	if err != nil {
		return nil, c.Invalid(err)
	}
	models, err := host.OpenMetered(cfg, func(p providers.Provider, price func(string) schemas.Price) providers.Provider {
		if price == nil {
			return p // it costs nothing
		}
		return costed{p, of.NoteUnpriced}
	}, log)
	if err != nil {
		return nil, err
	}
	want := wantOf(cfg, c)
	if how == eval.FromDriftOffline {
		want = chain.Want{Provider: chain.Offline}
	}
	return func(ctx context.Context) (providers.Route, error) { return models.Pick(ctx, want) }, nil
}

// wantOf returns what the config wants for the turns of a case.
func wantOf(cfg *config.Config, c *eval.Case) chain.Want {
	assistant, _ := cfg.Assistants.Get(cmp.Or(c.Assistant, cfg.Default))
	return chain.Want{Provider: assistant.Provider, Model: assistant.Model}
}

// costed notes the calls of a provider whose cost is not known. A call that failed before any output
// costs nothing.
type costed struct {
	providers.Provider
	unpriced func()
}

// Unwrap returns the wrapped provider.
func (c costed) Unwrap() providers.Provider { return c.Provider }

// Stream runs one model call.
func (c costed) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		answered, cost := false, schemas.Cost(0)
		defer func() {
			if answered && cost == 0 {
				c.unpriced()
			}
		}()
		for chunk, err := range c.Provider.Stream(ctx, req) {
			answered = answered || err == nil
			if chunk.Usage != nil {
				cost = chunk.Usage.Cost
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// playable returns the providers whose wire a tape can be replayed through.
func playable() []string { return slices.Sorted(slices.Values(providers.Names())) }

// A storePool reuses databases, since emptying one is much faster than creating one for each
// case.
type storePool struct {
	log *slog.Logger

	mu   sync.Mutex
	free []*store.DB
	dirs []string
}

// get returns a free store, or opens one.
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

// put empties a store and keeps it for reuse.
func (s *storePool) put(db *store.DB) {
	if err := db.Empty(context.Background()); err != nil {
		_ = db.Close() // get opens another one
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
		_ = db.Close() // its folder is removed
	}
	for _, dir := range s.dirs {
		_ = os.RemoveAll(dir)
	}
	s.free, s.dirs = nil, nil
}

// memoryDir returns a folder in memory for temporary files, or "" if there is none.
func memoryDir() string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		return memory
	}
	return ""
}

func emptyEnv(string) (string, bool) { return "", false }

// caseConfig loads the config of a case, for a live model or a replay.
func (a *Commands) caseConfig(c *eval.Case, h tape.Header, live bool, configs loader) (*config.Config, error) {
	file := cmp.Or(c.ConfigFile(), a.ConfigFile)
	imported := h.Imported != "" && (c.Config == "" || !live)
	if imported { // the config is what the case asks live
		file = a.ConfigFile
	}
	cfg, err := configs(file, live)
	if err != nil {
		return nil, err
	}
	if lacking := host.MissingVariables(cfg); len(lacking) > 0 { // a case is not judged with a server missing
		return nil, errors.New(strings.Join(lacking, "; "))
	}
	if imported {
		cfg.Default = cmp.Or(c.Assistant, importedAssistant)
		cfg.Assistants = config.Map[schemas.Assistant]{{Name: cfg.Default, Value: schemas.Assistant{Tools: []string{"*", "!*search"}}}}
	}
	return cfg, nil
}

// liveConfig loads the settings of a case whose model is real: those of the config, with the provider
// and model of the case, or else the tape's provider. fromDrift is empty if the tape is not played; if
// it is, the config's own choice applies once it has changed.
func (a *Commands) liveConfig(c *eval.Case, h tape.Header, fromDrift string, configs loader) (*config.Config, error) {
	cfg, err := a.caseConfig(c, h, true, configs)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(c.Assistant, cfg.Default)
	was, kept := h.Settings[name]
	if fromDrift == "" || !kept || c.Provider+c.Model != "" || was == modelSettings(cfg, name, h.Provider) {
		liveModel(cfg, c, h)
	}
	return cfg, nil
}

// evalConfig loads the settings of a case. If the model is replayed, its settings are those of
// the tape, whatever the config says.
func (a *Commands) evalConfig(c *eval.Case, of *tape.Player, mode eval.Mode, configs loader) (*config.Config, error) {
	h := of.Tape().Header
	if mode.LiveModel {
		return a.liveConfig(c, h, "", configs)
	}
	cfg, err := a.caseConfig(c, h, false, configs)
	if err != nil {
		return nil, err
	}
	if err := replacePrompt(cfg, c, of); err != nil {
		return nil, err
	}
	noteModelChange(cfg, c, of, mode)
	cfg.CAFile = ""
	turns, rest := h.Routes()
	useTapedModel(&cfg.LLM, rest)
	useTapedModel(&cfg.LLM, turns)
	switch chat, responses := of.Tape().Speaks(tape.OpenAI), of.Tape().Speaks(tape.Responses); {
	case chat && responses: // a refusal changed the wire, and will again
	case responses:
		cfg.LLM.OpenAI.API = string(openai.APIResponses)
	default:
		cfg.LLM.OpenAI.API = string(openai.APIChat)
	}
	cfg.LLM.Provider, cfg.LLM.Small = config.Providers{rest.Provider}, ""
	if h.Judge != nil {
		useTapedModel(&cfg.LLM, *h.Judge)
		cfg.LLM.Small = h.Judge.Provider
	}
	if mode.LiveTools && turns.Provider != providers.Gemini && rest.Provider != providers.Gemini {
		cfg.LLM.Keys[providers.Gemini] = a.geminiKey() // a live search needs a real key, or is not offered
	}
	for i := range cfg.Assistants {
		cfg.Assistants[i].Value.Provider, cfg.Assistants[i].Value.Model = "", ""
		if h.Rest != nil {
			cfg.Assistants[i].Value.Provider = turns.Provider
		}
	}
	return cfg, nil
}

// A loader loads the config of a file, with the environment of a live model or of a replay. Each
// caller gets its own copy.
type loader func(file string, live bool) (*config.Config, error)

// configs returns a loader that reads each file once.
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

// loadFor loads a config for a case. Without a file it uses the built-in settings, since the
// person's own config must not change a verdict.
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

// replacePrompt gives the assistant of a case the case's own system text. Requests of a tape that was not
// recorded are not compared, so the difference is reported here.
func replacePrompt(cfg *config.Config, c *eval.Case, of *tape.Player) error {
	if c.SystemPrompt == "" {
		return nil
	}
	name := cmp.Or(c.Assistant, cfg.Default)
	at := slices.IndexFunc(cfg.Assistants, func(e config.Entry[schemas.Assistant]) bool { return e.Name == name })
	if at < 0 {
		return fmt.Errorf("there is no assistant %q whose prompt could be replaced", name)
	}
	was := cfg.Assistants[at].Value.SystemPrompt
	if was != c.SystemPrompt && of.IsBuilt() {
		of.Differs("prompt of assistant "+name, was, c.SystemPrompt)
	}
	cfg.Assistants[at].Value.SystemPrompt = c.SystemPrompt
	return nil
}

// noteModelChange reports to the player that the config, or the case, names another model than
// at the time of the recording. A replay serves the tape's answers in any case.
func noteModelChange(cfg *config.Config, c *eval.Case, of *tape.Player, mode eval.Mode) {
	h := of.Tape().Header
	name := cmp.Or(c.Assistant, cfg.Default)
	if was, kept := h.Settings[name]; kept {
		if _, there := cfg.Assistants.Get(name); there && was != modelSettings(cfg, name, h.Provider) {
			of.Differs("model of assistant "+name, was, modelSettings(cfg, name, h.Provider))
		}
	}
	if h.Imported != "" && mode.FromDrift == "" {
		return
	}
	if c.Provider != "" && c.Provider != h.Provider {
		of.Differs("provider of the case", h.Provider, c.Provider)
	}
	if c.Model != "" && c.Model != h.Model {
		of.Differs("model of the case", h.Model, c.Model)
	}
}

// modelSettings describes which provider a config names for an assistant, and which models the
// provider of the tape would use.
func modelSettings(cfg *config.Config, assistant, played string) string {
	a, _ := cfg.Assistants.Get(assistant)
	service, _ := cfg.LLM.Endpoint(played)
	window := ""
	if n := service.NumCtx; n > 0 {
		window = fmt.Sprintf(", num_ctx %d", n)
	}
	rest := ""
	if a.Provider != "" {
		rest = ", for the rest " + strings.Join(cfg.LLM.Provider, ", ")
	}
	if cfg.LLM.Small != "" {
		rest += ", judged by " + cfg.LLM.Small
	}
	return fmt.Sprintf("provider %s, model %s, small model %s%s%s",
		cmp.Or(a.Provider, strings.Join(cfg.LLM.Provider, ", ")), cmp.Or(a.Model, service.Model, "(none)"), cmp.Or(service.SmallModel, "(none)"), window, rest)
}

// liveModel applies the provider and model of a case. If it names none, it selects the provider
// of the tape, so that no other one answers.
func liveModel(cfg *config.Config, c *eval.Case, h tape.Header) {
	if c.Provider == "" && c.Model == "" {
		if h.Provider != "" && h.Provider != chain.Auto && (h.Imported == "" || c.Config == "") {
			cfg.LLM.Provider = config.Providers{h.Provider}
		}
		return
	}
	for i := range cfg.Assistants {
		cfg.Assistants[i].Value.Provider, cfg.Assistants[i].Value.Model = c.Provider, c.Model
	}
}

// useTapedModel sets the models of a tape, with a fake key.
func useTapedModel(llm *config.LLM, h tape.Route) {
	llm.SetEndpoint(h.Provider, h.Service, h.Model, h.Small, h.BaseURL)
	llm.Keys = make(map[string]schemas.Secret)
	for _, name := range llm.EndpointNames() {
		llm.SetKey(name, noKey)
	}
}

// replayEnv is the environment of a replay. It hides the person's own settings, and gives fake
// values for keys and for undefined variables of the config.
func (a *Commands) replayEnv(name string) (string, bool) {
	for _, s := range providers.Services() {
		if len(s.Keys) > 0 && name == s.Keys[0] {
			return noKey, true // the config may name a service that requires a key
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

// useTapedServers makes the servers of the tape the only ones; the player answers for them. A
// server that was removed from the case's config since is left out, and reported as a difference
// if the tape uses it.
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

// tapedServer returns the config of a server of which only the tape is known. All calls are
// allowed, as they were in the recording.
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
