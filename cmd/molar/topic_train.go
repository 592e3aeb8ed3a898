package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"molar/agent/subject"
	"molar/agent/subject/grow"
	"molar/agent/subject/learn"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/topics"
)

func newTopicTrainCmd(a *app) *cobra.Command {
	format := cli.Text
	cmd := &cobra.Command{
		Use:   "train NAME",
		Short: "Learn a topic from the labelled lines of its pack",
		Long: `Learn a topic from the labelled lines of its pack: what belongs to it, alone and behind an exchange,
whether a part of an answer keeps to it, and its emergencies. A part of the lines is left out each
time to find out how far code may be sure; the tables and the card are written into the pack.`,
		Example: `  molar topic train tax`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			return a.train(cmd.Context(), args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "output-format", cli.Text, "text or json")
	return cmd
}

func (a *app) train(ctx context.Context, name, format string) error {
	dir, _, topic, err := a.openPack(name)
	if err != nil {
		return err
	}
	waiting, err := grow.Waiting(dir)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		a.Note("%d lines of emergencies are not learned: nobody has looked at them; molar topic grow %s --review", len(waiting), terminal.Clean(name))
	}
	start := time.Now()
	card, err := learn.Train(ctx, learn.Config{Dir: dir, Name: topic.Name, General: topics.General(), Date: today()})
	if err != nil {
		return err
	}
	if err := host.NoteCheck(a.Env, card); err != nil {
		return err
	}
	if format == cli.JSON {
		return a.PrintJSON(card)
	}
	a.Say("learned in %s; %s holds the figures:\n", time.Since(start).Round(100*time.Millisecond), terminal.Clean(filepath.Join(dir, subject.CardFile)))
	return a.printCard(card, true)
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// printCard writes the figures of a topic for people.
func (a *app) printCard(c learn.Card, byCode bool) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\tmessages\taccuracy\tin recall\tout recall\tsure\twrong of them\tat most\tfor a judge\n", terminal.Clean(c.Topic))
	row := func(name string, f learn.Figures) {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.3f\t%s\t%s\t%.2f\t%d of %d\t%.2f %%\t%.2f\n", terminal.Clean(name), f.N, f.Accuracy, recall(f.InRecall), recall(f.OutRecall),
			f.SureShare, f.SureWrong, f.Sure, 100*f.SureWrongHigh, f.Judge)
	}
	row("all", c.Messages)
	for _, all := range []map[string]learn.Figures{c.ByLanguage, c.Kinds} {
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		slices.SortFunc(names, func(x, y string) int {
			if all[x].N != all[y].N {
				return all[y].N - all[x].N
			}
			return strings.Compare(x, y)
		})
		for _, name := range names {
			row(name, all[name])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if e := c.Emergencies; e != nil {
		a.Say("\nemergencies found  %d of %d  %.3f\nfalse alarms       %d of %d  %.3f", e.Found, e.Emergencies, e.FoundShare, e.False, e.Harmless, e.FalseShare)
	}
	by := "code, and the small model where code is not sure"
	if byCode {
		by = "code alone"
	}
	a.Say("\ndecided by %s; measured by %s", by, c.Measured)
	return nil
}

func recall(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *share)
}
