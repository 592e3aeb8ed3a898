package config

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"
	"time"

	"molar/schemas"
)

// A Config holds all settings. The yaml tags of its fields are the keys of molar.yaml.
type Config struct {
	Listen         string                 `yaml:"listen" jsonschema_description:"Address of the chat endpoint and the pages; off loopback only with API keys."`
	MCP            MCP                    `yaml:"mcp" jsonschema_description:"The memory and tool server, which molar mcp runs on a separate port."`
	Default        string                 `yaml:"default" jsonschema_description:"Assistant used when a client names none; the first one defined when left out."`
	LLM            LLM                    `yaml:"llm" jsonschema_description:"The models that answer."`
	Assistants     Map[schemas.Assistant] `yaml:"assistants" jsonschema_description:"Assistants by name, which clients choose as the model. They replace the built-in ones."`
	Topics         Map[Topic]             `yaml:"topics" jsonschema_description:"Topics to which assistants can be limited, by name: packs, or what the keys say. A built-in pack needs no entry; one under its name replaces its texts."`
	Knowledge      Map[Knowledge]         `yaml:"knowledge" jsonschema_description:"Folders of documents: Markdown, HTML, text, Word, Excel, CSV and PDF; each gets a search tool with its name."`
	Convert        Map[[]string]          `yaml:"convert" jsonschema_description:"Programs that print the text of documents, by the ending of their names, such as pdf: a program and its arguments, of which {} stands for the document. Without an entry pdftotext reads PDF if it is installed."`
	Search         Search                 `yaml:"search" jsonschema_description:"The bundled search tools."`
	Memory         Memory                 `yaml:"memory" jsonschema_description:"Where conversations are kept, and how they are summarised."`
	Audit          Audit                  `yaml:"audit" jsonschema_description:"The record of who decided or changed what."`
	State          string                 `yaml:"state" jsonschema_description:"SQLite file for the host's own state when the memory is at memory.url; molar.db in the user's data folder when left out."`
	MCPServers     Map[Server]            `yaml:"mcpServers" jsonschema_description:"MCP servers by name; their tools are offered to the assistants."`
	Flows          []Flow                 `yaml:"flows" jsonschema_description:"Where texts of one origin may go, in order; the first rule that fits counts. Without one, a person is asked."`
	Limits         Limits                 `yaml:"limits" jsonschema_description:"Limits of one turn and of the whole host."`
	APIKeys        []APIKey               `yaml:"api_keys" jsonschema_description:"API keys, in addition to those of molar keys create. With a key of either kind, both ports require one."`
	AllowedHosts   []string               `yaml:"allowed_hosts" jsonschema_description:"Host names that requests may name in their Host header, in addition to the listen address."`
	PublicURL      string                 `yaml:"public_url" jsonschema_description:"Origin under which people reach this host, such as https://assistant.example.com: sign-ins and logins come back to it, and links lead to it. It needs no entry in allowed_hosts. When left out, the Host of a request, else the address of listen."`
	TrustedProxies []string               `yaml:"trusted_proxies" jsonschema_description:"Addresses or ranges of reverse proxies whose X-Forwarded-For is trusted."`
	Identity       ProxyIdentity          `yaml:"identity" jsonschema_description:"Who signs people in: a reverse proxy that passes on their names, or an identity provider."`
	Groups         Map[schemas.Group]     `yaml:"groups" jsonschema_description:"Groups of people by their name at the identity provider, and what their members may do: the union of what their groups allow. With a group here, people without one are not admitted."`
	Approvals      Approvals              `yaml:"approvals" jsonschema_description:"What happens with calls that need the approval of somebody else."`
	Review         Review                 `yaml:"review" jsonschema_description:"What those may see and do who review turns: keys and groups with the scope review."`
	Logins         Logins                 `yaml:"logins" jsonschema_description:"The logins of people at MCP servers that each person calls as themselves (as: person)."`
	Budgets        Budgets                `yaml:"budgets" jsonschema_description:"The most that models may use in a day or a month, in UTC."`
	Public         Public                 `yaml:"public" jsonschema_description:"The assistant that anybody on the web may ask, from a page of your own site."`
	Handover       Handover               `yaml:"handover" jsonschema_description:"How visitors reach somebody at the desk."`
	TLS            TLS                    `yaml:"tls" jsonschema_description:"Certificate of both ports; plain HTTP when left out."`
	CAFile         string                 `yaml:"ca_file" jsonschema_description:"PEM file of certificate authorities that are trusted in addition to the system's, for models and servers of your own."`
	Telemetry      Telemetry              `yaml:"telemetry" jsonschema_description:"Logs and traces."`
	Metrics        Metrics                `yaml:"metrics" jsonschema_description:"A separate port for metrics."`
	Shutdown       Shutdown               `yaml:"shutdown" jsonschema_description:"How serve and mcp shut down after an interrupt."`

	// File is the absolute path of the config file; empty if there is none.
	File string `yaml:"-"`
	// Variables describes the variables file of the config file, such as molar.env.
	Variables Variables `yaml:"-"`

	// origins maps a key to the place that set it ("molar.yaml:12", "MOLAR_LISTEN"), which
	// error messages name.
	origins map[string]string
	// digest is the SHA-256 of the file, and blank is set if the file holds only white space.
	digest [sha256.Size]byte
	blank  bool
}

