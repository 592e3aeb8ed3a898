package imports

// A layer lists the folders of this module that the packages of a folder may import.
type layer struct {
	folder string
	may    []string
}

// layers returns all layers. The first one that matches a folder applies, so the more specific ones
// come first.
func layers() []layer {
	return []layer{
		{"schemas", nil},
		{"schemas/*", []string{"schemas/..."}},
		{"providers", []string{"schemas/...", "internal/telemetry"}},
		{"providers/offline", []string{"providers", "schemas/...", "internal/text"}},
		{"providers/*", []string{"providers", "providers/wire", "schemas/...", "internal/sse", "internal/telemetry", "internal/text"}},
		{"mcpclients/...", []string{"mcpclients/...", "schemas/...", "internal/sse", "internal/telemetry", "internal/text"}},
		{"toolhandler", []string{"schemas/...", "internal/telemetry", "internal/text"}},
		// agent must not link the SDK of a provider.
		{"agent", []string{"agent/*", "toolhandler", "providers", "schemas/...", "internal/telemetry", "internal/text"}},
		// The answer's links are found with the parser of the page.
		{"agent/answer", []string{"agent/*", "toolhandler", "providers", "schemas/...", "internal/markdown", "internal/telemetry", "internal/text"}},
		{"agent/*", []string{"agent/*", "toolhandler", "providers", "schemas/...", "internal/telemetry", "internal/text"}},
		{"mcpservers/...", []string{"mcpservers/...", "schemas/...", "internal/store", "internal/documents", "internal/httpguard", "internal/telemetry", "internal/text"}},
		// The eval commands open whole hosts.
		{"eval/run", []string{
			"eval/...", "agent", "agent/answer", "mcpclients/...", "providers/...", "schemas/...", "toolhandler", "internal/cli", "internal/config",
			"internal/host", "internal/serve", "internal/store", "internal/terminal", "internal/text",
		}},
		{"eval/...", []string{"eval/...", "agent/...", "toolhandler", "mcpclients/...", "providers", "schemas/...", "internal/sse", "internal/text"}},
		{"web/...", []string{"web/...", "agent", "agent/answer", "agent/journal", "providers", "schemas/...", "internal/httpguard", "internal/markdown", "internal/sealed", "internal/telemetry", "internal/text"}},

		{"internal/store/storetest", nil},
		{"internal/store/...", []string{"internal/store/...", "schemas/...", "internal/telemetry"}},
		{"internal/sealed", nil},
		{"internal/config", []string{"internal/sealed", "providers", "schemas/...", "topics", "internal/telemetry", "internal/text"}},
		{"internal/budget", []string{"agent", "providers", "schemas", "internal/config", "internal/telemetry"}},
		{"internal/session", append(public(), "internal/cli", "internal/config", "internal/documents", "internal/host", "internal/text", "internal/terminal")},
		{"internal/host", append(public(), "internal/budget", "internal/cli", "internal/config", "internal/documents", "internal/httpguard", "internal/sealed", "internal/skills", "internal/store/...", "internal/telemetry/...", "internal/terminal", "internal/text")},
		{"internal/serve", append(public(), "internal/access", "internal/cli", "internal/config", "internal/host", "internal/httpguard", "internal/oidc", "internal/store",
			"internal/telemetry", "internal/terminal", "internal/text")},
		{"internal/setup", []string{"agent/subject", "providers", "schemas", "toolhandler", "internal/cli", "internal/config", "internal/host", "internal/serve", "internal/terminal", "internal/text"}},
		{"internal/live", []string{"agent", "agent/memory", "agent/prompts", "agent/subject", "providers", "schemas", "internal/text"}},
		{"internal/access", []string{"schemas", "internal/cli", "internal/config", "internal/httpguard", "internal/oidc", "internal/store", "internal/telemetry"}},
		{"internal/oidc", []string{"internal/sealed"}},
		{"internal/cli", []string{"internal/config"}},
		{"internal/httpguard/...", []string{"internal/httpguard/...", "schemas/...", "internal/telemetry"}},
		{"internal/telemetry/...", []string{"internal/telemetry/...", "schemas/..."}},
		{"internal/text", nil},
		{"internal/documents", []string{"internal/text"}},
		{"internal/skills", []string{"schemas", "internal/text"}},
		{"internal/sse", nil},
		{"internal/markdown", nil},
		{"internal/terminal/...", []string{"internal/terminal/...", "internal/markdown"}},
		// Returns third-party servers in the form of their configuration.
		{"internal/testkit/npm", []string{"mcpclients", "mcpclients/transport"}},
		{"topics", nil},
		{"internal/testkit/packs", []string{"agent/subject", "topics"}},
		{"internal/testkit/...", testPrograms()},
		{"internal/imports", nil},
		{"internal/ci/...", nil},

		// cmd has flags for every part, the example server, and imports nothing that only tests use.
		{"cmd/...", append(public(), "examples/family", "internal/access", "internal/cli", "internal/config", "internal/host", "internal/httpguard", "internal/live", "internal/serve",
			"internal/session", "internal/setup", "internal/store", "internal/terminal", "internal/text")},
		{"deploy", []string{"internal/config", "internal/telemetry"}},
		{"examples/...", append(public(), "examples/...")},
	}
}

