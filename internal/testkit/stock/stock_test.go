// Package stock_test lets a stock mcp-go client, as other hosts are built on it, use
// "molar mcp" over HTTP and over stdio.
package _test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"molar/internal/testkit"
)

// program is a molar with a folder of its own.
type program struct {
	path, config string
	env          []string
}

func buildMolar(t *testing.T) program {
	t.Helper()
	if testing.Short() {
		t.Skip("no program is built in short tests")
	}
	dir := t.TempDir()
	p := program{path: testkit.Build(t, "molar/cmd/molar"), config: filepath.Join(dir, "molar.yaml"), env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}}
	config := fmt.Sprintf("memory: {store: %q}\n", filepath.Join(dir, "memory.db"))
	if err := os.WriteFile(p.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// listen starts "molar mcp" and returns its address.
func (p program) listen(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(p.path, "mcp", "--config", p.config, "--listen", "127.0.0.1:0")
	cmd.Env = p.env
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(line, "listens on ")
	url, _, _ := strings.Cut(rest, ": ")
	return url
}

func TestStockClient(t *testing.T) {
	p := buildMolar(t)
	for name, dial := range map[string]func() (*client.Client, error){
		"http": func() (*client.Client, error) { return client.NewStreamableHttpClient(p.listen(t) + "/mcp") },
		"stdio": func() (*client.Client, error) {
			return client.NewStdioMCPClient(p.path, p.env, "mcp", "--config", p.config, "--stdio")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			c, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if name == "http" { // the other one has started its program
				if err := c.Start(ctx); err != nil {
					t.Fatal(err)
				}
			}
			use(ctx, t, c)
		})
	}
}

// use does what a host does: it shakes hands, lists and calls.
func use(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "stock", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		t.Fatal(err)
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || !slices.ContainsFunc(tools.Tools, func(t mcp.Tool) bool { return t.Name == "dental_guide_search" }) {
		t.Errorf("tools %+v, %v", tools, err)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = "dental_guide_search", map[string]any{"query": "tooth decay"}
	result, err := c.CallTool(ctx, call)
	if err != nil || result.IsError || len(result.Content) == 0 {
		t.Fatalf("call %+v, %v", result, err)
	}
	if text, ok := result.Content[0].(mcp.TextContent); !ok || !strings.HasPrefix(text.Text, "Title: ") {
		t.Errorf("result %+v", result.Content[0])
	}
	if _, err := c.ListResources(ctx, mcp.ListResourcesRequest{}); err != nil {
		t.Errorf("resources: %v", err)
	}
	templates, err := c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil || len(templates.ResourceTemplates) != 1 {
		t.Errorf("templates %+v, %v", templates, err)
	}
	prompt := mcp.GetPromptRequest{}
	prompt.Params.Name, prompt.Params.Arguments = "dental-consult", map[string]string{"question": "Vì sao răng tôi đau?", "language": "vi"}
	if got, err := c.GetPrompt(ctx, prompt); err != nil || len(got.Messages) == 0 {
		t.Errorf("prompt %+v, %v", got, err)
	}
}
