package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"molar/agent"
	"molar/agent/memory"
	"molar/eval"
	"molar/internal/config"
	"molar/internal/store"
	"molar/internal/telemetry"
	"molar/mcpclients"
	"molar/mcpservers"
	"molar/providers/chain"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web"
)

// The bundled servers, under their reserved names.
const (
	memoryServer = memory.ServerName
	toolServer   = "tool-server"
)

// A host is everything that a turn needs, wired together. Close ends it in the
// reverse order of its start.
type host struct {
	cfg    *config.Config
	log    *slog.Logger
	db     *store.DB
	traces *store.TraceWriter
	mcp    *mcpclients.Manager
	// bundled are memory and tools, in this process or elsewhere, under their reserved
	// names.
	bundled []mcpclients.ServerConfig
	// tools searches; nil when that is elsewhere.
	tools  *mcpservers.Dispatcher
	chain  *chain.Chain
	memory *memory.Client
	agent  *agent.Agent
	worker *memory.Worker
	// access is set by serve alone: only there is a port to keep.
	access *access
	// turns run on without their clients; serve drains them.
	turns *web.Turns
	// env is where the OTEL_ variables are looked up.
	env       func(string) (string, bool)
	telemetry *telemetry.Telemetry
	gate      *gate
	edges     eval.Edges // nil but in recordings and replays
	wrap      func(mcpclients.Dialer) mcpclients.Dialer

	background sync.WaitGroup
	stop       context.CancelFunc
}

// hostOptions are what the commands differ in.
type hostOptions struct {
	// attachWait is the command's own wait for starting servers.
	attachWait time.Duration
	// summaries runs the summary worker; a one-shot command leaves it to the next
	// start.
	summaries bool
	// metrics are counted where they can be read; env may hold the OTEL_ variables.
	metrics bool
	env     func(string) (string, bool)
	// edges, when set, stand between the host and its models and servers: a recorder
	// or a player of tapes.
	edges eval.Edges
	// wrap, when set, watches what passes between the host and its servers.
	wrap func(mcpclients.Dialer) mcpclients.Dialer
}

// openHost wires a host and starts its servers. It returns before they are attached.
func openHost(ctx context.Context, cfg *config.Config, log *slog.Logger, opts hostOptions) (*host, error) {
	h := &host{cfg: cfg, log: log, env: opts.env, gate: newGate(), edges: opts.edges, wrap: opts.wrap}
	// The servers outlive an interrupt until the open answers have ended.
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := h.open(ctx, opts); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *host) open(ctx context.Context, opts hostOptions) (err error) {
	if h.db, err = store.Open(ctx, store.Config{Path: h.cfg.Database(), Logger: h.log}); err != nil {
		return err
	}
	if h.cfg.Telemetry.Trace != "off" {
		if h.traces, err = store.NewTraceWriter(store.TraceWriterConfig{DB: h.db, Logger: h.log}); err != nil {
			return err
		}
	}
	if err = h.openTelemetry(ctx, opts.metrics); err != nil {
		return err
	}
	if h.mcp, err = h.openServers(ctx); err != nil {
		return err
	}
	h.mcp.Start(ctx)
	if h.chain, err = openModelsOver(h.edges, h.cfg, h.log); err != nil {
		return err
	}
	if h.memory, err = memory.New(h.mcp); err != nil {
		return err
	}
	if h.worker, err = memory.NewWorker(memory.WorkerConfig{Client: h.memory, Summarise: h.summarise, Condense: h.condense, Logger: h.log}); err != nil {
		return err
	}
	if h.agent, err = h.openAgent(opts); err != nil {
		return err
	}
	if opts.summaries {
		h.background.Go(func() { h.worker.Run(ctx) })
	}
	return nil
}

// Close ends what openHost started: background work, servers, traces, database.
func (h *host) Close() {
	h.stop()
	h.background.Wait()
	if h.mcp != nil {
		h.closed("MCP servers", h.mcp.Close())
	}
	h.closed("telemetry", h.telemetry.Close())
	if h.tools != nil {
		h.closed("search", h.tools.Close())
	}
	if h.traces != nil {
		h.closed("traces", h.traces.Close())
	}
	if h.db != nil {
		h.closed("database", h.db.Close())
	}
}

