package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"molar/agent"
	"molar/agent/subject"
	"molar/agent/subject/scoring"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/providers/chain"
)

// trialFlags say which topic to try, and how.
type trialFlags struct {
	topic   string
	noModel bool
	format  string
}

func (f *trialFlags) bind(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noModel, "no-model", false, "let code alone decide, without a model")
	flags.StringVar(&f.format, "output-format", cli.Text, "text or json")
}

func newTopicEvalCmd(a *app) *cobra.Command {
	var f trialFlags
	emergencies := false
	cmd := evalCmd("eval NAME FILE.jsonl", 2)
	f.bind(cmd.Flags())
	emergenciesFlag(cmd, &emergencies)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.topic = args[0]
		return a.evalTopic(cmd.Context(), f, args[1], emergencies)
	}
	return cmd
}

// evalCmd returns the command that judges a file, without what it does.
func evalCmd(use string, args int) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: "Judge labelled messages and report how well it went",
		Long: `Judge labelled messages, one JSON object on a line:

  {"text": "How much is a filling?", "lang": "en", "in_domain": true, "kind": "plain"}

lang is a code such as vi or en, or other; kind is a name of your own. A line whose kind begins
with "follow" is judged as if it followed an exchange on the topic, in its own language; a line
with a "history" of {"user": "...", "assistant": "..."} as if it followed that exchange. With
--no-model code alone decides; otherwise the small model judges the unclear messages.

With --emergencies the lines need no in_domain, but an "emergency", as the lines of a pack have,
or a kind: an empty one or "harmless" marks a message that describes no emergency, any other
one that does. The report counts the detected emergencies, the false alarms, and, for kinds of
the topic, how often the right text follows the notice.`,
		Example: `  molar topic eval tax questions.jsonl --no-model
  molar topic eval tax messages.jsonl --emergencies
  molar topic eval gardening questions.jsonl --config molar.yaml --output-format json`,
		Args: cobra.ExactArgs(args),
	}
}

func emergenciesFlag(cmd *cobra.Command, emergencies *bool) {
	cmd.Flags().BoolVar(emergencies, "emergencies", false, "count the detected emergencies and the false alarms")
}

// evalTopic judges the labelled messages of a file.
func (a *app) evalTopic(ctx context.Context, f trialFlags, path string, emergencies bool) error {
	if emergencies {
		return a.evalEmergencies(ctx, f, path)
	}
	examples, err := scoring.Read(path)
	if err != nil {
		return cli.Usage(err)
	}
	guard, judge, err := a.openTrial(ctx, f)
	if err != nil {
		return err
	}
	report, err := scoring.Evaluate(ctx, guard, examples, judge)
	if err != nil {
		return err
	}
	if f.format == cli.JSON {
		return a.PrintJSON(report)
	}
	return printReport(a.Stdout, report)
}

// evalEmergencies reports how many emergencies of the labelled messages are detected, and the
// false alarms.
func (a *app) evalEmergencies(ctx context.Context, f trialFlags, path string) error {
	messages, err := scoring.ReadEmergencies(path)
	if err != nil {
		return cli.Usage(err)
	}
	f.noModel = true
	guard, _, err := a.openTrial(ctx, f)
	if err != nil {
		return err
	}
	name := guard.Topic().Name
	judge := agent.NewJudge(map[string]*subject.Guard{name: guard}, time.Now)
	r := scoring.EvaluateEmergencies(guard.Topic(), func(message string) []string { return judge.Look(name, message).Kinds }, messages)
	if f.format == cli.JSON {
		return a.PrintJSON(r)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "emergencies found\t%d of %d\t%.3f\n", r.Found, r.Emergencies, r.FoundShare)
	_, _ = fmt.Fprintf(w, "false alarms\t%d of %d\t%.3f\n", r.False, r.Harmless, r.FalseShare)
	if r.Named > 0 {
		_, _ = fmt.Fprintf(w, "right text\t%d of %d\t%.3f\n", r.Right, r.Named, r.RightShare)
	}
	_, _ = fmt.Fprintln(w)
	printSlices(w, r.Slices)
	for _, wrong := range r.Wrong {
		_, _ = fmt.Fprintf(w, "line %d wrong (%s): found %q: %s\n", wrong.Line, terminal.Clean(wrong.Kind), wrong.Found, terminal.Preview(wrong.Text))
	}
	return w.Flush()
}

