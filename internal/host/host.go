package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/agent/journal"
	"molar/agent/memory"
	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/eval"
	"molar/internal/budget"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/documents"
	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/telemetry"
	"molar/internal/telemetry/webhook"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/mcpservers"
	"molar/providers"
	"molar/providers/chain"
	"molar/providers/wire"
	"molar/schemas"
	"molar/toolhandler"
)

// A Host is everything that a turn needs, wired together. Close ends it in the
// reverse order of its start.
type Host struct {
	Config *config.Config
	Log    *slog.Logger
	DB     *store.DB
	Traces *store.TraceWriter
	// Refusals are the tools that providers refused.
	Refusals *wire.Refusals
	MCP      *mcpclients.Manager
	// bundled holds the built-in memory and tool servers, which have reserved names and run in this
	// process or another.
	bundled []transport.ServerConfig
	// added are the servers that an operator added over the API.
	added  added
	topics *Topics
	// documents reads the files of folders and of questions.
	documents *documents.Reader
	// tools is the server of the search tools; nil if it runs in another process.
	tools  *mcpservers.Dispatcher
	Chain  *chain.Chain
	Memory *memory.Client
	Agent  *agent.Agent
	// Live is what processes on one PostgreSQL share of their turns; nil on SQLite. Journal records the
	// turns of this process, and Unsaved reads those of any process that are not saved yet.
	Live    *store.Live
	Journal *journal.Recorder
	Unsaved *store.Journal
	Worker  *memory.Worker
	// Book charges model calls to budgets, and adds up what they use.
	Book *budget.Book
	// writes reports whether turns can be saved.
	writes    writeProbe
	Telemetry *telemetry.Telemetry
	Gate      *Gate
	// webhook tells others about calls that need approvers; nil tells nobody.
	webhook *webhook.Sender
	// Handovers hands visitors over to the desk, and inbox tells it; nil if nobody can be reached.
	Handovers *Handovers
	inbox     *webhook.Sender
	opts      Options
	// taped is set if a tape is recorded or played.
	taped bool

	background sync.WaitGroup
	stop       context.CancelFunc
}

// AttachWait is how long a command waits for servers: one that is started by "go run" must compile.
const AttachWait = 60 * time.Second

// Options are the differences between the commands.
type Options struct {
	// AttachWait is the command's own wait for starting servers.
	AttachWait time.Duration
	// Summaries runs the summary worker; a one-shot command leaves it to the next start.
	Summaries bool
	// Metrics turns metrics on; env may hold the OTEL_ variables.
	Metrics bool
	Env     func(string) (string, bool)
	// Edges, if set, are between the host and its models and servers: a recorder or a player
	// of tapes.
	Edges eval.Edges
	// DB, if set, replaces the configured store, and is not closed.
	DB *store.DB
	// Wrap, if set, watches the messages between the host and its servers.
	Wrap func(transport.Dialer) transport.Dialer
	// Elicit, if set, asks a person the servers' questions outside turns that bring a person.
	// Without it servers are told that no one can be asked.
	Elicit mcpclients.Elicitor
	// AsIs refuses a database whose schema is older than this program, instead of migrating it.
	AsIs bool
	// Look is set by a command that only shows what there is: it compares the folders of knowledge by words alone,
	// so that nothing is computed, or paid, for them.
	Look bool
	// Once is set by a command that ends once it has told what the servers are, as nobody retries those that failed.
	Once bool
}

