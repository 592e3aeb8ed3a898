package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent/subject/grow"
	"molar/internal/cli"
	"molar/internal/config"
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
			dir := args[0]
			if name := filepath.Base(dir); !config.TopicName(name) {
				return cli.Usage(fmt.Errorf("%q is no name of a topic: use small letters, digits, '.', '_' and '-', at most 64", name))
			}
			draft := grow.Draft{Kinds: kinds}
			var err error
			if draft.Descriptions, err = given(langs, descriptions); err != nil {
				return cli.Usage(err)
			}
			if err := draft.Check(); err != nil { // before a person answers questions in vain
				return cli.Usage(err)
			}
			if len(descriptions) == 0 {
				if draft.Descriptions, err = a.describe(cmd.Context(), draft.Descriptions); err != nil {
					return err
				}
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

// given returns the descriptions of the flags; if there are none, one without a text for each language.
func given(langs, descriptions []string) (all []grow.Description, err error) {
	for _, text := range descriptions {
		lang, about, found := strings.Cut(text, "=")
		if !found || strings.TrimSpace(about) == "" {
			return nil, fmt.Errorf("--description %q: write LANG=TEXT, such as \"en=taxes: returns and deductions\"", text)
		}
		all = append(all, grow.Description{Lang: lang, Text: about})
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, lang := range langs {
		all = append(all, grow.Description{Lang: lang})
	}
	return all, nil
}

// describe asks for the texts, and leaves out the languages without one.
func (a *app) describe(ctx context.Context, wanted []grow.Description) (all []grow.Description, err error) {
	in := bufio.NewReader(a.Stdin)
	for _, d := range wanted {
		_, _ = fmt.Fprintf(a.Stderr, "What belongs to the topic, in a sentence, in the language %s (Enter leaves it out):\n> ", terminal.Clean(d.Lang))
		about, err := cli.ReadLine(ctx, in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if d.Text = strings.TrimSpace(about); d.Text != "" {
			all = append(all, d)
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
