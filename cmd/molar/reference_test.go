package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"molar/internal/cli"
	"molar/internal/testkit"
)

// The reference of the commands is made from their help.
func TestReference(t *testing.T) {
	t.Parallel()
	a := &app{CLI: &cli.CLI{Env: func(string) (string, bool) { return "", false }, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the code: what `molar COMMAND --help` says.\n\nEvery command takes:\n\n")
	root := newRootCmd(a)
	writeFlags(&b, root.PersistentFlags())
	writeCommands(&b, root)
	testkit.Same(t, "../../docs/reference/commands.md", b.String())
}

func writeCommands(b *strings.Builder, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		if c.Runnable() && !c.HasSubCommands() {
			b.WriteString("\n## " + c.CommandPath() + "\n\n")
			text := c.Long
			if text == "" {
				text = c.Short + "."
			}
			b.WriteString(text + "\n\n```text\n" + c.UseLine() + "\n```\n")
			if c.Example != "" {
				b.WriteString("\n```sh\n" + strings.TrimSpace(strings.ReplaceAll(c.Example, "\n  ", "\n")) + "\n```\n")
			}
			if c.HasAvailableLocalFlags() {
				b.WriteString("\n")
				writeFlags(b, c.NonInheritedFlags())
			}
		}
		writeCommands(b, c)
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			kind = " " + kind
		}
		b.WriteString("- `--" + f.Name + kind + "`: " + usage + "\n")
	})
}