// MCP holds the address on which "molar mcp" listens, and the rate limit of its clients.
type MCP struct {
	Listen string `yaml:"listen" jsonschema_description:"Address of the memory and tool server; off loopback only with API keys."`
	// Rate nil means 20 for each key, and no limit if there are no keys; zero means no limit.
	Rate *int `yaml:"rate" jsonschema:"minimum=0" jsonschema_description:"Calls per second that one key may make, or one address if there are no keys; bursts may be five times as large. 0 for no limit (default 20 for a key, no limit without keys)."`
}

// LLM names the models and where they run.
type LLM struct {
	Provider Providers `yaml:"provider"`
	// Small empty means the endpoint of the turn.
	Small     string `yaml:"small" jsonschema_description:"Endpoint whose small_model judges questions, names languages and writes summaries, whatever endpoint answers; the one that answers when left out, or when this one fails."`
	Gemini    Gemini `yaml:"gemini" jsonschema_description:"Google's Gemini; its key is GEMINI_API_KEY or GOOGLE_API_KEY in the environment, or key below."`
	OpenAI    OpenAI `yaml:"openai" jsonschema_description:"OpenAI, whose key is OPENAI_API_KEY in the environment, or another server with its API, which receives no key except the one below."`
	Anthropic Hosted `yaml:"anthropic" jsonschema_description:"Anthropic's Claude, whose key is ANTHROPIC_API_KEY in the environment, or another server with its API, which receives no key except the one below."`
	Ollama    Ollama `yaml:"ollama" jsonschema_description:"A local Ollama."`
	// Providers are further endpoints. The blocks above are endpoints too, with the name of their service.
	Providers Map[Endpoint] `yaml:"providers" jsonschema_description:"Further endpoints by name, for llm.provider, llm.small and assistants. Each has the keys of the block of its api."`

	// Keys are the API keys in the environment, by service. [LLM.Key] returns the key that is
	// sent to an endpoint.
	Keys map[string]schemas.Secret `yaml:"-"`
}

// Search configures the bundled search tools.
type Search struct {
	DuckDuckGo DuckDuckGo `yaml:"duckduckgo" jsonschema_description:"The duckduckgo_search tool."`
}

// DuckDuckGo configures the duckduckgo_search tool. Empty fields keep the tool's defaults.
type DuckDuckGo struct {
	BaseURL string        `yaml:"base_url" jsonschema_description:"Address of the HTML search page, for a mirror or a proxy."`
	Region  string        `yaml:"region" jsonschema_description:"Region code, such as vn-vi or us-en."`
	Timeout time.Duration `yaml:"timeout" jsonschema_description:"Longest wait for one search."`
}