func (h *host) closed(what string, err error) {
	if err != nil {
		h.log.Warn("closing left a fault", "what", what, "error", err)
	}
}

// openServers puts memory and tools beside the configured servers.
func (h *host) openServers(ctx context.Context) (*mcpclients.Manager, error) {
	var err error
	if h.bundled, err = h.bundledServers(); err != nil {
		return nil, err
	}
	kept, err := toolDecisions(ctx, h.db)
	if err != nil {
		return nil, err
	}
	client, err := trustingClient(h.cfg.CAFile)
	if err != nil {
		return nil, err
	}
	wrap := h.wrap
	if h.edges != nil {
		wrap = h.edges.Dial
	}
	return mcpclients.New(mcpclients.Config{
		Wrap:       wrap,
		Servers:    h.serverConfigs(h.cfg),
		HTTPClient: client,
		Logger:     h.log,
		Client:     mcpclients.Implementation{Name: "molar", Version: hostVersion()},
		Decisions:  kept,
		Keeper:     h.db,
		Logins:     h.db,
		Telemetry:  h.telemetry,
	})
}

// bundledServers are memory and tools: in process, or at the address of a molar mcp.
func (h *host) bundledServers() ([]mcpclients.ServerConfig, error) {
	if url := h.cfg.Memory.URL; url != "" {
		var headers map[string]string
		if key := h.cfg.Memory.Key.Reveal(); key != "" {
			headers = map[string]string{"Authorization": "Bearer " + key}
		}
		return []mcpclients.ServerConfig{
			{Name: memoryServer, URL: url + "/mcp/" + memoryServer, Headers: headers, Setting: "memory", Persistent: true},
			{Name: toolServer, URL: url + "/mcp/" + toolServer, Headers: headers, Setting: "memory", Persistent: true},
		}, nil
	}
	mem, err := newMemoryServer(h.cfg, h.db, h.log)
	if err != nil {
		return nil, err
	}
	if h.tools, err = newToolServer(h.cfg, h.log); err != nil {
		return nil, err
	}
	return []mcpclients.ServerConfig{{Name: memoryServer, InProcess: mem}, {Name: toolServer, InProcess: h.tools}}, nil
}

// serverConfigs are the bundled servers and those of cfg.
func (h *host) serverConfigs(cfg *config.Config) []mcpclients.ServerConfig {
	servers := slices.Clone(h.bundled)
	for _, entry := range cfg.MCPServers {
		servers = append(servers, serverConfig(entry.Name, entry.Value))
	}
	return servers
}

// serverConfig is a configured server as the client manager wants it.
func serverConfig(name string, s config.Server) mcpclients.ServerConfig {
	c := mcpclients.ServerConfig{
		Name:         name,
		Command:      s.Command,
		Args:         s.Args,
		Env:          reveal(s.Env),
		Dir:          s.Cwd,
		URL:          s.URL,
		Type:         s.Type,
		Headers:      reveal(s.Headers),
		OAuth:        loginSettings(s.OAuth),
		Timeout:      s.Timeout,
		Protocol:     s.Protocol,
		IncludeTools: s.IncludeTools,
		ExcludeTools: s.ExcludeTools,
		Disabled:     s.Disabled,
		Pin:          s.Pin,
	}
	for _, rule := range s.Tools {
		r := mcpclients.ToolRule{Glob: rule.Name}
		r.Policy, r.ReadOnly, r.Idempotent, r.Timeout = rule.Value.Policy, rule.Value.ReadOnly, rule.Value.Idempotent, rule.Value.Timeout
		if s.Trust && r.Policy == "" {
			r.Policy = schemas.PolicyAllow
		}
		c.Rules = append(c.Rules, r)
	}
	if s.Trust { // for the tools that no rule names
		c.Rules = append(c.Rules, mcpclients.ToolRule{Glob: "*", ToolRules: schemas.ToolRules{Policy: schemas.PolicyAllow}})
	}
	return c
}

