package main

import (
	"github.com/spf13/cobra"

	"molar/internal/config"
	"molar/internal/serve"
)

func newServeCmd(a *app) *cobra.Command {
	var (
		address   string
		mcp       []string
		noMigrate bool
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the chat page and the OpenAI-compatible endpoint",
		Long: `Serve the chat page on / and the OpenAI-compatible endpoint on /v1/chat/completions.

Without a config file the built-in assistants answer, with the first available provider:
Gemini or OpenAI with a key, else an Ollama with a usable model, else offline, which
quotes tools and says so.`,
		Example: `  molar serve
  molar serve --config molar.yaml --listen 127.0.0.1:8080
  molar serve --mcp family="molar example family"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve.Serve(cmd.Context(), serve.Config{
				CLI: a.CLI, AsIs: noMigrate, MakeTest: evaluations(a).TestOf, RunTest: evaluations(a).RunTestOf,
				Load: func() (*config.Config, error) {
					return a.LoadWithServers(map[string]string{"listen": address}, mcp)
				},
			})
		},
	}
	cmd.Flags().StringVar(&address, "listen", "", "`address` to listen on (default 127.0.0.1:8000)")
	cmd.Flags().StringArrayVar(&mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	cmd.Flags().BoolVar(&noMigrate, "no-migrate", false, "refuse a database whose schema is older than this version; molar migrate brings it up to date")
	return cmd
}