// Memory configures where conversations are stored and when they are summarised.
type Memory struct {
	// Store is an absolute path or the address of a PostgreSQL database after loading.
	Store string `yaml:"store" jsonschema_description:"SQLite file, or the postgres:// address of a PostgreSQL database; molar.db in the user's data folder when left out."`
	// URL has no trailing slash after loading. If it is set, Store is ignored.
	URL                  string         `yaml:"url" jsonschema_description:"Address of a molar mcp that keeps the conversations and searches, instead of store."`
	Key                  schemas.Secret `yaml:"key" jsonschema_description:"API key with scope host for url, such as ${MEMORY_KEY}."`
	Required             bool           `yaml:"required" jsonschema_description:"Whether a turn whose conversation cannot be read is refused with 503, instead of being answered without memory."`
	Context              int            `yaml:"context" jsonschema:"minimum=1" jsonschema_description:"Tokens of a conversation's newest exchanges that a model receives verbatim, at most half of what its window leaves; 16000 when left out."`
	KeepRecentMessages   int            `yaml:"keep_recent_messages" jsonschema:"minimum=1" jsonschema_description:"Most messages that get_context returns (6 when left out). When set, also the most messages that a model receives verbatim."`
	SummarizeThreshold   int            `yaml:"summarize_threshold" jsonschema:"minimum=0" jsonschema_description:"Number of messages without a summary from which on a conversation is summarised at once, even by a provider that answers one request at a time (default 10 for assistants that summarize after each answer, no number for others)."`
	CompressAfterSummary bool           `yaml:"compress_after_summary" jsonschema_description:"Whether old messages are left out of reads once a summary covers them."`
	// Retention zero keeps conversations for ever.
	Retention time.Duration `yaml:"retention" jsonschema_description:"Conversations not changed for this long are deleted for good, such as 90d; for ever when left out."`
}

// Audit configures the record of who decided or changed what.
type Audit struct {
	// Retention zero keeps lines for ever.
	Retention time.Duration `yaml:"retention" jsonschema_description:"Lines older than this are removed from the oldest end, such as 730d; 0s keeps them for ever (default 8760h, a year)."`
}

// Database returns the absolute path or the address of the host's own database: memory.store,
// or state if memory.url is set.
func (cfg *Config) Database() string {
	if cfg.Memory.URL != "" {
		return cfg.State
	}
	return cfg.Memory.Store
}

// DatabaseLabel returns [Config.Database] for output; of an address, it returns only scheme and
// host.
func (cfg *Config) DatabaseLabel() string { return hideAddress(cfg.Database()) }