func reveal(secrets map[string]config.Secret) map[string]string {
	if secrets == nil {
		return nil
	}
	plain := make(map[string]string, len(secrets))
	for key, value := range secrets {
		plain[key] = value.Reveal()
	}
	return plain
}

// openAgent builds the agent from the assistants of the config.
func (h *host) openAgent(opts hostOptions) (*agent.Agent, error) {
	handler, err := toolhandler.New(toolhandler.Config{Caller: observedCaller{h.mcp, h.telemetry}, Parallel: h.cfg.Limits.Parallel, Logger: h.log})
	if err != nil {
		return nil, err
	}
	guards, err := openGuards(h.cfg, h.log)
	if err != nil {
		return nil, err
	}
	wait := opts.attachWait
	if h.cfg.Limits.AttachWait != nil {
		wait = *h.cfg.Limits.AttachWait
	}
	cfg := agent.Config{
		Default:   h.cfg.Default,
		Models:    observedModels{models{h.chain}, h.telemetry},
		Tools:     catalogue{h.mcp},
		Handler:   handler,
		Memory:    h.memory,
		Pauses:    pauses{h.db},
		Guards:    guards,
		Rank:      rank,
		Prompts:   h.mcp,
		Lacking:   lacking(h.cfg),
		Summaries: h.worker,
		Logger:    h.log,
		Limits: agent.Limits{
			Rounds:       h.cfg.Limits.Rounds,
			Calls:        h.cfg.Limits.Calls,
			ToolTime:     h.cfg.Limits.ToolTime,
			AttachWait:   wait,
			Offered:      h.cfg.Limits.Tools,
			ResultTokens: h.cfg.Limits.ResultTokens,
			Uncovered:    h.cfg.Memory.SummarizeThreshold,
			InFlight:     h.cfg.Limits.TurnsInFlight,
		},
	}
	cfg.Observer = observer{h.telemetry, topicsOf(h.cfg), h.cfg.Limits.ResultTokens * 4}
	if h.traces != nil {
		cfg.Recorder = recorder{h.traces, h.log}
	}
	for _, entry := range h.cfg.Assistants {
		cfg.Assistants = append(cfg.Assistants, assistant(entry.Name, entry.Value))
	}
	return agent.New(cfg)
}

func assistant(name string, a config.Assistant) agent.Assistant {
	return agent.Assistant{
		Name:          name,
		Description:   a.Description,
		SystemPrompt:  a.SystemPrompt,
		Topic:         a.Topic,
		Search:        a.Search,
		Tools:         a.Tools,
		Flow:          agent.Flow(a.Flow),
		NeedsChatPass: a.DirectAnswer != nil && !*a.DirectAnswer,
		Provider:      a.Provider,
		Model:         a.Model,
	}
}

// summarise is what the worker calls; the agent exists by then.
func (h *host) summarise(ctx context.Context, lang, question, answer string) (string, error) {
	return h.agent.Summarise(ctx, lang, question, answer)
}

// condense is what the worker calls on a summary that has grown too long.
func (h *host) condense(ctx context.Context, lang, summary string) (string, error) {
	return h.agent.Condense(ctx, lang, summary)
}

// ready says why the host cannot answer, if so: the store does not, or a server is
// neither ready nor failed.
func (h *host) ready(ctx context.Context) error {
	if h.gate.isShut() {
		return errors.New("molar is shutting down")
	}
	if err := h.db.Ping(ctx); err != nil {
		h.log.Warn("the database does not answer", "error", err)
		if fault, ok := errors.AsType[*store.Error](err); ok {
			return errors.New(fault.Public()) // whoever asks needs no key
		}
		return err
	}
	for _, s := range h.mcp.Status() {
		if s.State == "starting" {
			return fmt.Errorf("server %q is still starting", s.Name)
		}
	}
	return nil
}

// explainPort words the error of a port that cannot be listened on.
func explainPort(address string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("listen on %s: %w; choose a port above 1023 with --listen", address, err)
	}
	return fmt.Errorf("listen on %s: %w; end the program that holds the port, or choose another with --listen", address, err)
}
