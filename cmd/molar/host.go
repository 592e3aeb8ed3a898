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
	"molar/agent/guardrail"
	"molar/agent/memory"
	"molar/internal/config"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/providers/chain"
	"molar/schemas"
	"molar/toolhandler"
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
	chain   *chain.Chain
	memory  *memory.Client
	agent   *agent.Agent
	worker  *memory.Worker

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
}

// openHost wires a host and starts its servers. It returns before they are attached.
func openHost(ctx context.Context, cfg *config.Config, log *slog.Logger, opts hostOptions) (*host, error) {
	h := &host{cfg: cfg, log: log}
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
	if h.mcp, err = h.openServers(); err != nil {
		return err
	}
	h.mcp.Start(ctx)
	if h.chain, err = openModels(h.cfg, h.log); err != nil {
		return err
	}
	if h.memory, err = memory.New(h.mcp); err != nil {
		return err
	}
	if h.worker, err = memory.NewWorker(memory.WorkerConfig{Client: h.memory, Summarise: h.summarise, Logger: h.log}); err != nil {
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
func (h *host) openServers() (*mcpclients.Manager, error) {
	var err error
	if h.bundled, err = h.bundledServers(); err != nil {
		return nil, err
	}
	return mcpclients.New(mcpclients.Config{
		Servers: h.serverConfigs(h.cfg),
		Logger:  h.log,
		Client:  mcpclients.Implementation{Name: "molar", Version: hostVersion()},
	})
}

// bundledServers are memory and tools: in process, or at the address of a molar mcp.
func (h *host) bundledServers() ([]mcpclients.ServerConfig, error) {
	if url := h.cfg.Memory.URL; url != "" {
		return []mcpclients.ServerConfig{
			{Name: memoryServer, URL: url + "/mcp/" + memoryServer},
			{Name: toolServer, URL: url + "/mcp/" + toolServer},
		}, nil
	}
	mem, err := newMemoryServer(h.cfg, h.db, h.log)
	if err != nil {
		return nil, err
	}
	tools, err := newToolServer(h.cfg, h.log)
	if err != nil {
		return nil, err
	}
	return []mcpclients.ServerConfig{{Name: memoryServer, InProcess: mem}, {Name: toolServer, InProcess: tools}}, nil
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
		Timeout:      s.Timeout,
		Protocol:     s.Protocol,
		IncludeTools: s.IncludeTools,
		ExcludeTools: s.ExcludeTools,
		Disabled:     s.Disabled,
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
	handler, err := toolhandler.New(toolhandler.Config{Caller: h.mcp, Parallel: h.cfg.Limits.Parallel, Logger: h.log})
	if err != nil {
		return nil, err
	}
	guards, err := h.openGuards()
	if err != nil {
		return nil, err
	}
	wait := opts.attachWait
	if h.cfg.Limits.AttachWait != nil {
		wait = *h.cfg.Limits.AttachWait
	}
	cfg := agent.Config{
		Default:   h.cfg.Default,
		Models:    models{h.chain},
		Tools:     catalogue{h.mcp},
		Handler:   handler,
		Memory:    h.memory,
		Guards:    guards,
		Rank:      rank,
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
	if h.traces != nil {
		cfg.Recorder = recorder{h.traces, h.log}
	}
	for _, entry := range h.cfg.Assistants {
		cfg.Assistants = append(cfg.Assistants, assistant(entry.Name, entry.Value))
	}
	return agent.New(cfg)
}

// openGuards builds the guardrails of the topics that an assistant keeps to; a
// topic's phrases are not read where nobody needs them.
func (h *host) openGuards() (map[string]*guardrail.Guard, error) {
	guards := make(map[string]*guardrail.Guard)
	for _, entry := range h.cfg.Assistants {
		if entry.Value.Topic != config.TopicDental || guards[config.TopicDental] != nil {
			continue
		}
		guard, err := guardrail.New(guardrail.Config{Topic: guardrail.Dental(), Logger: h.log})
		if err != nil {
			return nil, err
		}
		guards[config.TopicDental] = guard
	}
	return guards, nil
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

// ready says why the host cannot answer, if so: the store does not, or a server is
// neither ready nor failed.
func (h *host) ready(ctx context.Context) error {
	if err := h.db.Ping(ctx); err != nil {
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
