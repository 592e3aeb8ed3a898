package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"molar/internal/serve"
)

func newMCPCmd(a *app) *cobra.Command {
	var (
		address string
		stdio   bool
		asTools bool
	)
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve memory and search tools alone, over JSON-RPC and MCP",
		Long: `Serve memory and search tools alone, without a host and without a model.

Plain JSON-RPC is at /jsonrpc (methods such as memory-server/memory/get_context),
standard MCP at /mcp. A host uses it with memory.url or MCP_SERVER_URL. With --stdio
it speaks standard MCP on standard input and output, for clients that start it.

With --assistants the tools are the assistants of a whole host: a question goes in, an
answer with its sources comes out. A call that needs a person's approval does not run.`,
		Example: `  molar mcp
  molar mcp --listen 127.0.0.1:8011
  MCP_SERVER_URL=http://127.0.0.1:8001 molar serve
  molar mcp --stdio
  molar mcp --assistants --stdio --config molar.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.Load(map[string]string{"mcp.listen": address})
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if stdio {
				level = slog.LevelWarn
			}
			log, err := a.Logger(cfg.Telemetry, level)
			if err != nil {
				return err
			}
			with := serve.MCPConfig{CLI: a.CLI, Config: cfg, Log: log, Assistants: asTools}
			if stdio {
				return serve.MCPStdio(cmd.Context(), with)
			}
			return serve.MCP(cmd.Context(), with)
		},
	}
	cmd.Flags().StringVar(&address, "listen", "", "`address` to listen on (default 127.0.0.1:8001)")
	cmd.Flags().BoolVar(&stdio, "stdio", false, "speak MCP on standard input and output instead")
	cmd.Flags().BoolVar(&asTools, "assistants", false, "offer each assistant as a tool, instead of memory and search")
	cmd.MarkFlagsMutuallyExclusive("listen", "stdio")
	return cmd
}
