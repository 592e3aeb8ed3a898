package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent/subject"
	"molar/agent/subject/grow"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// shownLines is how many grown lines a person is shown at once.
const shownLines = 30

func newTopicGrowCmd(a *app) *cobra.Command {
	var provider, model string
	var parallel int
	var review bool
	cmd := &cobra.Command{
		Use:   "grow NAME",
		Short: "Let the configured model write labelled lines for a topic",
		Long: `Let the configured model write labelled lines of every kind in each language of the topic: messages
that belong, near misses, words in another sense, requests dressed in its words, follow-ups that
stay and that leave, hasty spelling, and, if the pack has kinds of emergencies, emergencies and
harmless lines like them. What was written is kept after each request: another run goes on, also
after a change of plan.json in the pack.

Then thirty lines are shown to be corrected. Lines of emergencies are learned only after a person
has seen them: they are shown thirty at a time, and wait in the pack until then.`,
		Example: `  molar topic grow tax
  molar topic grow tax --provider gemini --model gemini-2.5-pro
  molar topic grow clinic --review`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !review {
				if err := a.grow(cmd.Context(), args[0], chain.Want{Provider: provider, Model: model}, parallel); err != nil {
					return err
				}
			}
			return a.review(cmd.Context(), args[0])
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "`name` of the provider, of those in the config")
	cmd.Flags().StringVar(&model, "model", "", "`name` of the model")
	cmd.Flags().IntVar(&parallel, "parallel", 4, "how many requests run at once; one at a time on a provider that queues")
	cmd.Flags().BoolVar(&review, "review", false, "write nothing, only show lines that are there")
	return cmd
}

// grow has the model write the lines that the pack lacks.
func (a *app) grow(ctx context.Context, name string, want chain.Want, parallel int) error {
	dir, cfg, topic, err := a.openPack(name)
	if err != nil {
		return err
	}
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	route, err := a.growing(ctx, cfg, want, log)
	if err != nil {
		return err
	}
	if route.Queues {
		parallel = 1
	}
	g, err := grow.Run(ctx, grow.Config{
		Dir: dir, Topic: topic, Parallel: parallel, By: route.Provider.Name() + " " + route.Model, Ask: writing(route),
		Report: func(b grow.Batch, lines, done, of int) {
			a.Note("%3d of %d  %3d lines  %s", done, of, lines, terminal.Clean(b.String()))
		},
	})
	if len(g.Few) > 0 {
		a.Note("the model wrote too little for: %s", terminal.Clean(strings.Join(g.Few, "; ")))
	}
	if len(g.Failed) > 0 {
		a.Note("not answered, and asked again by the next run: %s", terminal.Clean(strings.Join(g.Failed, "; ")))
	}
	if err != nil {
		return fmt.Errorf("%w; %d lines of %d requests are kept: the same command goes on", err, g.Lines+g.Emergencies, g.Batches)
	}
	a.Note("%d new lines, and %d of emergencies, from %d requests to %s", g.Lines, g.Emergencies, g.Batches, terminal.Clean(route.Model))
	return nil
}

// growing returns the route of the model that writes.
func (a *app) growing(ctx context.Context, cfg *config.Config, want chain.Want, log *slog.Logger) (providers.Route, error) {
	models, err := host.OpenModels(cfg, log)
	if err != nil {
		return providers.Route{}, err
	}
	route, err := models.Pick(ctx, want)
	if err == nil && route.Offline {
		err = fmt.Errorf("no model can be had, and growing needs one: %s", route.Why)
	}
	return route, err
}

// writing returns the function with which a route's model writes. Lines should differ, so it is asked
// at its own temperature.
func writing(route providers.Route) func(context.Context, grow.Ask) (string, error) {
	return func(ctx context.Context, ask grow.Ask) (string, error) {
		var text strings.Builder
		for chunk, err := range route.For(providers.PassAnswer).Stream(ctx, providers.Request{
			Pass: providers.PassAnswer, Model: route.Model, System: ask.System, DefaultTemperature: new(1.0),
			Messages: []schemas.Message{schemas.Text(schemas.RoleUser, ask.User)},
		}) {
			if err != nil {
				return "", err
			}
			text.WriteString(chunk.Text)
		}
		return text.String(), nil
	}
}

