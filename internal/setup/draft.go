package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"molar/agent/subject"
	"molar/internal/config"
	"molar/schemas"
)

// A Draft is the config file that follows from the choices.
type Draft struct {
	// Text is the content of the file, with comments.
	Text string
	// Variables are the variables to which the file refers.
	Variables []config.Variable
	// Duplicates are the servers that were left out because another server has their name.
	Duplicates []string

	b       strings.Builder
	secrets *SecretsFile
}

// Draft returns the config file for the choices. Its variables do not conflict with secrets, to
// which their values are to be added.
func (c Choices) Draft(secrets *SecretsFile) *Draft {
	d := &Draft{secrets: secrets}
	d.b.WriteString(`# molar.yaml. For all keys with their defaults: molar config init FILE
# After a change, check it with: molar config check. Start with: molar serve
`)
	c.writeModel(d)
	c.writeSubject(&d.b)
	c.writeServers(d)
	d.Text, d.Duplicates = d.b.String(), slices.Compact(d.Duplicates)
	return d
}

func (c Choices) writeModel(d *Draft) {
	b, m := &d.b, c.Model
	fmt.Fprintf(b, "\nllm:\n  # A list is an order of fallback, such as [gemini, ollama]. More endpoints: llm.providers.\n  provider: %s\n", m.Provider)
	if m.BaseURL != "" {
		fmt.Fprintf(b, "  %s:\n    base_url: %s\n", m.Provider, strconv.Quote(m.BaseURL))
	}
	switch {
	case m.KeyName != "" && m.KeyName == m.EnvKeyName:
		fmt.Fprintf(b, "    # Without this line that variable is sent only to OpenAI.\n    key: ${%s}\n", m.KeyName)
	case m.KeyName != "":
		key := config.Variable{Name: m.KeyName, Value: m.Key, Use: "the key of " + strconv.Quote(m.BaseURL)}
		for n := 2; d.secrets.Conflicts(key.Name, key.Value) || c.refersTo(key.Name); n++ {
			key.Name = fmt.Sprintf("%s_%d", m.KeyName, n)
		}
		d.Variables = append(d.Variables, key)
		fmt.Fprintf(b, "    # Its value is in %s.\n    key: ${%s}\n", filepath.Base(d.secrets.File), key.Name)
	}
	if len(m.Available) > 0 {
		fmt.Fprintf(b, "    # Its models: %s\n", quoted(m.Available[:min(len(m.Available), maxListed)]))
	}
	// The names come from a service, and a literal $ is written as $$ in this file.
	switch {
	case m.Name != "":
		fmt.Fprintf(b, "    model: %s\n", strconv.Quote(strings.ReplaceAll(m.Name, "$", "$$")))
	case len(m.Available) > 0:
		fmt.Fprintf(b, "    # model: %s\n", strconv.Quote(strings.ReplaceAll(m.Available[0], "$", "$$")))
	}
}

// referTo reports whether a file that is taken over refers to a variable of that name.
func (c Choices) refersTo(name string) bool {
	return slices.ContainsFunc(c.Files, func(f *config.HostFile) bool { return f.RefersTo(name) })
}

func (c Choices) writeSubject(b *strings.Builder) {
	servers := len(c.Files)+len(c.Servers) > 0
	switch name := c.Subject.Assistant; {
	case name == "" && c.Subject.Name == "":
		b.WriteString("\n# The built-in assistant general may call every attached tool.\ndefault: general\n")
	case name != "":
		about, _ := config.Default().Assistants.Get(name)
		fmt.Fprintf(b, "\n# The built-in assistant %s: %s Another one, general, may call every\n# attached tool.", name, about.Description)
		if name == config.Default().Default {
			b.WriteString(" Without this line, it is the default only while no server is attached.")
		}
		b.WriteString("\n")
		if !servers && name == config.Default().Default {
			b.WriteString("# ")
		}
		fmt.Fprintf(b, "default: %s\n", name)
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
    # For the model that judges messages. One language is enough; the first is used for all others.
    description:
      %[4]s: %[2]s
    phrases: [%[3]s]
    # With about 60 messages of each kind, code judges most questions without a model:
    # see docs/guardrail.md and examples/gardening.
    # examples: {in: [], out: []}
`, name, strconv.Quote(c.Subject.Description), quoted(c.Subject.Phrases), languageOf(c.Subject.Description))
	}
}

// languageOf returns the language of a description; English stands for those that code does not know.
func languageOf(description string) string {
	if lang, _ := subject.Detect(description, ""); lang == subject.Vietnamese {
		return lang
	}
	return subject.English
}

func (c Choices) writeServers(d *Draft) {
	b := &d.b
	if len(c.Files)+len(c.Servers) == 0 {
		b.WriteString("\n# mcpServers:\n#   files: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", .]}\n")
		return
	}
	taken := map[string]bool{}
	for _, f := range c.Files {
		for _, name := range f.Servers {
			taken[name] = true
		}
	}
	b.WriteString("\n# What a tool may do without a person's approval: docs/security.md.\n")
	merged := config.Merge(c.Files, func(name string, value schemas.Secret) bool {
		return d.secrets.Conflicts(name, value) || slices.ContainsFunc(d.Variables, func(v config.Variable) bool { return v.Name == name && v.Value != value })
	})
	file := filepath.Base(d.secrets.File)
	comment(b, merged.Variables, true, "# The values of these variables are in "+file+", which is read with this file:")
	comment(b, merged.Variables, false, "# Put values of these variables into "+file+", or set them in the environment:")
	b.WriteString("mcpServers:\n" + merged.Text)
	d.Variables, d.Duplicates = append(d.Variables, merged.Variables...), merged.Duplicates
	for _, spec := range c.Servers {
		name, server, err := config.ParseServer(spec)
		if err != nil || taken[name] {
			d.Duplicates = append(d.Duplicates, name)
			continue
		}
		taken[name] = true
		writeServer(b, name, server)
	}
}

// comment writes a comment that lists the variables with a value or, if valued is false, those
// without.
func comment(b *strings.Builder, variables []config.Variable, valued bool, head string) {
	for _, v := range variables {
		if (v.Value != "") != valued {
			continue
		}
		if head != "" {
			b.WriteString(head + "\n")
			head = ""
		}
		fmt.Fprintf(b, "#   %s: %s\n", v.Name, v.Use)
	}
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