func printSlices(w io.Writer, all scoring.Slices) {
	_, _ = fmt.Fprintf(w, "slice\tmessages\taccuracy\n")
	for _, name := range all.Names() {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.3f\n", name, all[name].N, all[name].Accuracy)
	}
}

// openTrial opens the topic's guardrail and, unless code is to decide alone, the small model that
// judges.
func (a *app) openTrial(ctx context.Context, f trialFlags) (*subject.Guard, subject.Judge, error) {
	if err := cli.CheckFormat(f.format); err != nil {
		return nil, nil, err
	}
	cfg, err := a.Load(nil)
	if err != nil {
		return nil, nil, err
	}
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return nil, nil, err
	}
	guard, err := openGuard(cfg, f.topic, log)
	if err != nil || f.noModel {
		return guard, nil, err
	}
	judge, err := a.openJudge(ctx, cfg, log)
	return guard, judge, err
}

// openGuard opens the guardrail of a topic of the config, or of a pack that is a folder of this name.
// Without a name it is the topic of the default assistant.
func openGuard(cfg *config.Config, name string, log *slog.Logger) (*subject.Guard, error) {
	if name == "" {
		assistant, _ := cfg.Assistants.Get(cfg.Default)
		name = assistant.Topic
	}
	if slices.Contains(cfg.TopicNames(), name) {
		return host.OpenGuard(cfg, name, log)
	}
	topic, err := openFolder(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usage(err)
	}
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("there is no topic %q; there are: %s", name, strings.Join(cfg.TopicNames(), ", ")))
	}
	return subject.NewGuard(subject.GuardConfig{Topic: topic, Logger: log})
}

// openJudge returns the small model that a turn would ask.
func (a *app) openJudge(ctx context.Context, cfg *config.Config, log *slog.Logger) (subject.Judge, error) {
	models, err := host.OpenModels(cfg, log)
	if err != nil {
		return nil, err
	}
	route, err := models.Pick(ctx, chain.Want{})
	if err != nil {
		return nil, err
	}
	small := agent.Asking(route)
	if small == nil {
		_, _ = fmt.Fprintln(a.Stderr, "molar: no model can be had, so code decides alone:", route.Why)
	}
	return small, nil
}

// printReport writes the report for people: the confusion matrix, the numbers, the
// slices, and at most twenty of the wrong verdicts.
func printReport(out io.Writer, r scoring.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	c := r.Confusion
	_, _ = fmt.Fprintf(w, "\tpassed\trefused\n")
	_, _ = fmt.Fprintf(w, "in domain\t%d\t%d\n", c.InPassed, c.InRefused)
	_, _ = fmt.Fprintf(w, "other\t%d\t%d\n\n", c.OutPassed, c.OutRefused)
	_, _ = fmt.Fprintf(w, "messages\t%d\n", r.N)
	_, _ = fmt.Fprintf(w, "accuracy\t%.3f\n", r.Accuracy)
	_, _ = fmt.Fprintf(w, "macro F1\t%.3f\n", r.MacroF1)
	_, _ = fmt.Fprintf(w, "in-domain recall\t%.3f\n", r.InDomainRecall)
	_, _ = fmt.Fprintf(w, "off-domain recall\t%.3f\n", r.OffDomainRecall)
	_, _ = fmt.Fprintf(w, "sure in code\t%.3f of all, %d of %d wrong\n", r.Sure.Share, r.Sure.Wrong, r.Sure.N)
	_, _ = fmt.Fprintf(w, "their precision\t%.4f (95 %% interval %.4f to %.4f)\n", r.Sure.Precision, r.Sure.Low, r.Sure.High)
	_, _ = fmt.Fprintf(w, "language\t%.3f\n\n", r.LanguageAccuracy)
	printSlices(w, r.Slices)
	if err := w.Flush(); err != nil {
		return err
	}
	const most = 20
	for i, wrong := range r.Wrong {
		if i == most {
			_, err := fmt.Fprintf(out, "and %d more wrong; see --output-format json\n", len(r.Wrong)-most)
			return err
		}
		if i == 0 {
			_, _ = fmt.Fprintln(out)
		}
		if _, err := fmt.Fprintf(out, "line %d wrong: %s (score %.2f): %s\n", wrong.Line, passedWord(wrong.Pass), wrong.Score, terminal.Preview(wrong.Text)); err != nil {
			return err
		}
	}
	return nil
}

func passedWord(pass bool) string {
	if pass {
		return "passed"
	}
	return "refused"
}