// public lists the folders that a program outside this module could import.
func public() []string {
	return []string{
		"schemas/...", "providers/...", "mcpclients/...", "toolhandler/...", "agent/...",
		"topics", "mcpservers/...", "eval/...", "web/...",
	}
}

func testPrograms() []string {
	return []string{"internal/testkit/...", "internal/sse", "schemas/..."}
}

// A confinement limits a library to the folders that adapt it, so that other folders do not depend
// on its types or pay for its initialisation.
type confinement struct {
	library string
	folders []string
}

func confined() []confinement {
	tests := []string{"internal/testkit/...", "internal/store/storetest"}
	return []confinement{
		{"google.golang.org/genai", []string{"providers/gemini/..."}},
		{"github.com/ollama/ollama", []string{"providers/ollama/...", "internal/testkit/..."}},
		{"github.com/mark3labs/mcp-go", []string{
			"mcpclients/...", "mcpservers/...", "examples/...", "internal/testkit/...",
		}},
		{"github.com/gin-gonic/gin", []string{"web/..."}},
		{"github.com/gin-contrib", []string{"web/..."}},
		{"github.com/coder/websocket", []string{"web/wire"}},
		{"github.com/coreos/go-oidc", []string{"internal/oidc", "internal/testkit/..."}},
		{"github.com/go-jose", []string{"mcpclients/oauth"}},
		{"github.com/spf13", []string{"cmd/..."}},
		{"github.com/yuin/goldmark", []string{"web/...", "internal/markdown", "internal/terminal"}},
		{"github.com/microcosm-cc/bluemonday", []string{"web/..."}},
		{"modernc.org/sqlite", []string{"internal/store/..."}},
		{"github.com/jackc/pgx", []string{"internal/store/..."}},
		{"github.com/pressly/goose", []string{"internal/store/..."}},
		{"go.opentelemetry.io", []string{"internal/telemetry/...", "internal/testkit/..."}},
		{"github.com/pelletier/go-toml", []string{"internal/config"}},
		{"github.com/prometheus", []string{"internal/telemetry/..."}},
		// Templates call methods by names that are known only when they run. A program that runs one has all
		// methods of all libraries, 10 MB more; the parser alone is free of that.
		{"html/template", tests},
		{"text/template", []string{"web/pages"}},
		{"testing", tests},
		{"net/http/httptest", tests},
		{"github.com/google/go-cmp", tests},
		{"go.uber.org/goleak", tests},
		{"github.com/rogpeppe/go-internal", tests},
		{"github.com/chromedp", tests},
	}
}

// A ban forbids a library in every file, including tests.
type ban struct {
	library string
	why     string
}

func banned() []ban {
	return []ban{
		{"github.com/stretchr/testify", "tests use testing and go-cmp"},
		{"github.com/golang/mock", "write a fake in the test's package"},
		{"go.uber.org/mock", "write a fake in the test's package"},
		{"gopkg.in/yaml.v3", "archived; use goccy/go-yaml"},
		{"github.com/spf13/viper", "global configuration"},
		{"charm.land/glamour", "adds 15 ms to every start"},
		{"github.com/charmbracelet/glamour", "adds 15 ms to every start"},
		{"github.com/openai/openai-go", "20 MB in the program; its client for tests is in the module bench"},
	}
}

func vagueNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers"}
}
