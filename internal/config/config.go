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

// A Config is everything that a person can set. Its fields carry the keys of
// molar.yaml in their yaml tags.
type Config struct {
	Listen         string                 `yaml:"listen" jsonschema_description:"Address of the chat endpoint and the pages; off loopback only with API keys."`
	MCP            MCP                    `yaml:"mcp" jsonschema_description:"The memory and tool server on a port of its own: molar mcp."`
	Default        string                 `yaml:"default" jsonschema_description:"Assistant used when a client names none; the first one defined when left out."`
	LLM            LLM                    `yaml:"llm" jsonschema_description:"The models that answer."`
	Assistants     Map[schemas.Assistant] `yaml:"assistants" jsonschema_description:"Assistants by name, which clients choose as the model. They replace the built-in ones."`
	Topics         Map[Topic]             `yaml:"topics" jsonschema_description:"Subjects that assistants may keep to, by name, beside the built-in dental."`
	Knowledge      Map[Knowledge]         `yaml:"knowledge" jsonschema_description:"Folders of Markdown, HTML and text files; each is searched by a tool of its name."`
	Search         Search                 `yaml:"search" jsonschema_description:"The bundled search tools."`
	Memory         Memory                 `yaml:"memory" jsonschema_description:"Where conversations are kept, and how they are summarised."`
	State          string                 `yaml:"state" jsonschema_description:"SQLite file for the host's own state when the memory is at memory.url; molar.db in the user's data folder when left out."`
	MCPServers     Map[Server]            `yaml:"mcpServers" jsonschema_description:"MCP servers by name; their tools are offered to the assistants."`
	Limits         Limits                 `yaml:"limits" jsonschema_description:"Bounds of one turn and of the whole host."`
	APIKeys        []APIKey               `yaml:"api_keys" jsonschema_description:"API keys beside those of molar keys create. With one of either, both ports want a key."`
	AllowedHosts   []string               `yaml:"allowed_hosts" jsonschema_description:"Host names, besides the listen address, that requests may carry."`
	TrustedProxies []string               `yaml:"trusted_proxies" jsonschema_description:"Addresses or ranges of reverse proxies whose X-Forwarded-For is believed."`
	Identity       People                 `yaml:"identity" jsonschema_description:"How a proxy that signs people in names them."`
	TLS            TLS                    `yaml:"tls" jsonschema_description:"Certificate of both ports; plain HTTP when left out."`
	CAFile         string                 `yaml:"ca_file" jsonschema_description:"PEM file of certificate authorities that are trusted beside the system's, for models and servers of one's own."`
	Telemetry      Telemetry              `yaml:"telemetry" jsonschema_description:"Logs and traces."`
	Metrics        Metrics                `yaml:"metrics" jsonschema_description:"A port for metrics alone."`
	Shutdown       Shutdown               `yaml:"shutdown" jsonschema_description:"How serve and mcp end after an interrupt."`

	// File is the file that was read, as an absolute path; empty without one.
	File string `yaml:"-"`
	// Variables is the file beside it that was read with it.
	Variables Variables `yaml:"-"`

	// origins says where a key was set ("molar.yaml:12", "MOLAR_LISTEN"), so that a
	// fault can point at it.
	origins map[string]string
	// digest is of the file's bytes; blank tells that it holds nothing at all.
	digest [sha256.Size]byte
	blank  bool
}

// MCP says where "molar mcp" listens, and how often a client may call.
type MCP struct {
	Listen string `yaml:"listen" jsonschema_description:"Address of the memory and tool server; off loopback only with API keys."`
	// Rate nil means 20 for each key, and no bound without keys; zero means no bound.
	Rate *int `yaml:"rate" jsonschema:"minimum=0" jsonschema_description:"Calls a second that one key, or without keys one address, may make, five times as many at once; 0 for no bound (default 20 for a key, no bound without keys)."`
}

// LLM names the models and where they run.
type LLM struct {
	Provider Providers `yaml:"provider"`
	Gemini   Gemini    `yaml:"gemini" jsonschema_description:"Google's Gemini; its key is GEMINI_API_KEY or GOOGLE_API_KEY in the environment, or key below."`
	OpenAI   Hosted    `yaml:"openai" jsonschema_description:"OpenAI, whose key is OPENAI_API_KEY in the environment, or another server with its API, which is sent no key but the one below."`
	Ollama   Ollama    `yaml:"ollama" jsonschema_description:"A local Ollama."`

	// Keys are the keys of the environment, by service. What is sent to a service is its
	// [LLM.Key].
	Keys map[string]schemas.Secret `yaml:"-"`
}

