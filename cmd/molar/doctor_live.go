package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"molar/agent/subject"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/live"
	"molar/internal/terminal"
	"molar/providers"
	"molar/providers/chain"
)

// liveFlags are the flags of doctor that concern the trial of a model.
type liveFlags struct {
	on, yes   bool
	model     string
	timeout   time.Duration
	maxPrompt int
}

// liveTimeout bounds a whole trial, unless a flag does.
const liveTimeout = 15 * time.Minute

func (f *liveFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "live", false, "try the model with some twenty small checks")
	flags.BoolVar(&f.yes, "yes", false, "with --live: ask a service that may cost money without asking you")
	flags.StringVar(&f.model, "model", "", "with --live: another `name` than the config's for the model that answers")
	flags.DurationVar(&f.timeout, "timeout", liveTimeout, "with --live: end after this `duration`, with what was found")
	flags.IntVar(&f.maxPrompt, "max-prompt", live.DefaultMaxPrompt, "with --live: `tokens` of the largest prompt")
}

// check refuses what applies to a trial only.
func (f *liveFlags) check(flags *pflag.FlagSet, args []string) error {
	if f.on {
		if f.timeout <= 0 {
			return errors.New("--timeout wants a positive duration")
		}
		return nil
	}
	if len(args) > 0 {
		return fmt.Errorf("to try the model of %s: molar doctor --live %s", args[0], args[0])
	}
	for _, name := range []string{"yes", "model", "timeout", "max-prompt"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s applies to --live only", name)
		}
	}
	return nil
}

// tryModel tries a provider's model, that of the config if none is named, and prints the results.
func (a *app) tryModel(ctx context.Context, f liveFlags, provider, format string) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	route, pick, err := routeToTry(ctx, cfg, f, provider)
	if err != nil {
		return err
	}
	endpoint, _ := cfg.LLM.Endpoint(route.Provider.Name())
	guards, err := topicGuards(cfg)
	if err != nil {
		return err
	}
	window := "window"
	if endpoint.Service.Name == providers.Ollama {
		window = "max_num_ctx"
	}
	trial, err := live.New(live.Config{Pick: pick, Guards: guards, MaxPrompt: f.maxPrompt, Section: endpoint.Setting, WindowKey: window})
	if err != nil {
		return cli.Usage(err)
	}
	if !isLocal(endpoint.BaseURL, route.Model) || !smallIsLocal(cfg, route) {
		if err := a.askToSpend(ctx, f.yes, route, trial.Plan()); err != nil {
			return err
		}
	}
	return a.runTrial(ctx, f, trial, route, format)
}

// routeToTry returns the route, and how to get another one like it for each conversation. It never
// falls back to another provider.
func routeToTry(ctx context.Context, cfg *config.Config, f liveFlags, provider string) (providers.Route, func(context.Context) (providers.Route, error), error) {
	models, err := host.OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return providers.Route{}, nil, err
	}
	if provider == "" || provider == chain.Auto {
		now, err := models.Pick(ctx, chain.Want{})
		if err != nil {
			return now, nil, err
		}
		provider = now.Provider.Name()
	}
	if provider == providers.Offline {
		return providers.Route{}, nil, live.ErrNoModel
	}
	pick := func(ctx context.Context) (providers.Route, error) {
		return models.Pick(ctx, chain.Want{Provider: provider, Model: f.model})
	}
	route, err := pick(ctx)
	switch {
	case providers.KindOf(err) == providers.KindInvalid:
		return route, nil, cli.Usage(err)
	case err != nil:
		return route, nil, err
	case f.model != "":
		err = models.CheckModel(ctx, provider, f.model)
	}
	return route, pick, err
}

// topicGuards returns the guards of the assistants' topics.
func topicGuards(cfg *config.Config) ([]*subject.Guard, error) {
	var guards []*subject.Guard
	seen := map[string]bool{"": true}
	for _, entry := range cfg.Assistants {
		topic := entry.Value.Topic
		if seen[topic] {
			continue
		}
		seen[topic] = true
		guard, err := host.OpenGuard(cfg, topic, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		guards = append(guards, guard)
	}
	return guards, nil
}

// smallIsLocal reports whether the calls of the route's small model cost nothing.
func smallIsLocal(cfg *config.Config, route providers.Route) bool {
	endpoint, known := cfg.LLM.Endpoint(route.For(providers.PassGuardrail).Name())
	return !known || isLocal(endpoint.BaseURL, route.SmallModel)
}

// isLocal reports whether a model runs on this machine, where calls cost nothing. A local Ollama
// sends those of its cloud on.
func isLocal(address, model string) bool {
	u, err := url.Parse(address)
	if err != nil || strings.HasSuffix(model, "cloud") {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// askToSpend says what a trial takes, and has a person agree.
func (a *app) askToSpend(ctx context.Context, yes bool, route providers.Route, p live.Plan) error {
	what := fmt.Sprintf("%s with %s is not on this machine: about %d calls and %d,000 tokens, which may cost money",
		route.Provider.Name(), route.Model, p.Calls, (p.Tokens+999)/1000)
	switch {
	case yes:
		a.Note("%s", terminal.Clean(what))
		return nil
	case !cli.IsTerminal(a.Stdin) || !cli.IsTerminal(a.Stderr):
		return cli.Usage(errors.New(what + "; to go on: --yes"))
	}
	_, _ = fmt.Fprintf(a.Stderr, "%s. Go on? [y/N] ", terminal.Clean(what))
	answer, err := cli.ReadLine(ctx, bufio.NewReader(a.Stdin))
	if err != nil && ctx.Err() != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		a.Note("nothing was asked")
		return cli.Exit(cli.Failure)
	}
	return nil
}

// runTrial runs the checks, prints each as it ends, and then the verdict.
func (a *app) runTrial(ctx context.Context, f liveFlags, trial *live.Trial, route providers.Route, format string) error {
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	start := time.Now()
	if format == cli.Text {
		a.Say(liveRow, "RESULT", "CHECK", "TIME", "TOKENS", "SEEN")
	}
	var results []live.Result
	for r := range trial.Run(bounded) {
		results = append(results, r)
		if format == cli.Text {
			a.sayResult(r)
		}
	}
	report := trial.Conclude(route, results)
	if format == cli.JSON {
		if err := a.PrintJSON(report); err != nil {
			return err
		}
	} else {
		a.sayVerdict(report, time.Since(start))
	}
	switch {
	case ctx.Err() != nil:
		return cli.Exit(cli.Interrupted)
	case !report.Usable:
		return cli.Exit(cli.Failure)
	}
	return nil
}

const liveRow = "%-7s  %-17s  %7s  %6s  %s"

func (a *app) sayResult(r live.Result) {
	seen := terminal.Clean(r.Seen)
	if r.Tries > 1 {
		seen = fmt.Sprintf("%d/%d  %s", r.Passed, r.Tries, seen)
	}
	a.Say(liveRow, r.Level, r.Check, r.Took.Round(10*time.Millisecond), fmt.Sprint(r.Usage.PromptTokens+r.Usage.CompletionTokens), seen)
}

func (a *app) sayVerdict(r live.Report, took time.Duration) {
	a.Say("\n%s", terminal.Clean(fmt.Sprintf("%s with %s, small model %s, after %d calls, %d tokens, %s:",
		r.Provider, r.Model, r.SmallModel, r.Calls, r.Usage.PromptTokens+r.Usage.CompletionTokens, took.Round(time.Second))))
	for _, v := range r.Verdict {
		a.Say("- %s", terminal.Clean(v))
	}
	for _, s := range r.Set {
		a.Say("-> set %s", terminal.Clean(s))
	}
}
