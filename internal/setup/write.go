package setup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"molar/internal/config"
	"molar/internal/config/hostfile"
)

// Text is the config file of the choices, with comments. doubled are the servers that were
// left out as their name is taken.
func (c Choices) Text() (text string, doubled []string) {
	var b strings.Builder
	b.WriteString(`# molar.yaml. All keys, with their defaults: molar config init FILE
# Check it after a change: molar config check. Start it: molar serve
`)
	c.writeModel(&b)
	c.writeSubject(&b)
	doubled = slices.Compact(c.writeServers(&b))
	return b.String(), doubled
}

func (c Choices) writeModel(b *strings.Builder) {
	fmt.Fprintf(b, "\nllm:\n  # A list is an order of fallback, such as [gemini, ollama].\n  provider: %s\n", c.Model.Provider)
	if c.Model.BaseURL != "" {
		fmt.Fprintf(b, "  %s:\n    base_url: %s\n", c.Model.Provider, strconv.Quote(c.Model.BaseURL))
	}
	if len(c.Model.Local) > 0 {
		fmt.Fprintf(b, "    # What it has: %s\n    # model: %s\n", strings.Join(c.Model.Local, ", "), strconv.Quote(c.Model.Local[0]))
	}
}

func (c Choices) writeSubject(b *strings.Builder) {
	servers := len(c.Files)+len(c.Servers) > 0
	switch c.Subject.Name {
	case "":
		b.WriteString("\n# Without assistants of your own, general answers, with every attached tool.\ndefault: general\n")
	case config.TopicDental:
		b.WriteString("\n# The built-in dental assistant; general is there too, with every attached tool. Without this\n# line dental answers as long as no server is attached.\n")
		if servers {
			b.WriteString("default: dental\n")
		} else {
			b.WriteString("# default: dental\n")
		}
	default:
		name := strconv.Quote(c.Subject.Name)
		fmt.Fprintf(b, "\ndefault: assistant\nassistants:\n  assistant:\n    topic: %s\n", name)
		if servers {
			b.WriteString("    # The tools that it may call, as globs.\n    tools: [\"*\"]\n")
		}
		fmt.Fprintf(b, `    # system_prompt: |
    #   You advise our customers. Answer briefly.

topics:
  %[1]s:
    # The model that judges reads these; say it in both languages.
    description:
      vi: %[2]s
      en: %[2]s
    phrases: [%[3]s]
    # With some 60 messages of each kind, code judges most questions, and no model need
    # be asked: docs/guardrail.md and examples/gardening.
    # examples: {in: [], out: []}
`, name, strconv.Quote(c.Subject.Description), quoted(c.Subject.Phrases))
	}
}

func (c Choices) writeServers(b *strings.Builder) (doubled []string) {
	if len(c.Files)+len(c.Servers) == 0 {
		b.WriteString("\n# mcpServers:\n#   files: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", .]}\n")
		return nil
	}
	var variables []hostfile.Variable
	taken := map[string]bool{}
	for _, f := range c.Files {
		variables = append(variables, f.Variables...)
		for _, name := range f.Servers {
			taken[name] = true
		}
	}
	b.WriteString("\n# What a tool may do without a person's yes: docs/security.md.\n")
	if len(variables) > 0 {
		b.WriteString("# Set these variables in the environment or in the file of --env-file:\n")
	}
	for _, v := range variables {
		fmt.Fprintf(b, "#   %s: %s\n", v.Name, v.Use)
	}
	merged, doubled := hostfile.Merge(c.Files)
	b.WriteString("mcpServers:\n" + merged)
	for _, spec := range c.Servers {
		name, server, err := config.ParseServer(spec)
		if err != nil || taken[name] {
			doubled = append(doubled, name)
			continue
		}
		taken[name] = true
		writeServer(b, name, server)
	}
	return doubled
}

func writeServer(b *strings.Builder, name string, s config.Server) {
	if s.URL != "" {
		fmt.Fprintf(b, "  %s:\n    url: %s\n", name, strconv.Quote(s.URL))
		return
	}
	fmt.Fprintf(b, "  %s:\n    command: %s\n", name, strconv.Quote(s.Command))
	if len(s.Args) == 0 {
		return
	}
	fmt.Fprintf(b, "    args: [%s]\n", quoted(s.Args))
}

// quoted writes texts as the items of a list.
func quoted(texts []string) string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = strconv.Quote(text)
	}
	return strings.Join(items, ", ")
}