// Hosted holds how to reach a service over the network, and which of its models to use.
type Hosted struct {
	BaseURL string `yaml:"base_url" jsonschema_description:"Address of the service, for a gateway or a server of one's own."`
	// Key is never written out in the file, only referred to.
	Key        schemas.Secret `yaml:"key" jsonschema_description:"Key that goes to base_url and nowhere else, as a reference to a variable, such as ${SERVICE_KEY}."`
	Model      string         `yaml:"model" jsonschema_description:"Model that answers."`
	SmallModel string         `yaml:"small_model" jsonschema_description:"Model for the guardrail, language and summaries."`
	Timeout    time.Duration  `yaml:"timeout" jsonschema_description:"Longest wait for the first output of a model call."`
	// Window zero means that it is not known.
	Window int `yaml:"window" jsonschema:"minimum=0" jsonschema_description:"Tokens that prompt and answer may have together; not known when left out."`
	// Allow holds globs.
	Allow []string `yaml:"allow" jsonschema_description:"Globs over the models that clients with an API key may choose, beside model and small_model."`
	schemas.Tuning
}

// Gemini holds how to reach Google's models, with a key or through Vertex AI.
type Gemini struct {
	Hosted
	// Project makes requests go to Vertex AI, with application default credentials.
	Project  string `yaml:"project" jsonschema_description:"Google Cloud project: Vertex AI answers, with application default credentials, and no key is needed."`
	Location string `yaml:"location" jsonschema_description:"Location of Vertex AI, such as europe-west4 (default global)."`
	// Safety empty leaves the service's own threshold.
	Safety string `yaml:"safety" jsonschema:"enum=OFF,enum=BLOCK_NONE,enum=BLOCK_ONLY_HIGH,enum=BLOCK_MEDIUM_AND_ABOVE,enum=BLOCK_LOW_AND_ABOVE" jsonschema_description:"From which likelihood of harm on an answer is blocked, in every category."`
}

// Ollama holds how to reach an Ollama and which of its models to use.
type Ollama struct {
	// BaseURL has a scheme and no slash at its end once loaded.
	BaseURL    string        `yaml:"base_url" jsonschema_description:"Address of Ollama, such as http://127.0.0.1:11434."`
	Model      string        `yaml:"model" jsonschema_description:"Model that answers."`
	SmallModel string        `yaml:"small_model" jsonschema_description:"Model for the guardrail, language and summaries."`
	Timeout    time.Duration `yaml:"timeout" jsonschema_description:"Longest wait for the first output of a model call."`
	// KeepAlive is a duration or a number of seconds; negative means for ever, empty leaves it to Ollama.
	KeepAlive KeepAlive `yaml:"keep_alive" jsonschema_description:"How long Ollama keeps a model loaded, such as 5m, or seconds; -1 for ever."`
	// NumCtx zero means as much as a call needs.
	NumCtx    int `yaml:"num_ctx" jsonschema:"minimum=0" jsonschema_description:"Context window of every call, in tokens; as the model is loaded, growing when needed, when left out."`
	MaxNumCtx int `yaml:"max_num_ctx" jsonschema:"minimum=0" jsonschema_description:"Largest context window that a call may make Ollama load; the model's own when left out."`
	// Allow holds globs.
	Allow []string `yaml:"allow" jsonschema_description:"Globs over the models that clients with an API key may choose, beside model and small_model."`
	schemas.Tuning
}

// Search configures the bundled search tools.
type Search struct {
	DuckDuckGo DuckDuckGo `yaml:"duckduckgo" jsonschema_description:"The duckduckgo_search tool."`
}

// DuckDuckGo configures the duckduckgo_search tool. Empty fields leave the tool's
// own defaults.
type DuckDuckGo struct {
	BaseURL string        `yaml:"base_url" jsonschema_description:"Address of the HTML search page, for a mirror or a proxy."`
	Region  string        `yaml:"region" jsonschema_description:"Region code, such as vn-vi or us-en."`
	Timeout time.Duration `yaml:"timeout" jsonschema_description:"Longest wait for one search."`
}