// A Server is an MCP server: a command that is served over stdio, or an address.
type Server struct {
	Command string `yaml:"command" jsonschema_description:"Program to start; a relative path with a slash starts at the file's folder."`
	// Args are passed as they are, without a shell.
	Args    []string                  `yaml:"args" jsonschema_description:"Arguments of the command, one by one; no shell reads them."`
	Env     map[string]schemas.Secret `yaml:"env" jsonschema_description:"Environment variables for the command."`
	Cwd     string                    `yaml:"cwd" jsonschema_description:"Folder in which the command runs; relative to the file's folder."`
	URL     string                    `yaml:"url" jsonschema_description:"Address of a server over HTTP."`
	Type    string                    `yaml:"type" jsonschema:"enum=stdio,enum=http,enum=sse,enum=message" jsonschema_description:"Transport: stdio with command; with url http (streamable HTTP), sse (the older one) or message (plain JSON-RPC, /message below url). When left out, stdio or http."`
	As      string                    `yaml:"as" jsonschema:"enum=person,enum=host" jsonschema_description:"Who the host is to the server: host, one connection for everybody (default), or person: each person has their own connection and login, and a turn without a person cannot call it."`
	Headers map[string]schemas.Secret `yaml:"headers" jsonschema_description:"HTTP headers of every request to url. With as: person, ${person.id}, ${person.name} and ${person.groups} stand for the person."`
	OAuth   OAuth                     `yaml:"oauth" jsonschema_description:"The login at a server over HTTP that requires one (molar servers login); not needed for servers that let clients register themselves."`
	// Timeout is the time limit of one call; zero means the default of 60 s.
	Timeout time.Duration `yaml:"timeout" jsonschema_description:"Longest time of one tool call, at most 30m (default 60s)."`
	// StartTimeout zero means the default of 60 s.
	StartTimeout time.Duration `yaml:"start_timeout" jsonschema_description:"Longest time from the start of the server to its answer, at most 30m (default 60s)."`
	Protocol     string        `yaml:"protocol" jsonschema_description:"MCP revision, such as 2025-11-25, if only that one is to be spoken; auto (default) finds out once which one the server speaks, and remembers it."`
	IncludeTools []string      `yaml:"includeTools" jsonschema_description:"Globs over the tools to offer; all when left out."`
	ExcludeTools []string      `yaml:"excludeTools" jsonschema_description:"Globs over the tools to leave out."`
	// Trust declares that the server's texts contain no instructions to the model.
	Trust    bool `yaml:"trust" jsonschema_description:"Assume that the server's texts contain no instructions to the model: no call asks a person because such a text was read."`
	Public   bool `yaml:"public" jsonschema_description:"The server's readers fetch what the web shows to anybody, so what they return is not private, unless a call named an address inside."`
	Closed   bool `yaml:"closed" jsonschema_description:"The server reaches nobody outside, so that all of it is one destination: its own texts may go to any of its tools."`
	ReadOnly bool `yaml:"readonly" jsonschema_description:"The server's credentials cannot write, so that a tool that reads may take any statement."`
	// Pin withholds tools that changed since their first listing until they are approved. Nil
	// means true, unless Trust is set.
	Pin      *bool `yaml:"pin" jsonschema_description:"Withhold tools whose definition differs from their first listing, until they are approved with molar servers approve. Default true, unless trust is set; false for a server under development."`
	Disabled bool  `yaml:"disabled" jsonschema_description:"Keep the entry, but do not attach the server."`
	// UnsetFault describes the environment variables that the entry refers to and that are not
	// set; empty if all are set. A server with such a fault is not attached, and its other
	// fields are not validated.
	UnsetFault string `yaml:"-"`
	// UnsetVariables are the names of those variables.
	UnsetVariables []string `yaml:"-"`
	Always         bool     `yaml:"always" jsonschema_description:"Offer all tools of the server first, whatever the question and their size, as far as the model's window has room."`
	// Tools holds rules by glob, in the order of the file; the first glob that matches wins.
	Tools Map[ToolRule] `yaml:"tools" jsonschema_description:"Rules by glob over the server's tool names; the first match wins."`
}

// A Flow is the operator's rule for texts of one origin that go to another server.
type Flow struct {
	From string `yaml:"from" jsonschema_description:"Whose texts: a server's name, file (uploaded files), client (what clients pass on), paste, web (the built-in web search), or * for all."`
	To   string `yaml:"to" jsonschema_description:"The server that they would go to, or * for all."`
	// Allow nil is a fault.
	Allow *bool `yaml:"allow" jsonschema_description:"true lets them go there without a question, false never."`
}

// OAuth configures the login at an MCP server. If it is left out, Molar registers itself there.
type OAuth struct {
	ClientID     string         `yaml:"client_id" jsonschema_description:"ID of a client that was registered by hand."`
	ClientSecret schemas.Secret `yaml:"client_secret" jsonschema_description:"Secret of that client, such as ${CLIENT_SECRET}."`
	// Scopes empty means the scopes that the server names.
	Scopes []string `yaml:"scopes" jsonschema_description:"Scopes to ask for instead of those that the server names."`
	// RedirectPort zero means any free port.
	RedirectPort int `yaml:"redirect_port" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"Port on 127.0.0.1 that the browser comes back to: http://127.0.0.1:PORT/callback (default any)."`
	// Grant empty means that a person logs in.
	Grant      string         `yaml:"grant" jsonschema:"enum=client_credentials" jsonschema_description:"client_credentials logs in as the client itself, without a person."`
	PrivateKey schemas.Secret `yaml:"private_key" jsonschema_description:"Private key in PEM with which the client proves its identity, instead of a secret, such as ${CLIENT_KEY}."`
	Identity   Identity       `yaml:"identity" jsonschema_description:"Identity provider that vouches for a person, where the server's authorization server trusts it (cross-app access)."`
}

