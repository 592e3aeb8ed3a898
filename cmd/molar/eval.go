package main

import (
	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/run"
)

func newEvalCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Record turns, replay them and score what the assistants do",
		Long: `Record turns, replay them and score what the assistants do.

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid file,
3 drift, 4 infrastructure, 5 nothing was selected.`,
		Args: onlyCommands,
		RunE: showHelp,
	}
	cmd.AddCommand(newEvalRecordCmd(a), newEvalRunCmd(a), newEvalAcceptCmd(a), newEvalVerifyCmd(a),
		newEvalReportCmd(a), newEvalImportCmd(a), newEvalMatchCmd(a), newEvalSchemaCmd(a))
	return cmd
}

// evaluations returns what the eval commands do.
func evaluations(a *app) *run.Commands { return &run.Commands{CLI: a.CLI} }

func newEvalRunCmd(a *app) *cobra.Command {
	var f run.Flags
	cmd := &cobra.Command{
		Use:   "run [flags] FILE|FOLDER...",
		Short: "Run cases: replay their tapes through the host and judge what happens",
		Long: `Run cases. Each is a conversation: the host answers it with a fresh store, while the
case's tape stands for the model service and the MCP servers. What the tape does not
have never goes live. With --live-model the real model is asked, with --live-tools the
real servers are called, with --live both.

Where a model is asked, each run is one of three: same calls and answer as on the tape,
same calls and another answer, or other calls. Another answer fails unless the case
checks the answer.

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid file,
3 drift, or a fault after which no model was asked again, 4 infrastructure,
5 nothing was selected.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return evaluations(a).Run(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	addOutFlags(cmd, &f.OutFlags)
	addSelectFlags(cmd, &f.SelectFlags)
	addLiveFlags(cmd, &f.LiveFlags)
	flags.StringVar(&f.FromDrift, "from-drift", "", "play each tape up to the first request that differs, and go on from there with the `model` live or offline")
	flags.IntVar(&f.Trials, "trials", 0, "run each case so `many` times")
	flags.IntVar(&f.Parallel, "parallel", 0, "run so `many` cases at once (default one for each CPU in a replay, else 1)")
	flags.StringArrayVar(&f.Faults, "fault", nil, "lay a `fault` over every tape: tool:family__*=error, model:answer=disconnect#2, tool:*=delay:200ms; drop, delay, garble, error, disconnect")
	flags.BoolVar(&f.Sweep, "fault-sweep", false, "run each case once with each fault at each of its calls, and tell what the host does; with --from-drift also how a model answers")
	flags.StringVar(&f.OnMiss, "on-miss", "", "fail or report: what a model request that differs from the tape gets")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the provider that a live model is asked of")
	flags.StringVar(&f.Model, "model", "", "`name` of the live model")
	flags.BoolVar(&f.Score, "score", false, "judge what the tapes tell, and run nothing")
	flags.BoolVar(&f.Full, "full", false, "show the causes of drift with their texts in full")
	flags.BoolVar(&f.Quiet, "quiet", false, "print no progress and no table")
	return cmd
}

func addSelectFlags(cmd *cobra.Command, f *run.SelectFlags) {
	cmd.Flags().StringArrayVar(&f.IDs, "id", nil, "only cases whose id matches this `glob`; may be repeated")
	cmd.Flags().StringArrayVar(&f.Tags, "tag", nil, "only cases with this `tag`; may be repeated")
}

func addLiveFlags(cmd *cobra.Command, f *run.LiveFlags) {
	cmd.Flags().BoolVar(&f.LiveModel, "live-model", false, "ask the real model; tools stay taped")
	cmd.Flags().BoolVar(&f.LiveTools, "live-tools", false, "call the real servers; the model stays taped")
	cmd.Flags().BoolVar(&f.Live, "live", false, "ask the real model and call the real servers")
}

func addOutFlags(cmd *cobra.Command, f *run.OutFlags) {
	cmd.Flags().StringVar(&f.JSON, "json", "", "write the report as JSON to this `file`; - for standard output")
	cmd.Flags().StringVar(&f.JUnit, "junit", "", "write JUnit XML to this `file`")
	cmd.Flags().StringVar(&f.HTML, "html", "", "write an HTML page to this `file`")
}

func newEvalRecordCmd(a *app) *cobra.Command {
	var f run.RecordFlags
	cmd := &cobra.Command{
		Use:   "record --out CASE.yaml [flags] PROMPT...",
		Short: "Run a conversation for real and keep it as a case and its tape",
		Long: `Run a conversation for real, one turn for each PROMPT, and write a case with what
happened as its expectations, and the tape beside it. With --turn, a turn that was
saved becomes a case, and nothing is asked of a model.

Nothing is kept when a turn failed, a configured server is not there or a model answered
an error; --allow-failure keeps it, for cases that are about failures.

Exit codes: 0 the case was written, 2 usage, 4 something failed and nothing was kept.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Record(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Out, "out", "", "the case's `file`; the tape goes beside it")
	flags.StringVar(&f.ID, "id", "", "the case's `id` (default: the file's name)")
	flags.StringVar(&f.Turn, "turn", "", "`id` of a saved turn to make a case of")
	flags.StringVar(&f.Assistant, "assistant", "", "`name` of the assistant that answers")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the provider")
	flags.StringVar(&f.Model, "model", "", "`name` of the model")
	flags.StringArrayVar(&f.Tags, "tag", nil, "`tag` of the case; may be repeated")
	flags.StringArrayVar(&f.MCP, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.BoolVar(&f.AllowFailure, "allow-failure", false, "keep a recording in which something failed")
	flags.BoolVar(&f.NoSummary, "no-summary", false, "do not summarise after the turns")
	return cmd
}

func newEvalAcceptCmd(a *app) *cobra.Command {
	var f run.AcceptFlags
	cmd := &cobra.Command{
		Use:   "accept [flags] FILE|FOLDER...",
		Short: "Show how cases differ from their tapes, and take it over when asked to",
		Long: `Run cases and record them anew. The tape's own answers are served, whatever is asked;
with --live-model, --live-tools or --live the real ones are, and what they will be asked is
told before. What differs is shown, case by case, old against new. On a terminal you are
asked then; elsewhere the list has a name, and --yes NAME takes over what is in exactly
that list. With --expect what happened replaces the expectations too.

Nothing replaces a tape when a turn failed, a server is not there, a model answered an
error, the old tape lacks an answer that was needed, or a check of the case does not hold.

Exit codes: 0 nothing differs or it was taken over, 3 it differs and was not, 4 a
recording failed and its case was left as it was.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Accept(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	addSelectFlags(cmd, &f.SelectFlags)
	addLiveFlags(cmd, &f.LiveFlags)
	flags.StringVar(&f.Yes, "yes", "", "replace the tapes of the list with this `name`, which was shown before")
	flags.BoolVar(&f.Expect, "expect", false, "replace the expectations as well; the case must be alone in its YAML file")
	flags.BoolVar(&f.AllowFailure, "allow-failure", false, "replace the tapes by recordings of failures, too")
	return cmd
}

func newEvalVerifyCmd(a *app) *cobra.Command {
	var f run.SelectFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE|FOLDER...",
		Short: "Compare the tools that the real servers list with the tapes, before anybody calls them",
		Long: `Attach the real servers and compare the tools that they list with the tapes: one that was
removed, renamed, described anew, wants other arguments, promises other results or has
other annotations is named, with what that means for callers. No tool is called; run --live-tools calls them and compares what they give.

Exit codes: 0 all agree, 3 a tool differs, 4 a server is not there, 5 nothing to compare.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Verify(cmd.Context(), f, args)
		},
	}
	addSelectFlags(cmd, &f)
	return cmd
}

func newEvalReportCmd(a *app) *cobra.Command {
	var out run.OutFlags
	full := false
	cmd := &cobra.Command{
		Use:   "report [flags] REPORT.json [LATER.json]",
		Short: "Write a report that was kept as JSON in other forms, or what changed between two",
		Long: `Write a report that was kept as JSON in other forms. Of two reports, show which cases
changed their status from the first to the second, and which numbers moved; the exit code
is 1 then when a case that passed no longer does.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error { return evaluations(a).Report(args, &out, full) },
	}
	addOutFlags(cmd, &out)
	cmd.Flags().BoolVar(&full, "full", false, "show the causes of drift with their texts in full")
	return cmd
}

func newEvalImportCmd(a *app) *cobra.Command {
	var f run.ImportFlags
	cmd := &cobra.Command{
		Use:   "import --out FOLDER [flags] {FILE|FOLDER... | --marked down}",
		Short: "Make cases and tapes of answers that were marked, and of other programs' recordings",
		Long: `Make cases and tapes of answers that were marked (--marked), or of other programs'
recordings and data sets:

  cassette  of go-vcr, VCR for Ruby and vcrpy, with Gemini, OpenAI-compatible servers, Ollama
  httprr    recordings of Google's httprr
  openai    conversations as OpenAI messages, or logs of requests and responses
  pairs     request and response pairs

The format is told by the file. An imported recording runs through Molar's own provider code. What could not be imported or carried over is said on
standard error, and does not keep the rest from being imported.

A case of an answer that was marked down is red until the answer is another one: say in it
what is expected instead. Personal data is masked by rules that are shown first, with what
they found; on a terminal you are asked then, elsewhere --yes writes the cases.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Import(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.From, "from", "", "the `format` of the files, where they do not tell it")
	flags.StringVar(&f.Out, "out", "", "`folder` for the cases and tapes")
	flags.BoolVar(&f.Force, "force", false, "replace cases that are there")
	flags.StringVar(&f.Marked, "marked", "", "import the answers that were marked `up or down`")
	flags.StringVar(&f.Since, "since", "", "only answers marked in this `time`, such as 7d")
	flags.StringVar(&f.Assistant, "assistant", "", "only answers of this assistant, by `name`")
	flags.StringArrayVar(&f.Mask, "mask", nil, "also mask this `text`, which no rule finds; may be repeated")
	flags.BoolVar(&f.Yes, "yes", false, "write the cases without being asked")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

func newEvalSchemaCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of case files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := eval.Schema()
			if err == nil {
				_, err = a.Stdout.Write(schema)
			}
			return err
		},
	}
}

