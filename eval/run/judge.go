package run

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/text"
	"molar/providers"
	"molar/providers/chain"
)

func (f *LiveFlags) checkJudge() error {
	if f.Judge != "" && f.Judge != "live" {
		return cli.Usage(fmt.Errorf("--judge %q: write live, or leave it out for the verdicts of the tapes", f.Judge))
	}
	return nil
}

// noteJudge says how often a judge will be asked, of cases that run so many times.
func (a *Commands) noteJudge(cases []eval.Case, f *LiveFlags, mode eval.Mode, times int) {
	checks := 0
	for i := range cases {
		checks += times * cases[i].Judged()
	}
	switch {
	case checks == 0:
	case f.Judge != "":
		a.Note("live: asks the judge about %s, with one or two calls each", text.Counted(checks, "check"))
	case mode.LiveModel || mode.FromDrift == eval.FromDriftLive:
		a.Note("live: asks the judge about %s at most, where there is no verdict on an answer, with one or two calls each", text.Counted(checks, "check"))
	}
}

// judgeOf returns what opens the judge of a case.
func (a *Commands) judgeOf(log *slog.Logger) func(context.Context, *eval.Case) (providers.Route, error) {
	configs := a.configs()
	return func(ctx context.Context, c *eval.Case) (providers.Route, error) {
		cfg, err := configs(cmp.Or(c.ConfigFile(), a.ConfigFile), true)
		if err != nil {
			return providers.Route{}, err
		}
		return pickJudge(ctx, cfg, log, c)
	}
}

// pickJudge returns a route of the config whose small model judges a case.
func pickJudge(ctx context.Context, cfg *config.Config, log *slog.Logger, c *eval.Case) (providers.Route, error) {
	models, err := host.OpenModels(cfg, log)
	if err != nil {
		return providers.Route{}, err
	}
	return models.Pick(ctx, wantJudge(cfg, c))
}

// wantJudge returns the judge that a case names, or else the small model that the config has for the
// assistant.
func wantJudge(cfg *config.Config, c *eval.Case) chain.Want {
	c = cmp.Or(c.Unvaried, c)
	assistant, _ := cfg.Assistants.Get(cmp.Or(c.Assistant, cfg.Default))
	return chain.Want{Provider: cmp.Or(c.Judge.Provider, c.Provider, assistant.Provider), Model: c.Judge.Model, SmallModel: c.Judge.Model}
}

// judgeRecording adds the checks that the flags name to the last turn, and the verdicts on them to the
// tape. An error means that there is no verdict; the recording is good all the same.
func (a *Commands) judgeRecording(ctx context.Context, cfg *config.Config, log *slog.Logger, rec *tape.Recorder, c *eval.Case, seen []tape.Turn, f RecordFlags) error {
	if f.Judge == "" && !f.Grounded {
		return nil
	}
	c.Turns[len(c.Turns)-1].Expect.Answer = &eval.Answer{Check: eval.Check{Judge: f.Judge, Grounded: f.Grounded}}
	checks, verdicts, err := eval.JudgeNow(ctx, c, seen, host.Redactor(cfg), func(ctx context.Context, c *eval.Case) (providers.Route, error) {
		return pickJudge(ctx, cfg, log, c)
	})
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		rec.Judge(v)
	}
	for _, check := range checks {
		if check.Verdict == nil {
			a.Say("turn %d, %s: %s", check.Turn, check.Name, check.Text)
			continue
		}
		a.Say("%s", eval.VerdictText(check))
		if check.Verdict.Result == eval.VerdictDown {
			err = cli.With(eval.ExitInfra, fmt.Errorf("the case has no verdict yet; when the judge answers: molar eval accept --judge live %s", c.File))
		}
	}
	return err
}
