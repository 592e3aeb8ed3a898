package main

import (
	"github.com/spf13/cobra"

	"molar/eval/run"
)

func newEvalJudgeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "judge",
		Short: "Find out what a judge's verdicts are worth",
		Args:  onlyCommands,
		RunE:  showHelp,
	}
	cmd.AddCommand(newEvalJudgeCheckCmd(a))
	return cmd
}

func newEvalJudgeCheckCmd(a *app) *cobra.Command {
	var f run.JudgeCheckFlags
	cmd := &cobra.Command{
		Use:   "check {--judge RULE | --grounded} [flags]",
		Short: "Ask a judge about the answers that people marked, and compare",
		Long: `Ask a judge about the answers that people marked up or down, and compare its verdicts with
the marks: a table of both, the agreement with its 95 % interval, Cohen's kappa, and each
disagreement with the judge's reason and the person's note. A reviewer's mark counts before
that of the person who asked. The answers are sent to the judge's model service, and each of them
costs one or two model calls.

Exit codes: 0 all answers were judged, 1 the agreement is below --gate, 2 usage, 4 the judge
cannot be reached, 5 there is no marked answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return evaluations(a).JudgeCheck(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Judge, "judge", "", "the `rule` that an answer has to fulfil")
	flags.BoolVar(&f.Grounded, "grounded", false, "each claim of an answer must stand in a tool's result or in what was said")
	flags.StringVar(&f.Since, "since", "", "only answers marked in this `time`, such as 30d")
	flags.StringVar(&f.Assistant, "assistant", "", "only answers of this assistant, by `name`")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the judge's provider")
	flags.StringVar(&f.Model, "model", "", "`name` of the judge's model")
	flags.IntVar(&f.Limit, "limit", 200, "the largest `number` of answers, the newest first")
	flags.StringVar(&f.JSON, "json", "", "write the result as JSON to this `file`; - for standard output")
	flags.Float64Var(&f.Gate, "gate", 0, "exit with 1 when a smaller `share` of the verdicts agrees with the marks")
	return cmd
}