// Memory says where conversations live and when they are summarised.
type Memory struct {
	// Store is an absolute path once loaded.
	Store string `yaml:"store" jsonschema_description:"SQLite file, or the postgres:// address of a PostgreSQL database; molar.db in the user's data folder when left out."`
	// URL has no slash at its end once loaded. When it is set, Store is not used.
	URL                  string         `yaml:"url" jsonschema_description:"Address of a molar mcp that keeps the conversations and searches, instead of store."`
	Key                  schemas.Secret `yaml:"key" jsonschema_description:"API key with scope host for url, such as ${MEMORY_KEY}."`
	Required             bool           `yaml:"required" jsonschema_description:"Whether a turn whose conversation cannot be read is refused with 503, instead of going on without memory."`
	Context              int            `yaml:"context" jsonschema:"minimum=1" jsonschema_description:"Tokens of a conversation's newest exchanges that a model is shown verbatim, at most half of what its window leaves; 16000 when left out."`
	KeepRecentMessages   int            `yaml:"keep_recent_messages" jsonschema:"minimum=1" jsonschema_description:"What get_context gives at most (6 when left out). When set, also the most messages that a model is shown verbatim."`
	SummarizeThreshold   int            `yaml:"summarize_threshold" jsonschema:"minimum=1" jsonschema_description:"Messages not yet summarised from which on a conversation is summarised at once, also by a provider that answers one request at a time."`
	CompressAfterSummary bool           `yaml:"compress_after_summary" jsonschema_description:"Whether old messages are left out of reads once a summary covers them."`
	// Retention zero keeps conversations for ever.
	Retention time.Duration `yaml:"retention" jsonschema_description:"Conversations not changed for this long are deleted for good, such as 90d; for ever when left out."`
}

// Database is the absolute path of the host's own database: memory.store, or state
// when the conversations are kept elsewhere.
func (cfg *Config) Database() string {
	if cfg.Memory.URL != "" {
		return cfg.State
	}
	return cfg.Memory.Store
}

// ShownDatabase is [Config.Database] as it may be shown: of an address scheme and host alone.
func (cfg *Config) ShownDatabase() string { return hideAddress(cfg.Database()) }

// A Server is an MCP server: a command that speaks over stdio, or an address.
type Server struct {
	Command string `yaml:"command" jsonschema_description:"Program to start; a relative path with a slash starts at the file's folder."`
	// Args are passed as they are, without a shell.
	Args    []string                  `yaml:"args" jsonschema_description:"Arguments of the command, one by one; no shell reads them."`
	Env     map[string]schemas.Secret `yaml:"env" jsonschema_description:"Environment variables for the command."`
	Cwd     string                    `yaml:"cwd" jsonschema_description:"Folder in which the command runs; relative to the file's folder."`
	URL     string                    `yaml:"url" jsonschema_description:"Address of a server over HTTP."`
	Type    string                    `yaml:"type" jsonschema:"enum=stdio,enum=http,enum=sse,enum=message" jsonschema_description:"Transport: stdio with command; with url http (streamable HTTP), sse (the older one) or message (plain JSON-RPC, /message below url). When left out, stdio or http."`
	Headers map[string]schemas.Secret `yaml:"headers" jsonschema_description:"HTTP headers of every request to url."`
	OAuth   OAuth                     `yaml:"oauth" jsonschema_description:"The login at a server over HTTP that wants one (molar servers login); works without this for servers that register clients by themselves."`
	// Timeout of one call; zero leaves the default of 60 s.
	Timeout time.Duration `yaml:"timeout" jsonschema_description:"Longest time of one tool call, at most 30m (default 60s)."`
	// StartTimeout zero leaves the default of 60 s.
	StartTimeout time.Duration `yaml:"start_timeout" jsonschema_description:"Longest time from the start of the server to its answer, at most 30m (default 60s)."`
	Protocol     string        `yaml:"protocol" jsonschema_description:"MCP revision to offer, such as 2025-11-25, or auto to ask the server."`
	IncludeTools []string      `yaml:"includeTools" jsonschema_description:"Globs over the tools to take; all when left out."`
	ExcludeTools []string      `yaml:"excludeTools" jsonschema_description:"Globs over the tools to leave out."`
	// Trust is the operator's word that the server's texts give no orders.
	Trust bool `yaml:"trust" jsonschema_description:"Take the server's texts for ones that give no orders: no call asks because they were read."`
	// Pin withholds tools that changed since they were first listed, until approved; nil
	// means so, unless the server is trusted.
	Pin      *bool `yaml:"pin" jsonschema_description:"Withhold tools whose definition is not the one of their first listing, until it is approved: molar servers approve. Default true, unless trust is set; false for a server that is being written."`
	Disabled bool  `yaml:"disabled" jsonschema_description:"Keep the entry, but do not attach the server."`
	// Unset says which environment variables the entry names that are not set. Such a
	// server cannot be attached, and its other fields do not count.
	Unset string `yaml:"-"`
	// Lacks are the names of those variables.
	Lacks []string `yaml:"-"`
	// Tools are in the order of the file: the first glob that matches wins.
	Tools Map[ToolRule] `yaml:"tools" jsonschema_description:"Rules by glob over the server's tool names; the first match wins."`
}