// Identity configures the identity provider that vouches for the person on whose behalf the host
// logs in.
type Identity struct {
	Issuer       string         `yaml:"issuer" jsonschema_description:"Address of the identity provider."`
	ClientID     string         `yaml:"client_id" jsonschema_description:"Client ID of the host at the provider (default the client_id above)."`
	ClientSecret schemas.Secret `yaml:"client_secret" jsonschema_description:"Secret of that client."`
	Token        schemas.Secret `yaml:"token" jsonschema_description:"ID token of the person, such as ${ID_TOKEN}."`
	TokenFile    string         `yaml:"token_file" jsonschema_description:"File that holds the ID token, read each time; relative to the file's folder."`
}

// isSet reports whether any field is set.
func (o OAuth) isSet() bool {
	return o.ClientID != "" || o.ClientSecret != "" || len(o.Scopes) > 0 || o.RedirectPort != 0 || o.Grant != "" || o.PrivateKey != "" || o.Identity != (Identity{})
}

// A ToolRule holds the operator's settings for the tools of a server that match a glob.
type ToolRule struct {
	// Policy empty means the host's default.
	Policy schemas.Policy `yaml:"policy" jsonschema:"enum=auto,enum=allow,enum=confirm,enum=deny" jsonschema_description:"Whether a call runs without a question, asks a person first, or is never offered."`
	// Approvers set means policy confirm.
	Approvers  []string `yaml:"approvers" jsonschema_description:"Groups whose members decide about each call, instead of the person who asks; with policy confirm, which it implies."`
	ReadOnly   bool     `yaml:"readOnly" jsonschema_description:"The tool changes nothing, so a call may be repeated."`
	Idempotent bool     `yaml:"idempotent" jsonschema_description:"Calling the tool twice does no more than once, so a call may be repeated."`
	Poll       bool     `yaml:"poll" jsonschema_description:"The tool is called again to see whether something has changed: a repeated call is executed, not answered with the earlier result."`
	Always     bool     `yaml:"always" jsonschema_description:"Offer the tool first, whatever the question and its size, as far as the model's window has room."`
	Adds       bool     `yaml:"adds" jsonschema_description:"The tool changes nothing that exists, and what it adds harms nobody: no call asks because a text was read."`
	// Content nil leaves it to the schema.
	Content []string `yaml:"content" jsonschema_description:"Arguments that are free text, not part of the destination, by path (default as the schema tells; molar tools lint shows it)."`
	// Destructive nil means the tool's own annotation.
	Destructive *bool         `yaml:"destructive" jsonschema_description:"false overrides a tool that declares itself destructive: it asks like any other tool that writes, not at each call."`
	Timeout     time.Duration `yaml:"timeout" jsonschema_description:"Longest time of one call, at most 30m."`
}

// Pinned reports whether changed tools are withheld.
func (s Server) Pinned() bool {
	if s.Pin != nil {
		return *s.Pin
	}
	return !s.Trust
}