// Open wires a host and starts its servers. It returns before they are attached.
func Open(ctx context.Context, cfg *config.Config, log *slog.Logger, opts Options) (*Host, error) {
	h := &Host{Config: cfg, Log: log, Gate: newGate(), opts: opts}
	// The servers survive an interrupt until the open answers have ended.
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := h.open(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Host) open(ctx context.Context) (err error) {
	h.taped = h.opts.Edges != nil
	WarnExposed(h.Config, h.Log)
	if h.documents, err = NewDocuments(h.Config); err != nil {
		return err
	}
	if h.topics, err = OpenTopics(h.Config); err != nil {
		return err
	}
	if h.DB = h.opts.DB; h.DB == nil {
		if h.DB, err = store.Open(ctx, store.Config{Path: h.Config.Database(), Logger: h.Log, AsIs: h.opts.AsIs}); err != nil {
			return err
		}
	}
	if h.Config.Telemetry.Trace != "off" {
		if h.Traces, err = store.NewTraceWriter(store.TraceWriterConfig{Store: h.DB.State, Logger: h.Log, MaxAge: h.Config.Telemetry.TraceRetention}); err != nil {
			return err
		}
	}
	if err = h.keepWires(); err != nil {
		return err
	}
	if err = h.openTelemetry(ctx); err != nil {
		return err
	}
	if h.Book, err = h.openBook(); err != nil {
		return err
	}
	if h.MCP, err = h.openServers(ctx); err != nil {
		return err
	}
	h.MCP.Start(ctx)
	h.Refusals = wire.NewRefusals(h.DB, h.Log)
	if err := h.Refusals.Refresh(ctx); err != nil { // the providers are asked again
		h.Log.Warn("the refusals of tools cannot be read", "error", err)
	}
	if h.Chain, err = openOver(h.opts.Edges, h.Book.Meter, h.Config, h.Refusals, h.Log); err != nil {
		return err
	}
	if h.Memory, err = memory.New(h.MCP); err != nil {
		return err
	}
	h.writes.begin, h.writes.release, h.writes.log = h.Memory.Begin, h.Memory.Release, h.Log
	writer := memory.Writer{Groups: h.groupsOf, Pick: func(ctx context.Context, assistant string) (providers.Route, error) {
		as, _ := h.Config.Assistants.Get(assistant)
		return h.models().Pick(ctx, as.Provider, "", "")
	}}
	if h.Worker, err = memory.NewWorker(memory.WorkerConfig{
		Client: h.Memory, Summarise: writer.Summarise, Condense: writer.Condense, Title: h.titles(writer), Threshold: cmp.Or(h.Config.Memory.SummarizeThreshold, summarizeThreshold),
		Parallel: h.Config.Limits.Summaries, Logger: h.Log,
		Unread: func(answer string) bool { return h.Agent.EndsTurn(answer) },
		Queues: func() bool {
			route, err := Routes{Chain: h.Chain}.Pick(ctx, "", "", "")
			return err == nil && route.JudgeQueues()
		},
	}); err != nil {
		return err
	}
	if err = h.openJournal(); err != nil {
		return err
	}
	if h.webhook, err = h.openWebhook(); err != nil {
		return err
	}
	if h.Handovers, h.inbox, err = h.openHandovers(); err != nil {
		return err
	}
	if h.Agent, err = h.openAgent(); err != nil {
		return err
	}
	h.background.Go(func() { h.webhook.Run(ctx) })
	h.background.Go(func() { h.inbox.Run(ctx) })
	if h.Handovers != nil {
		h.background.Go(func() { h.Handovers.Run(ctx) })
	}
	h.background.Go(func() { h.Journal.Run(ctx) })
	h.background.Go(func() { h.Book.Run(ctx) })
	if h.opts.Summaries {
		h.background.Go(func() { h.Worker.Run(ctx) })
	}
	return nil
}

// openJournal makes the recorder of this process, which has a name of its own among those on the
// database.
func (h *Host) openJournal() (err error) {
	replica := uuid.NewString()
	h.Live, h.Unsaved = h.DB.Live(replica), h.DB.Journal(replica)
	cfg := journal.Config{
		Store: h.Unsaved, Logger: h.Log,
		Recover: func(ctx context.Context, r schemas.JournalRecord) error { return h.Agent.Recover(ctx, r) },
	}
	if h.Live != nil {
		cfg.Wake = h.Live.Wake
	}
	h.Journal, err = journal.New(cfg)
	return err
}

// summarizeThreshold is how many messages without a summary make a conversation due, by default.
const summarizeThreshold = 10

// titles names conversations, except those of a tape: they are not listed.
func (h *Host) titles(w memory.Writer) func(context.Context, prompts.SummaryInput) (string, error) {
	if h.opts.Edges != nil {
		return nil
	}
	return w.Title
}

// Close ends what Open started: background work, servers, traces, database.
func (h *Host) Close() {
	h.stop()
	h.background.Wait()
	if h.MCP != nil {
		h.closed("MCP servers", h.MCP.Close())
	}
	h.closed("telemetry", h.Telemetry.Close())
	if h.tools != nil {
		h.closed("search", h.tools.Close())
	}
	if h.Traces != nil {
		h.closed("traces", h.Traces.Close())
	}
	if h.DB != nil && h.opts.DB == nil {
		h.closed("database", h.DB.Close())
	}
}

func (h *Host) closed(what string, err error) {
	if err != nil {
		h.Log.Warn("closing failed", "what", what, "error", err)
	}
}

// openServers adds memory and tools to the configured servers.
func (h *Host) openServers(ctx context.Context) (*mcpclients.Manager, error) {
	var err error
	if h.bundled, err = h.bundledServers(); err != nil {
		return nil, err
	}
	if err = h.loadAdded(ctx); err != nil {
		return nil, err
	}
	kept, err := h.DB.ToolDecisions(ctx)
	if err != nil {
		return nil, err
	}
	client, err := Client(h.Config.CAFile)
	if err != nil {
		return nil, err
	}
	wrap, elicit := h.opts.Wrap, h.opts.Elicit
	if edges := h.opts.Edges; edges != nil {
		elicit = nil // a tape contains no answers of people
		wrap = func(inner transport.Dialer) transport.Dialer {
			if h.opts.Wrap != nil {
				inner = h.opts.Wrap(inner)
			}
			return edges.Dial(inner)
		}
	}
	people, err := h.people()
	if err != nil {
		return nil, err
	}
	var protocols mcpclients.Protocols
	if !h.taped { // what a tape answers says nothing about the server
		protocols = h.DB
	}
	return mcpclients.New(mcpclients.Config{
		People:     people,
		Protocols:  protocols,
		Once:       h.opts.Once,
		Wrap:       wrap,
		Elicit:     elicit,
		Servers:    h.ServerConfigs(h.Config),
		HTTPClient: client,
		Logger:     h.Log,
		Client:     transport.Implementation{Name: "molar", Version: cli.Version()},
		Decisions:  kept,
		Keeper:     h.DB,
		Logins:     h.DB,
		Telemetry:  h.Telemetry,
	})
}

// bundledServers returns memory and tools: in process, or at the address of a molar mcp.
func (h *Host) bundledServers() ([]transport.ServerConfig, error) {
	if url := h.Config.Memory.URL; url != "" {
		var headers map[string]string
		if key := h.Config.Memory.Key.Reveal(); key != "" {
			headers = map[string]string{"Authorization": "Bearer " + key}
		}
		return []transport.ServerConfig{
			{Name: schemas.MemoryServer, URL: url + "/mcp/" + schemas.MemoryServer, Headers: headers, Setting: "memory"},
			{Name: schemas.ToolServer, URL: url + "/mcp/" + schemas.ToolServer, Headers: headers, Setting: "memory"},
		}, nil
	}
	mem, err := NewMemoryServer(h.Config, h.topics, h.DB, h.Log)
	if err != nil {
		return nil, err
	}
	vectors := h.DB
	if h.taped || h.opts.Look { // a tape is recorded and played by words alone, as its store is empty
		vectors = nil
	}
	if h.tools, err = NewToolServer(h.Config, h.topics, h.documents, vectors, h.Book, h.Log); err != nil {
		return nil, err
	}
	return []transport.ServerConfig{{Name: schemas.MemoryServer, InProcess: mem}, {Name: schemas.ToolServer, InProcess: h.tools}}, nil
}

// ServerConfigs returns the bundled servers, those of cfg, and the added ones.
func (h *Host) ServerConfigs(cfg *config.Config) []transport.ServerConfig {
	servers := slices.Clone(h.bundled)
	for _, entry := range cfg.MCPServers {
		servers = append(servers, ServerConfig(entry.Name, entry.Value))
	}
	return append(servers, h.addedConfigs(cfg)...)
}

// openAgent builds the agent from the assistants of the config.
func (h *Host) openAgent() (*agent.Agent, error) {
	handler, err := toolhandler.New(toolhandler.Config{Caller: Caller{Caller: h.MCP, Telemetry: h.Telemetry}, Parallel: h.Config.Limits.Parallel, Logger: h.Log})
	if err != nil {
		return nil, err
	}
	guards, err := h.topics.guards(h.Config, h.Log)
	if err != nil {
		return nil, err
	}
	skills, err := openSkills(h.Config, h.Log)
	if err != nil {
		return nil, err
	}
	wait := h.opts.AttachWait
	if h.Config.Limits.AttachWait != nil {
		wait = *h.Config.Limits.AttachWait
	}
	cfg := agent.Config{
		Default:        h.Config.Default,
		Models:         h.models(),
		Tools:          offered{Catalogue{h.MCP}},
		Handler:        handler,
		Memory:         h.Memory,
		Journal:        h.Journal,
		MemoryRequired: h.Config.Memory.Required,
		Pauses:         h.DB,
		Results:        h.DB,
		Grants:         h.DB,
		OnHeld:         h.onHeld,
		Flows:          flowsOf(h.Config),
		Guards:         guards,
		Skills:         skills,
		Rank:           offer.Ranking(),
		Prompts:        h.MCP,
		Documents:      questionFiles{h.documents},
		Lacking:        missingTools(h.Config),
		Summaries:      h.Worker,
		Logger:         h.Log,
		Limits: agent.Limits{
			Rounds:        h.Config.Limits.Rounds,
			Calls:         h.Config.Limits.Calls,
			ToolTime:      h.Config.Limits.ToolTime,
			AttachWait:    wait,
			Offered:       h.Config.Limits.Tools,
			ToolTokens:    h.Config.Limits.ToolTokens,
			ResultTokens:  h.Config.Limits.ResultTokens,
			ContextTokens: h.Config.Memory.Context,
			KeptMessages:  h.Config.Memory.KeepRecentMessages,
			Unsummarised:  h.Config.Memory.SummarizeThreshold,
			InFlight:      h.Config.Limits.TurnsInFlight,
		},
	}
	if h.DB != nil {
		cfg.Answers, cfg.Audit = h.DB, h.audit
	}
	cfg.Observer = observer{Telemetry: h.Telemetry, Topics: topicsOf(h.Config), ResultBytes: h.Config.Limits.ResultTokens * 4}
	if h.Handovers != nil { // a nil pointer is no nil interface
		cfg.Handovers = h.Handovers
	}
	if h.Traces != nil {
		cfg.Recorder = recorder{h.Traces, h.Log}
	}
	for _, entry := range h.Config.Assistants {
		as := entry.Value
		as.Name = entry.Name
		cfg.Assistants = append(cfg.Assistants, as)
	}
	return agent.New(cfg)
}

// Ruling logs and keeps a decision about a call that was made after its turn.
func (h *Host) Ruling(ctx context.Context, r toolhandler.Ruling) {
	toolhandler.Audit(h.Log, r)
	h.audit(ctx, r)
}

// audit keeps a decision about a call.
func (h *Host) audit(ctx context.Context, r toolhandler.Ruling) {
	if err := h.DB.Audit(context.WithoutCancel(ctx), r.Line()); err != nil {
		h.Log.Error("a decision about a call is not in the audit", "turn", r.TurnID, "call", r.Call.ID, "error", err)
	}
}

// models picks the models of turns and summaries, and watches them.
func (h *Host) models() Models {
	return Models{Models: Routes{Chain: h.Chain}, Telemetry: h.Telemetry}
}

// Ready returns why the host cannot answer, or nil: the store fails, or a server is neither
// ready nor failed.
func (h *Host) Ready(ctx context.Context) error {
	if h.Gate.isLeaving() {
		return errors.New("molar is shutting down")
	}
	if err := h.DB.Ping(ctx); err != nil {
		h.Log.Warn("the database does not answer", "error", err)
		if fault, ok := errors.AsType[*database.Error](err); ok {
			return errors.New(fault.Public()) // the client needs no key
		}
		return err
	}
	for _, s := range h.MCP.Status() {
		if s.State == "starting" {
			return fmt.Errorf("server %q is still starting", s.Name)
		}
	}
	return h.writes.check(ctx)
}

// Attached waits for the servers, and returns an error that names the first missing one.
func (h *Host) Attached(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, AttachWait)
	defer cancel()
	if err := h.MCP.Wait(wait, nil); err != nil {
		return err
	}
	for _, s := range h.MCP.Status() {
		if s.State != schemas.StateReady && s.State != schemas.StateDisabled {
			return fmt.Errorf("server %s", ServerLine(s))
		}
	}
	return nil
}

// Warm learns topics of the file and loads a local small model, so that the first question
// does not wait for either.
func (h *Host) Warm(ctx context.Context) {
	if err := h.Agent.Warm(ctx); err != nil && ctx.Err() == nil {
		h.Log.Info("the small model could not be warmed; the first questions may wait for it", "error", err)
	}
}
