package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"molar/internal/terminal"
	"molar/schemas"
	"molar/schemas/lower"
)

// A lowering makes an input schema fit for a provider.
type lowering struct {
	provider string
	lower    func(json.RawMessage) (lower.Result, error)
}

func lowerings() []lowering {
	return []lowering{{"gemini", lower.ForGemini}, {"ollama", lower.ForOllama}, {"openai", lower.ForOpenAI}}
}

// A finding is what lowering one tool for one provider did.
type finding struct {
	Tool     string `json:"tool"`
	Provider string `json:"provider"`
	// Refused is why the provider is not offered the tool.
	Refused string `json:"refused,omitempty"`
	// Notes say what was changed.
	Notes  []string        `json:"notes,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

func newLintCmd(a *app, f *toolsFlags) *cobra.Command {
	var schemasToo bool
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Show what each provider's schema rules change or refuse of each tool",
		Long: `Show, for each attached tool and each provider, what was changed to make its input
schema fit, and which tools are refused. A model's arguments are always checked
against the tool's own schema. The exit code is 1 when a tool is refused.`,
		Example: `  molar tools lint --mcp mine="./my-server"
  molar tools lint --schemas --output-format json > findings.json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(f.format); err != nil {
				return err
			}
			return a.withTracedServers(cmd.Context(), *f, func(_ context.Context, h *host) error {
				return a.lint(h.mcp.Catalogue().Tools(), f.format, schemasToo)
			})
		},
	}
	cmd.Flags().BoolVar(&schemasToo, "schemas", false, "print each schema before and after")
	return cmd
}

func (a *app) lint(tools []schemas.Tool, format string, schemasToo bool) error {
	findings := []finding{}
	refused := 0
	for _, tool := range tools {
		for _, l := range lowerings() {
			f := finding{Tool: tool.Name, Provider: l.provider}
			result, err := l.lower(tool.InputSchema)
			if err != nil {
				f.Refused = err.Error()
				refused++
			}
			f.Notes = slices.Concat(result.Notes, moved("", parsed(tool.InputSchema), parsed(result.Schema)))
			if schemasToo {
				f.Before, f.After = tool.InputSchema, result.Schema
			}
			findings = append(findings, f)
		}
	}
	if err := a.printFindings(findings, format); err != nil {
		return err
	}
	if refused > 0 {
		return &exitError{exitFailure, fmt.Errorf("%d lowerings were refused", refused)}
	}
	return nil
}

func parsed(schema json.RawMessage) any {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil
	}
	return v
}

// moved lists the keywords that a schema had and its lowered form has not: the
// provider does not know them, so the description says them.
func moved(at string, before, after any) []string {
	was, ok := before.(map[string]any)
	is, same := after.(map[string]any)
	if !ok || !same {
		return nil
	}
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(was)) {
		value, kept := is[key]
		if !kept {
			notes = append(notes, fmt.Sprintf("%s: %q is not sent as a keyword", cmp.Or(at, "/"), key))
			continue
		}
		notes = append(notes, moved(at+"/"+key, was[key], value)...)
	}
	return notes
}

func (a *app) printFindings(findings []finding, format string) error {
	if format == formatJSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(findings)
	}
	for _, f := range findings {
		verdict := "unchanged"
		switch {
		case f.Refused != "":
			verdict = "refused: " + f.Refused
		case len(f.Notes) > 0:
			verdict = counted(len(f.Notes), "change")
		}
		a.say("%s for %s: %s", terminal.Clean(f.Tool), f.Provider, terminal.Clean(verdict))
		for _, note := range f.Notes {
			a.say("  %s", terminal.Clean(note))
		}
		if f.Before != nil {
			a.say("  before: %s\n  after:  %s", terminal.Clean(string(f.Before)), terminal.Clean(string(f.After)))
		}
	}
	return nil
}