// Limits holds the limits of one turn and of the whole host.
type Limits struct {
	Rounds       int           `yaml:"rounds" jsonschema:"minimum=1" jsonschema_description:"Tool rounds in one turn."`
	Calls        int           `yaml:"calls" jsonschema:"minimum=1" jsonschema_description:"Tool calls in one turn."`
	Parallel     int           `yaml:"parallel" jsonschema:"minimum=1" jsonschema_description:"Tool calls at a time in one turn."`
	Summaries    int           `yaml:"summaries" jsonschema:"minimum=1" jsonschema_description:"Summaries that are written at a time; one by a provider that answers one request at a time."`
	ToolTime     time.Duration `yaml:"tool_time" jsonschema_description:"Time for all tools of one turn."`
	ResultTokens int           `yaml:"result_tokens" jsonschema:"minimum=1" jsonschema_description:"Longest tool result that a model sees, in tokens of about four bytes."`
	Messages     int           `yaml:"messages" jsonschema:"minimum=1" jsonschema_description:"Messages that one request may hold."`
	Body         Size          `yaml:"body" jsonschema_description:"Largest request body."`
	// Files zero means that no files are stored.
	Files Size `yaml:"files" jsonschema_description:"Total size of the files that are attached to the questions of one conversation and stored with it; 0 stores none."`
	// TurnsInFlight zero means no limit.
	TurnsInFlight int `yaml:"turns_in_flight" jsonschema:"minimum=0" jsonschema_description:"Turns at a time; 0 for no limit."`
	// AttachWait nil means the command's default: 5 s in serve, 60 s in chat.
	AttachWait *time.Duration `yaml:"attach_wait" jsonschema_description:"How long a turn waits for servers that are still starting (default 5s in serve, 60s in chat)."`
	Tools      int            `yaml:"tools" jsonschema:"minimum=1,maximum=128" jsonschema_description:"Tools offered to a model at once; find_tools reaches the others."`
	// ToolTokens zero means 8000, or a quarter of the model's largest window if that is less.
	ToolTokens int `yaml:"tool_tokens" jsonschema:"minimum=0" jsonschema_description:"Tokens, of about four bytes, that the offered tools may take; 0 for 8000 or a quarter of the largest window that the model can have, whichever is less. A tool that was called stays offered beyond this limit."`
	// TurnsPerMinute zero means no limit.
	TurnsPerMinute int `yaml:"turns_per_minute" jsonschema:"minimum=0" jsonschema_description:"Turns that one API key may begin in a minute; 0 for no limit."`
}

// Telemetry configures logs, traces and recorded traffic.
type Telemetry struct {
	// LogLevel empty means the command's default: info in serve, warn elsewhere.
	LogLevel  string `yaml:"log_level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"Lowest level that is logged."`
	LogFormat string `yaml:"log_format" jsonschema:"enum=text,enum=json" jsonschema_description:"Form of the log lines."`
	Trace     string `yaml:"trace" jsonschema:"enum=on,enum=off" jsonschema_description:"Whether every turn leaves a trace in the store."`
	// TraceRetention zero means a week.
	TraceRetention time.Duration `yaml:"trace_retention" jsonschema_description:"How long traces are kept, such as 30d (default 168h, a week), and never longer than the conversation."`
	// Wire zero means that no traffic is recorded.
	Wire time.Duration `yaml:"wire" jsonschema_description:"How long the traffic of models and servers is kept with each turn, such as 7d, so that a marked answer can become a test with its complete tape; none is kept when left out. Requires trace."`
}

// Metrics configures a port for scrapers, in addition to /metrics of the host's own port.
type Metrics struct {
	// Listen empty means that there is no such port.
	Listen string `yaml:"listen" jsonschema_description:"Address on which serve answers only /metrics, /health and /ready, without keys and for any Host header, such as 0.0.0.0:9464; for a private network."`
}

// Shutdown holds the times that a host takes to shut down.
type Shutdown struct {
	Delay time.Duration `yaml:"delay" jsonschema_description:"How long new turns are still accepted after an interrupt, while /ready answers 503, so that load balancers notice."`
	Drain time.Duration `yaml:"drain" jsonschema_description:"How long answers that have begun may then continue; any duration is allowed. Answers that still run after it are cut off and stored as interrupted."`
}

// Label describes the server for output: "command" and the name of its program, or the scheme and
// host of its address. It leaves out all that may hold secrets: arguments, headers, environment
// and the rest of the address.
func (s Server) Label() string {
	switch {
	case s.UnsetFault != "":
		return "a variable is not set"
	case s.URL == "":
		return "command " + filepath.Base(s.Command)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "url"
	}
	return u.Scheme + "://" + u.Host
}

// Format prints the label for every verb, so that no log shows the value of a variable in the
// arguments or the address.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.Label()) }

// MarshalText returns the label, for encoding/json.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.Label()), nil }

// LogValue returns the label, for log/slog.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Label()) }

// Rule returns the first rule whose glob matches the tool's name without the server's prefix; ok
// is false if none matches.
func (s Server) Rule(tool string) (rule ToolRule, ok bool) {
	for _, e := range s.Tools {
		if ok, _ := path.Match(e.Name, tool); ok {
			return e.Value, true
		}
	}
	return ToolRule{}, false
}
