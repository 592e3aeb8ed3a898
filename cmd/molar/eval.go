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
		newEvalReportCmd(a), newEvalImportCmd(a), newEvalMatchCmd(a), newEvalTrafficCmd(a), newEvalSchemaCmd(a))
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
model, --live-tools calls the real servers, --live does both.

When a real model is asked, each run is one of three: same calls and answer as on the tape,
same calls and another answer, or other calls. Another answer fails unless the case
checks the answer.

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid case,
3 drift, or a fault after which no model was asked again, 4 infrastructure,
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
	flags.StringArrayVar(&f.Faults, "fault", nil, "add a `fault` to every tape: tool:family__*=error, model:answer=disconnect#2, tool:*=delay:200ms; drop, delay, garble, error, disconnect")
	flags.BoolVar(&f.Sweep, "fault-sweep", false, "run each case once with each fault at each of its calls, and report what the host does; with --from-drift also how a model answers")
	flags.StringVar(&f.OnMiss, "on-miss", "", "fail or report: what happens when a model request differs from the tape")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the live model's provider")
	flags.StringVar(&f.Model, "model", "", "`name` of the live model")
	flags.BoolVar(&f.Score, "score", false, "score what the tapes contain, and run nothing")
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
first shows what they will be asked. The differences are shown case by case, old against
new. On a terminal you are then asked; elsewhere the list of differences has a name, and
--yes NAME accepts exactly that list. With --expect the new results replace the
expectations too.

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
		Use:   "import --out FOLDER [flags] {FILE|FOLDER... | --marked down}",
		Short: "Make cases and tapes from marked answers and from other programs' recordings",
		Long: `Make cases and tapes from marked answers (--marked), or from other programs' recordings
and data sets:

  cassette  of go-vcr, VCR for Ruby and vcrpy, with Gemini, OpenAI-compatible servers, Ollama
  httprr    recordings of Google's httprr
  openai    conversations as OpenAI messages, or logs of requests and responses
  pairs     request and response pairs

The format is recognised from the file. An imported recording runs through Molar's own
provider code. The command names on standard error what it could not import, and imports
the rest.

A case from an answer that was marked down fails until the answer changes: write into it
what is expected instead. Personal data is masked by rules, which are shown first together
with their matches; on a terminal you are then asked, elsewhere --yes writes the cases.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Import(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.From, "from", "", "the `format` of the files, when it cannot be recognised")
	flags.StringVar(&f.Out, "out", "", "`folder` for the cases and tapes")
	flags.BoolVar(&f.Force, "force", false, "replace existing cases")
	flags.StringVar(&f.Marked, "marked", "", "import the answers that were marked `up or down`")
	flags.StringVar(&f.Since, "since", "", "only answers marked in this `time`, such as 7d")
	flags.StringVar(&f.Assistant, "assistant", "", "only answers of this assistant, by `name`")
	flags.StringArrayVar(&f.Mask, "mask", nil, "also mask this `text`, which no rule finds; may be repeated")
	flags.BoolVar(&f.Yes, "yes", false, "write the cases without asking")
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

Exit codes: 0 every line is judged, whatever the verdicts; 1 the share of valid lines is
below --gate; 2 usage, an invalid file, or an id that no case has; 5 there was no line
to judge.`,
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

func newEvalTrafficCmd(a *app) *cobra.Command {
	var f run.TrafficFlags
	cmd := &cobra.Command{
		Use:   "traffic [flags] FOLDER",
		Short: "Check how Molar reads traffic that other programs recorded",
		Long: `Check how Molar reads traffic with model services that other programs recorded: cassettes
of go-vcr, VCR for Ruby and vcrpy, recordings of httprr and nock, HTTP archives, request and
response pairs, fake responses of Gemini CLI, and files with an answer alone. Nothing is sent
anywhere.

Each answer of an API that Molar speaks is given to its provider code whole, line by line and byte
by byte, with the tools of the recorded request. Text, reasoning, calls, finish reason and usage are
compared with a plain reading of the same bytes. After an answer with calls, the next request has to
bring them back with their ids and signatures, and with the recorded results.

Exit codes: 0 all is read as it says, 1 something differs that is not in --known, 2 usage,
5 there is no recorded answer.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return evaluations(a).Traffic(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.By, "by", "service", "group the answers by `service or folder`")
	flags.StringVar(&f.Known, "known", "", "`file` of differences that are right: FILE#INDEX, a tab, and why")
	flags.StringVar(&f.JSON, "json", "", "write the report as JSON to this `file`; - for standard output")
	flags.BoolVar(&f.Failures, "failures", false, "show what comes of each recorded failure")
	return cmd
}