func newEvalMatchCmd(a *app) *cobra.Command {
	var f run.MatchFlags
	cmd := &cobra.Command{
		Use:   "match --policy bfcl --cases FILE --answers FILE --calls FILE",
		Short: "Score tool calls that were made elsewhere",
		Long: `Score tool calls that were made elsewhere: the cases and their accepted answers are
files of the Berkeley Function Calling Leaderboard, the calls are lines of
{"id", "tool_calls": [{"id", "function": {"name", "arguments"}}]}.

For each line of calls, in order, one JSON line {"id","valid","reason"} is printed.
The verdict is that of the benchmark's own checker.

Exit codes: 0 every line is judged, whatever the verdicts; 1 a smaller share of them is
valid than --gate wants; 2 usage, an invalid file, or an id that no case has; 5 there
was no line to judge.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return evaluations(a).Match(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Policy, "policy", "bfcl", "bfcl: the rules of the benchmark's own checker")
	flags.StringArrayVar(&f.Cases, "cases", nil, "`file` of cases; may be repeated")
	flags.StringArrayVar(&f.Answers, "answers", nil, "`file` of accepted answers; may be repeated")
	flags.StringVar(&f.Calls, "calls", "", "`file` of calls to score")
	flags.Float64Var(&f.Gate, "gate", 0, "exit with 1 when a smaller `share` of the lines is valid; 1 wants all")
	for _, name := range []string{"cases", "calls"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}
