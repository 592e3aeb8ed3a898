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

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid case,
3 drift, 4 infrastructure, 5 nothing was selected.`,
		Args: onlyCommands,
		RunE: showHelp,
	}
	cmd.AddCommand(newEvalRecordCmd(a), newEvalRunCmd(a), newEvalAcceptCmd(a), newEvalVerifyCmd(a),
		newEvalReportCmd(a), newEvalImportCmd(a), newEvalTapeCmd(a), newEvalSchemaCmd(a), newEvalJudgeCmd(a))
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
case's tape replaces the model service and the MCP servers. A request that the tape
does not have fails; it is never sent to the real service. --live-model asks the real
model, --live-tools calls the real servers, --live does both. A case without a tape runs
only with --live, or with --live-model if its config has no servers.

When a real model is asked, each run is one of three: same calls and answer as on the tape,
same calls and another answer, or other calls. Another answer fails unless the case
checks the answer.

Checks that need a judge (judge, grounded, like) take its verdict from the tape. If the tape has
none for this rubric and this answer, the case is not asked again; where a real model is asked
anyway, the judge is asked too. --judge live asks about every answer, and shows which verdicts
changed and why.

--models and --prompts run each case under each model with each prompt, from the first
request that differs from its tape, and print one table of cases by variants.

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid case,
3 drift, or an answer that no judge was asked about, 4 infrastructure,
5 nothing was selected.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return evaluations(a).Run(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	addOutFlags(cmd, &f.OutFlags)
	addSelectFlags(cmd, &f.SelectFlags)
	addLiveFlags(cmd, &f.LiveFlags)
	flags.StringVar(&f.FromDrift, "from-drift", "", "play each tape up to the first request that differs, and continue from there with the `model` live or offline")
	flags.IntVar(&f.Trials, "trials", 0, "run each case this `number` of times")
	flags.IntVar(&f.Parallel, "parallel", 0, "run this `number` of cases at once (default: one for each CPU in a replay, else 1)")
	flags.StringArrayVar(&f.Faults, "fault", nil, "with --from-drift or --live-model: let calls end with a `fault`, tool:GLOB=error, timeout, empty or inject (the tool gives orders); may be repeated")
	flags.StringSliceVar(&f.Models, "models", nil, "compare `models`: providers, PROVIDER/MODEL, models of the case's provider, or config; separated by commas")
	flags.StringSliceVar(&f.Prompts, "prompts", nil, "compare prompts: `files` with a system text that replaces the assistant's own, or config; separated by commas")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the live model's provider")
	flags.StringVar(&f.Model, "model", "", "`name` of the live model")
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
	cmd.Flags().StringVar(&f.Judge, "judge", "", "`live`: ask the judge of every check that needs one, whatever the tapes have")
}

func addOutFlags(cmd *cobra.Command, f *run.OutFlags) {
	cmd.Flags().StringVar(&f.JSON, "json", "", "write the report as JSON to this `file`; - for standard output")
	cmd.Flags().StringVar(&f.JUnit, "junit", "", "write JUnit XML to this `file`")
	cmd.Flags().StringVar(&f.HTML, "html", "", "write an HTML page to this `file`")
	cmd.Flags().StringVar(&f.Markdown, "markdown", "", "write Markdown, for the comment on a change, to this `file`; - for standard output")
}

func newEvalRecordCmd(a *app) *cobra.Command {
	var f run.RecordFlags
	cmd := &cobra.Command{
		Use:   "record --out CASE.yaml [flags] PROMPT...",
		Short: "Run a conversation for real and save it as a case and its tape",
		Long: `Run a conversation for real, one turn for each PROMPT, and write a case with what
happened as its expectations, and the tape next to it. With --turn, a saved turn becomes
a case, and no model is asked.

What the answers have of the results of tools is proposed as checks of them: names, numbers,
dates, ids. On a terminal you are asked which to take; elsewhere --take chooses, or they are
written into the case as comments.

Nothing is saved when a turn failed, a configured server is missing or a model answered
with an error; --allow-failure saves it, for cases about failures.

Exit codes: 0 the case was written, 2 usage, 4 something failed and nothing was saved.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Record(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Out, "out", "", "the case's `file`; the tape is written next to it")
	flags.StringVar(&f.ID, "id", "", "the case's `id` (default: the file's name)")
	flags.StringVar(&f.Turn, "turn", "", "`id` of a saved turn to make a case of")
	flags.StringVar(&f.Take, "take", "", "`which` of the proposed checks to take, without asking: all, none, or numbers such as 1,3-4")
	flags.StringVar(&f.Assistant, "assistant", "", "`name` of the assistant that answers")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the provider")
	flags.StringVar(&f.Model, "model", "", "`name` of the model")
	flags.StringArrayVar(&f.Tags, "tag", nil, "`tag` of the case; may be repeated")
	flags.StringArrayVar(&f.MCP, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.StringVar(&f.Judge, "judge", "", "a `rule` for the last answer, which a judge checks now; its verdict is kept on the tape")
	flags.BoolVar(&f.Grounded, "grounded", false, "each claim of the last answer must stand in a tool's result or in what was said; a judge checks it now")
	flags.BoolVar(&f.AllowFailure, "allow-failure", false, "save a recording in which something failed")
	flags.BoolVar(&f.NoSummary, "no-summary", false, "do not summarise after the turns")
	return cmd
}