// OAuth is about the login at an MCP server. Left out, Molar registers itself there.
type OAuth struct {
	ClientID     string         `yaml:"client_id" jsonschema_description:"Client that was registered by hand."`
	ClientSecret schemas.Secret `yaml:"client_secret" jsonschema_description:"Secret of that client, such as ${CLIENT_SECRET}."`
	// Scopes empty means those that the server names.
	Scopes []string `yaml:"scopes" jsonschema_description:"Scopes to ask for instead of those that the server names."`
	// RedirectPort zero takes a free one.
	RedirectPort int `yaml:"redirect_port" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"Port on 127.0.0.1 that the browser comes back to: http://127.0.0.1:PORT/callback (default any)."`
	// Grant empty asks a person.
	Grant      string         `yaml:"grant" jsonschema:"enum=client_credentials" jsonschema_description:"client_credentials logs in as the client itself, without a person."`
	PrivateKey schemas.Secret `yaml:"private_key" jsonschema_description:"Private key in PEM that signs who the client is, in place of a secret, such as ${CLIENT_KEY}."`
	Identity   Identity       `yaml:"identity" jsonschema_description:"Identity provider that vouches for a person, where the server's authorization server trusts it (cross-app access)."`
}

// Identity is who vouches for the person on whose behalf the host logs in.
type Identity struct {
	Issuer       string         `yaml:"issuer" jsonschema_description:"Address of the identity provider."`
	ClientID     string         `yaml:"client_id" jsonschema_description:"Client of the host at the provider (default the client_id above)."`
	ClientSecret schemas.Secret `yaml:"client_secret" jsonschema_description:"Secret of that client."`
	Token        schemas.Secret `yaml:"token" jsonschema_description:"ID token of the person, such as ${ID_TOKEN}."`
	TokenFile    string         `yaml:"token_file" jsonschema_description:"File that holds the ID token, read each time; relative to the file's folder."`
}

// isSet reports whether anything of it was said.
func (o OAuth) isSet() bool {
	return o.ClientID != "" || o.ClientSecret != "" || len(o.Scopes) > 0 || o.RedirectPort != 0 || o.Grant != "" || o.PrivateKey != "" || o.Identity != (Identity{})
}

// A ToolRule is what the operator decides about some tools of a server.
type ToolRule struct {
	// Policy empty means the host's default.
	Policy     schemas.Policy `yaml:"policy" jsonschema:"enum=auto,enum=allow,enum=confirm,enum=deny" jsonschema_description:"Whether a call passes, asks a person first, or is never offered."`
	ReadOnly   bool           `yaml:"readOnly" jsonschema_description:"The tool changes nothing, so a call may be repeated."`
	Idempotent bool           `yaml:"idempotent" jsonschema_description:"Calling the tool twice does no more than once, so a call may be repeated."`
	// Egress nil means true.
	Egress *bool `yaml:"egress" jsonschema_description:"Whether what the tool is called with may leave to where others read it; false frees a reader from the question about text of other servers in its arguments."`
	// Destructive nil leaves it to what the tool announces.
	Destructive *bool         `yaml:"destructive" jsonschema_description:"False says that the tool destroys nothing of worth although it announces so: it asks as any other tool that writes, not each time."`
	Timeout     time.Duration `yaml:"timeout" jsonschema_description:"Longest time of one call, at most 30m."`
}

// Pinned reports whether tools that change are withheld.
func (s Server) Pinned() bool {
	if s.Pin != nil {
		return *s.Pin
	}
	return !s.Trust
}