// review shows grown lines to the person at the terminal, and keeps what is corrected. Without a
// person it says what waits.
func (a *app) review(ctx context.Context, name string) error {
	dir, _, topic, err := a.openPack(name)
	if err != nil {
		return err
	}
	in := bufio.NewReader(a.Stdin)
	sample, err := grow.Sample(dir, shownLines)
	if err != nil {
		return err
	}
	waiting, err := grow.Waiting(dir)
	if err != nil {
		return err
	}
	if len(sample) > 0 {
		corrections, seen, err := a.correct(ctx, in, topic, "Are these right?", sample)
		switch {
		case err != nil:
			return err
		case seen:
			err = grow.Correct(dir, corrections)
		default:
			a.Note("nobody looked at them; later: molar topic grow %s --review", terminal.Clean(name))
		}
		if err != nil {
			return err
		}
	}
	for n := 0; n < len(waiting); n += shownLines {
		page := waiting[n:min(n+shownLines, len(waiting))]
		corrections, seen, err := a.correct(ctx, in, topic, fmt.Sprintf("Emergencies, %d to %d of %d: is each what it says?", n+1, n+len(page), len(waiting)), page)
		if err != nil {
			return err
		}
		if !seen {
			a.Note("%d lines of emergencies wait for somebody who looks at them, and are not learned: molar topic grow %s --review", len(waiting)-n, terminal.Clean(name))
			return nil
		}
		if err := grow.Accept(dir, page, corrections); err != nil {
			return err
		}
	}
	a.Note("next: molar topic train %s", terminal.Clean(filepath.ToSlash(name)))
	return nil
}

// correct shows lines and asks which are wrong. seen is false if the input ended before the person
// said that the lines are right.
func (a *app) correct(ctx context.Context, in *bufio.Reader, topic subject.Topic, question string, lines []subject.Line) (all []grow.Correction, seen bool, err error) {
	a.Say("\n%s", question)
	for i, l := range lines {
		a.Say("%3d  %-10s %s", i+1, terminal.Clean(labelOf(l)), terminal.Clean(l.Text))
		for _, x := range l.History {
			a.Say("     %-10s %s", "after", terminal.Clean(x.Question))
		}
	}
	for {
		_, _ = fmt.Fprint(a.Stderr, "Enter when right; else 7 turns a label, -7 removes a line, 7 TEXT replaces a text or names the kind of emergency: ")
		answer, err := cli.ReadLine(ctx, in)
		if err != nil {
			_, _ = fmt.Fprintln(a.Stderr)
			if ctx.Err() != nil {
				return nil, false, err
			}
			return nil, false, nil
		}
		if answer = strings.TrimSpace(answer); answer == "" {
			return all, true, nil
		}
		c, err := correction(answer, topic, lines)
		if err != nil {
			a.Note("%s", terminal.Clean(err.Error()))
			continue
		}
		all = append(all, c)
	}
}

// correction reads what a person says of a line. No kind of emergency but those of the topic can be
// learned.
func correction(answer string, topic subject.Topic, lines []subject.Line) (grow.Correction, error) {
	number, rest, _ := strings.Cut(answer, " ")
	n, err := strconv.Atoi(number)
	c := grow.Correction{Drop: n < 0}
	if n = max(n, -n); err != nil || n < 1 || n > len(lines) {
		return c, errors.New("begin with the number of a line")
	}
	c.Line, rest = lines[n-1], strings.TrimSpace(rest)
	switch {
	case c.Drop:
	case c.Line.Emergency == nil && rest != "":
		c.Text = rest
	case c.Line.Emergency == nil, rest == grow.Harmless:
		c.Turn = true
	case rest != "":
		if _, known := topic.Emergencies.Kind(rest); !known {
			return c, fmt.Errorf("there is no kind %q: there are %s", rest, strings.Join(kindsOf(topic), ", "))
		}
		c.Kind = rest
	case *c.Line.Emergency == "":
		return c, fmt.Errorf("name the kind of emergency behind the number: there are %s", strings.Join(kindsOf(topic), ", "))
	default:
		c.Turn = true
	}
	return c, nil
}

// kindsOf returns what a line of emergencies may be.
func kindsOf(topic subject.Topic) []string {
	names := make([]string, 0, len(topic.Emergencies.Kinds)+1)
	for _, k := range topic.Emergencies.Kinds {
		names = append(names, k.Name)
	}
	return append(names, grow.Harmless)
}

// labelOf returns the label of a line, for people.
func labelOf(l subject.Line) string {
	switch {
	case l.Emergency != nil && *l.Emergency == "":
		return grow.Harmless
	case l.Emergency != nil:
		return *l.Emergency
	case l.InDomain != nil && *l.InDomain:
		return "in"
	}
	return "out"
}
