package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent/subject/grow"
	"molar/internal/cli"
	"molar/internal/terminal"
)

func newTopicNewCmd(a *app) *cobra.Command {
	var langs, kinds, descriptions []string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the pack of a new topic into a folder",
		Long: `Write the pack of a new topic into the folder NAME. It asks for a description in each language,
unless --description gives it, and tells what to do next.`,
		Example: `  molar topic new tax
  molar topic new tax --description "en=taxes: returns, deductions, invoices" --description "vi=thuế: kê khai, giảm trừ, hoá đơn"
  molar topic new plants --language de --emergency poison`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			draft := grow.Draft{Kinds: kinds}
			var err error
			if draft.Descriptions, err = a.describe(cmd.Context(), langs, descriptions); err != nil {
				return err
			}
			dir := args[0]
			if name := filepath.Base(dir); !topicName.MatchString(name) {
				return cli.Usage(fmt.Errorf("%q is no name of a topic: use small letters, digits, '.', '_' and '-', at most 64", name))
			}
			if err := grow.New(dir, draft); err != nil {
				return err
			}
			a.sayNext(dir, len(kinds) > 0)
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&descriptions, "description", nil, "what belongs to the topic, as `LANG=TEXT`; once for each language")
	cmd.Flags().StringSliceVar(&langs, "language", []string{"en", "vi"}, "codes of the languages to ask for; the first is the fallback for all others")
	cmd.Flags().StringArrayVar(&kinds, "emergency", nil, "`name` of a kind of emergency that people may write of; may be repeated")
	return cmd
}

// topicName is the form of a topic's name.
var topicName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) //nolint:gochecknoglobals // compiled once

// describe returns the descriptions: those given, else it asks for one in each language.
func (a *app) describe(ctx context.Context, langs, given []string) (all []grow.Description, err error) {
	for _, text := range given {
		lang, about, found := strings.Cut(text, "=")
		if !found || strings.TrimSpace(about) == "" || len(lang) < 2 || len(lang) > 3 {
			return nil, cli.Usage(fmt.Errorf("--description %q: write LANG=TEXT, such as \"en=taxes: returns and deductions\"", text))
		}
		all = append(all, grow.Description{Lang: lang, Text: about})
	}
	if len(all) > 0 {
		return all, nil
	}
	in := bufio.NewReader(a.Stdin)
	for _, lang := range langs {
		_, _ = fmt.Fprintf(a.Stderr, "What belongs to the topic, in a sentence, in the language %s (Enter leaves it out):\n> ", terminal.Clean(lang))
		about, err := cli.ReadLine(ctx, in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if about = strings.TrimSpace(about); about != "" {
			all = append(all, grow.Description{Lang: lang, Text: about})
		}
	}
	if len(all) == 0 {
		return nil, cli.Usage(errors.New("a topic needs a description in one language: give it at the question, or with --description LANG=TEXT"))
	}
	return all, nil
}

// sayNext tells what to do with a new pack.
func (a *app) sayNext(dir string, alarms bool) {
	name := filepath.Base(dir)
	_, _ = fmt.Fprintf(a.Stdout, `%s is written. What comes next:

  molar topic grow %[1]s     let the configured model write lines, and correct some
  molar topic train %[1]s    learn from them
  molar topic check %[1]s    measure it

`, terminal.Clean(dir))
	if alarms {
		_, _ = fmt.Fprintf(a.Stdout, "Write the notices of its emergencies into the language files, and phrases into %s.\n\n", terminal.Clean(filepath.Join(dir, "emergencies.txt")))
	}
	path := dir
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, ".") {
		path = "./" + path
	}
	_, _ = fmt.Fprintf(a.Stdout, "An assistant that keeps to it, in molar.yaml:\n\n  topics: {%s: {pack: %s}}\n  assistants: {adviser: {topic: %s}}\n",
		terminal.Clean(name), terminal.Clean(filepath.ToSlash(path)), terminal.Clean(name))
}