// Limits bounds what one turn and the whole host may use.
type Limits struct {
	Rounds       int           `yaml:"rounds" jsonschema:"minimum=1" jsonschema_description:"Tool rounds in one turn."`
	Calls        int           `yaml:"calls" jsonschema:"minimum=1" jsonschema_description:"Tool calls in one turn."`
	Parallel     int           `yaml:"parallel" jsonschema:"minimum=1" jsonschema_description:"Tool calls at a time in one turn."`
	Summaries    int           `yaml:"summaries" jsonschema:"minimum=1" jsonschema_description:"Summaries that are written at a time; one by a provider that answers one request at a time."`
	ToolTime     time.Duration `yaml:"tool_time" jsonschema_description:"Time for all tools of one turn."`
	ResultTokens int           `yaml:"result_tokens" jsonschema:"minimum=1" jsonschema_description:"Longest tool result that a model sees, in tokens of about four bytes."`
	Messages     int           `yaml:"messages" jsonschema:"minimum=1" jsonschema_description:"Messages that one request may hold."`
	Body         Size          `yaml:"body" jsonschema_description:"Largest request body."`
	// Files zero keeps none.
	Files Size `yaml:"files" jsonschema_description:"Bytes that the files beside the questions of one conversation may have together, to be kept with it; 0 keeps none."`
	// TurnsInFlight zero means no bound.
	TurnsInFlight int `yaml:"turns_in_flight" jsonschema:"minimum=0" jsonschema_description:"Turns at a time; 0 for no bound."`
	// AttachWait nil leaves the command's own: 5 s in serve, 60 s in chat.
	AttachWait *time.Duration `yaml:"attach_wait" jsonschema_description:"How long a turn waits for servers that are still starting (default 5s in serve, 60s in chat)."`
	Tools      int            `yaml:"tools" jsonschema:"minimum=1,maximum=128" jsonschema_description:"Tools offered to a model at once; find_tools reaches the others."`
	// ToolTokens zero means 8000, or a quarter of what the model can have.
	ToolTokens int `yaml:"tool_tokens" jsonschema:"minimum=0" jsonschema_description:"Tokens that the offered tools may take, of about four bytes; 0 for 8000 or a quarter of the largest window that the model can have, whichever is less. A tool that was called stays offered beyond them."`
	// TurnsPerMinute zero means no bound.
	TurnsPerMinute int `yaml:"turns_per_minute" jsonschema:"minimum=0" jsonschema_description:"Turns that one API key may begin in a minute; 0 for no bound."`
}

// Telemetry holds what is logged and traced.
type Telemetry struct {
	// LogLevel empty leaves the command's own: info in serve, warn elsewhere.
	LogLevel  string `yaml:"log_level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"Least level that is logged."`
	LogFormat string `yaml:"log_format" jsonschema:"enum=text,enum=json" jsonschema_description:"Form of the log lines."`
	Trace     string `yaml:"trace" jsonschema:"enum=on,enum=off" jsonschema_description:"Whether every turn leaves a trace in the store."`
	// Wire zero keeps none.
	Wire time.Duration `yaml:"wire" jsonschema_description:"How long turns keep what models and servers sent, such as 7d, so that a marked answer becomes a test with its whole tape; none when left out. It needs trace."`
}

// Metrics says where a scraper reads, besides /metrics of the host's own port.
type Metrics struct {
	// Listen empty means that there is no such port.
	Listen string `yaml:"listen" jsonschema_description:"Address on which serve answers /metrics, /health and /ready alone, without keys and whatever the Host, such as 0.0.0.0:9464; for a network of one's own."`
}

// Shutdown holds how long a host takes to end.
type Shutdown struct {
	Delay time.Duration `yaml:"delay" jsonschema_description:"How long new turns are still taken after an interrupt, while /ready answers 503, so that load balancers notice."`
	Drain time.Duration `yaml:"drain" jsonschema_description:"How long answers that have begun may then go on, of any length; what still runs is cut and kept as interrupted."`
}

// Label returns what the server is in one word or two, without arguments, headers,
// environment, or anything of the address but its host: those may hold secrets.
func (s Server) Label() string {
	switch {
	case s.Unset != "":
		return "lacks a variable"
	case s.URL == "":
		return "command " + filepath.Base(s.Command)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "url"
	}
	return u.Scheme + "://" + u.Host
}

// Format prints the label for every verb, so that no log shows what ${VAR} put
// into the arguments or the address.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.Label()) }

// MarshalText gives the label, for encoding/json.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.Label()), nil }

// LogValue gives the label, for log/slog.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Label()) }

// Rule returns the first rule whose glob matches a tool's own name, and false when
// none does.
func (s Server) Rule(tool string) (ToolRule, bool) {
	for _, e := range s.Tools {
		if ok, _ := path.Match(e.Name, tool); ok {
			return e.Value, true
		}
	}
	return ToolRule{}, false
}