func newEvalAcceptCmd(a *app) *cobra.Command {
	var f run.AcceptFlags
	cmd := &cobra.Command{
		Use:   "accept [flags] FILE|FOLDER...",
		Short: "Show how cases differ from their tapes, and replace the tapes on request",
		Long: `Run cases and record them anew. The tape's own answers are served, whatever the requests
are; with --live-model, --live-tools or --live the real services answer, and the command
first shows what they will be asked. So a case without a tape gets its first one. --judge live
asks the judge about the answers; the verdicts are shown too, and written to the tape. The
differences are shown case by case, old against new. On a terminal you are then asked;
elsewhere the list of differences has a name, and --yes NAME accepts exactly that list.
With --expect the new results replace the expectations too.

A tape is not replaced when a turn failed, a server is missing, a model answered with an
error, the old tape lacks a required answer, or a check of the case fails.

Exit codes: 0 nothing differs or the differences were accepted, 2 usage or an invalid case,
3 they were not accepted, 4 a recording failed and its case is unchanged.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Accept(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	addSelectFlags(cmd, &f.SelectFlags)
	addLiveFlags(cmd, &f.LiveFlags)
	flags.StringVar(&f.Yes, "yes", "", "replace the tapes of the list with this `name`, which an earlier run showed")
	flags.BoolVar(&f.Expect, "expect", false, "replace the expectations as well; the case must be alone in its YAML file")
	flags.BoolVar(&f.AllowFailure, "allow-failure", false, "also replace tapes with recordings of failures")
	return cmd
}

func newEvalVerifyCmd(a *app) *cobra.Command {
	var f run.SelectFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE|FOLDER...",
		Short: "Compare the tools that the real servers list with the tapes, before they are called",
		Long: `Attach the real servers and compare the tools that they list with the tapes. The command
names each tool that was removed or renamed, or whose description, arguments, results or
annotations changed, and what that means for callers. It calls no tool; molar eval run
--live-tools calls them and compares their results.

Exit codes: 0 all agree, 2 usage or an invalid case, 3 a tool differs, 4 a server is missing,
5 nothing to compare.`,
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
		Short: "Convert a JSON report to other forms, or compare two",
		Long: `Convert a report that was saved as JSON to other forms. Of two reports, show which cases
changed their status from the first to the second, and which numbers changed; the exit
code is then 1 when a case no longer passes. With --markdown, the text is about the second,
with what changed since the first.`,
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
		Use:   "import --out FOLDER [flags] {FILE|FOLDER... | --marked down | --no-result | ...}",
		Short: "Make cases from saved turns, and from other programs' recordings and data sets",
		Long: `Make cases and tapes from saved turns (--marked, --refused, --no-result, --asked-twice, also
several at once), or from other programs' recordings and data sets:

  rows         lines of a data set, such as {"item": ...} or {"input", "ideal"} of OpenAI's
               evals, and tables (CSV); --map names their columns
  openai-eval, openai-registry, adk-config
               what is checked in the data that is given with it
  openai       messages, stored responses and completions, logs of requests and responses,
               sessions of docker-agent
  promptfoo    a config with the files beside it
  adk          eval sets
  gemini-session, gemini-cli
               sessions and fake responses of Gemini CLI
  cassette     of go-vcr, VCR for Ruby and vcrpy
  pairs        request and response pairs

The format is recognised from the file. The command names on standard error what it could
not import, with its line, and imports the rest. A recording becomes a case with a tape and
runs through Molar's own provider code. A data set becomes cases without tapes: run them
with molar eval run --live, and record them with molar eval accept --live. --config and
--assistant are written into the cases.

The case of an answer that was marked down, that found nothing or after which the person asked
the same again fails until the answer changes: write into it what is expected instead. That of
a refused question expects the refusal; such a question is kept only with the wire traffic of
an assistant with wire: true. Personal data is masked by rules, which are shown first together
with their matches; on a terminal you are then asked, elsewhere --yes writes the cases.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Import(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.From, "from", "", "the `format` of the files, when it cannot be recognised")
	flags.StringVar(&f.Out, "out", "", "`folder` for the cases and tapes")
	flags.StringToStringVar(&f.Map, "map", nil, "what the columns of a data set are, such as `user=question,contains=answer`: user, system, id, tags, tool, or a check of the answer")
	flags.Lookup("map").DefValue = "" // else help shows it as []
	flags.BoolVar(&f.Force, "force", false, "replace existing cases")
	addTurnFlags(flags, &f.TurnFlags)
	flags.StringArrayVar(&f.Mask, "mask", nil, "also mask this `text`, which no rule finds; may be repeated")
	flags.BoolVar(&f.Yes, "yes", false, "write the cases without asking")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

func newEvalTapeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "tape FILE",
		Short: "Print a tape as a transcript, also for git diff",
		Long: `Print a tape as a transcript: tools, system texts, and for each turn the question, the
verdict, calls, results and the answer. To see changes of tapes in this form:

  git config diff.molar.textconv "molar eval tape"
  echo '*.tape.jsonl diff=molar linguist-generated' >> .gitattributes`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return evaluations(a).Tape(args[0]) },
	}
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
