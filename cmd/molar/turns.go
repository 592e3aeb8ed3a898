package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"molar/agent/answer"
	"molar/eval/run"
	"molar/internal/cli"
	"molar/internal/serve"
	"molar/internal/terminal"
	"molar/schemas"
)

func newTurnsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "turns", Short: "Show what happened in a turn, and mark answers", Args: onlyCommands, RunE: showHelp}
	var format string
	var all bool
	show := &cobra.Command{
		Use:   "show ID",
		Short: "Show the trace of a turn: why each tool was called, or not",
		Long: `Show the trace of a turn: why each tool was called, or not. For a turn without a trace
(its process was killed, the 7 days are over, telemetry.trace is off) it shows the stored messages.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			trace, err := serve.Trace(cmd.Context(), a.CLI, cfg, args[0])
			if err != nil {
				return err
			}
			if format == cli.JSON {
				_, err = fmt.Fprintln(a.Stdout, string(trace))
				return err
			}
			return printTrace(a.Stdout, trace, all)
		},
	}
	show.Flags().BoolVar(&all, "all", false, "name every tool that was not called")
	show.Flags().StringVar(&format, "output-format", cli.Text, "text or json")
	cmd.AddCommand(show, newTurnsMarkCmd(a), newTurnsListCmd(a))
	return cmd
}

// printTrace writes a trace for a person; all names every tool that was not called.
func printTrace(w io.Writer, raw json.RawMessage, all bool) error {
	var t answer.Trace
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("turn %s, %s, %.0f ms", t.TurnID, t.Status, t.TookMS)
	if t.Status == schemas.StatusRunning {
		line("assistant %s, conversation %s\nit still runs: what it did is recorded at its end", t.Assistant, t.ConversationID)
		_, err := io.WriteString(w, terminal.Clean(b.String()))
		return err
	}
	if t.Untraced {
		printUntraced(line, t)
		_, err := io.WriteString(w, terminal.Clean(b.String()))
		return err
	}
	line("assistant %s, provider %s (%s)", t.Assistant, t.Provider, t.Route)
	line("conversation %s, memory %s, language %s", t.ConversationID, t.Memory, t.Language)
	if t.Question != "" {
		line("question: %s", terminal.Preview(t.Question))
	}
	if v := t.Verdict; v != nil {
		line("guardrail: pass %v by %s: %s", v.Pass, v.By, v.Reason)
	}
	switch {
	case t.Done == nil:
	case t.Done.WithDesk:
		line("the message went to people at the desk, so no model answered it")
	case t.Done.Handover == schemas.HandoverWords:
		line("a person was offered: the question asks for one")
	case t.Done.Handover == schemas.HandoverNotFound:
		line("a person was offered: this turn and the one before it found nothing")
	}
	if len(t.Without) > 0 {
		line("asked without %s", strings.Join(t.Without, ", "))
	}
	if t.Error != "" {
		line("error: %s", t.Error)
	}
	if t.Done != nil {
		line("used %s", usageText(t.Done.Usage))
	}
	printTools(line, t.Tools, all)
	printSkills(line, t)
	for i, p := range t.Passes {
		line("\nmodel call %d: %s pass, %d tools offered, %.0f ms, first output after %.0f ms, %s", i+1, p.Pass, p.Offered, p.TookMS, p.FirstMS, p.Finish)
		line("%s of %s: %s", cmp.Or(p.Model, "no model"), cmp.Or(p.Provider, t.Provider), usageText(p.Usage))
		for _, part := range []struct{ name, text string }{{"prompt", p.Prompt}, {"note", p.Note}, {"output", p.Output}, {"error", p.Error}} {
			if part.text != "" {
				line("--- %s ---\n%s", part.name, part.text)
			}
		}
	}
	_, err := io.WriteString(w, terminal.Clean(b.String()))
	return err
}

// usageText describes the tokens of a usage, and what they cost if that is known.
func usageText(u schemas.Usage) string {
	text := fmt.Sprintf("%d tokens in, %d out", u.PromptTokens, u.CompletionTokens)
	if u.CachedTokens > 0 {
		text += fmt.Sprintf(", %d of the input from a cache", u.CachedTokens)
	}
	if u.Cost > 0 {
		text += ", cost " + u.Cost.String()
	}
	return text
}

// printUntraced prints the stored messages of a turn that has no trace.
func printUntraced(line func(string, ...any), t answer.Trace) {
	line("assistant %s, conversation %s, begun %s", t.Assistant, t.ConversationID, t.Started.Local().Format(time.DateTime))
	line("it has no trace: one is written when a turn ends, and kept 7 days; telemetry.trace: off writes none")
	if t.Question != "" {
		line("question: %s", terminal.Preview(t.Question))
	}
	switch {
	case t.Answer != "":
		line("answer, as far as it is stored: %s", terminal.Preview(t.Answer))
	case t.Status == schemas.StatusInterrupted:
		line("nothing of its answer is stored")
	}
}

// printSkills prints the skills that the prompt named, and those that were read.
func printSkills(line func(string, ...any), t answer.Trace) {
	if t.Skills == nil {
		return
	}
	line("\nskills: %s", strings.Join(t.Skills.Shown, ", "))
	if t.Skills.More > 0 {
		line("  and %d more, which %s finds", t.Skills.More, schemas.FindTools)
	}
	for _, tool := range t.Tools {
		for _, c := range tool.Calls {
			if tool.Name == schemas.ReadSkill {
				line("  read %s: %s", c.Arguments, c.Status)
			}
		}
	}
}

// mostNamed is how many names of a line are printed unless all are wanted.
const mostNamed = 6

// printTools prints the tools of a turn: the called ones with their calls, then how many were only offered,
// then the others by the reason why they were not. all lists every name.
func printTools(line func(string, ...any), tools []answer.ToolTrace, all bool) {
	if len(tools) == 0 {
		line("\ntools: none was offered or withheld: the assistant has no tools in this turn")
		return
	}
	var offered []answer.ToolTrace
	var reasons []string
	withheld := map[string][]string{}
	line("\ncalled:")
	called := 0
	for _, tool := range tools {
		switch {
		case len(tool.Calls) > 0:
			called++
			printCalls(line, tool)
		case tool.Offered:
			offered = append(offered, tool)
		default:
			if withheld[tool.Reason] == nil {
				reasons = append(reasons, tool.Reason)
			}
			withheld[tool.Reason] = append(withheld[tool.Reason], tool.Name)
		}
	}
	if called == 0 {
		line("  no tool")
	}
	switch {
	case len(offered) > 0 && all:
		line("\noffered, and the model did not call them:")
		for _, tool := range offered {
			line("  %s", tool.Name)
			printShown(line, tool)
		}
	case len(offered) > 0:
		line("\noffered, and the model did not call them: %d; --all lists them", len(offered))
	}
	if len(reasons) == 0 {
		return
	}
	line("\nnot offered:")
	for _, reason := range reasons {
		names := withheld[reason]
		more := ""
		if n := len(names) - mostNamed; n > 0 && !all {
			names, more = names[:mostNamed], fmt.Sprintf(" and %d more; --all lists them", n)
		}
		line("  %d: %s", len(withheld[reason]), reason)
		line("    %s%s", strings.Join(names, ", "), more)
	}
}

// printCalls prints a called tool.
func printCalls(line func(string, ...any), tool answer.ToolTrace) {
	line("  %s: %s", tool.Name, tool.Reason)
	printShown(line, tool)
	for _, c := range tool.Calls {
		decided := ""
		if c.DecidedBy != "" {
			decided = fmt.Sprintf(", decided by %s after %.1f s", c.DecidedBy, c.WaitedMS/1000)
		}
		line("    %s %s -> %s in %.1f ms%s: %s", c.ID, c.Arguments, c.Status, c.TookMS, decided, terminal.Preview(c.Output))
	}
}

func printShown(line func(string, ...any), tool answer.ToolTrace) {
	if tool.Shown != "" {
		line("    shown for lack of room: %s", tool.Shown)
	}
}

func newTurnsMarkCmd(a *app) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:   "mark ID up|down|none [--note TEXT]",
		Short: "Mark an answer, for molar turns list and molar eval import --marked",
		Long: `Mark an answer up or down, with a note; the next mark replaces it, none removes it.
The id of a turn is in the answer's header X-Turn-Id, after chatcmpl- in the answer's id,
and in the output of molar chat --output-format json.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			said := schemas.Feedback{TurnID: strings.TrimPrefix(args[0], "chatcmpl-"), Mark: args[1], Note: strings.TrimSpace(note)}
			switch {
			case said.Mark == "none":
				said.Mark = ""
			case said.Mark != schemas.MarkUp && said.Mark != schemas.MarkDown:
				return cli.Usage(fmt.Errorf("mark %q: choose up, down or none", args[1]))
			case utf8.RuneCountInString(said.Note) > schemas.MaxNote:
				return cli.Usage(fmt.Errorf("--note: at most %d characters", schemas.MaxNote))
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			stored, err := serve.Mark(cmd.Context(), a.CLI, cfg, said)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "turn %s: marked %s\n", terminal.Clean(stored.TurnID), args[1])
			return err
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "why the answer is bad or good")
	return cmd
}

func newTurnsListCmd(a *app) *cobra.Command {
	var f run.TurnFlags
	var format, outcome string
	var gaps bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the marked answers, turns by how they went, or questions that nobody could answer, newest first",
		Long: `List the marked answers, turns by how they went, or questions that nobody could answer, newest
first. --refused, --no-result and --asked-twice list the turns that any of them, or --marked,
selects, as molar eval import does. With --outcome, --marked lists those that have both.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			want, err := f.Selected(time.Now())
			switch selects := want.Refused || want.NoResult || want.AskedTwice; {
			case err != nil:
				return err
			case selects && (outcome != "" || gaps):
				return cli.Usage(errors.New("--outcome and --gaps make other lists than --refused, --no-result and --asked-twice"))
			case selects:
				return a.listSelected(cmd.Context(), want, format)
			case outcome != "" || gaps:
				return a.listTurns(cmd.Context(), want, outcome, gaps, format)
			}
			return a.listMarks(cmd.Context(), want, format)
		},
	}
	flags := cmd.Flags()
	addTurnFlags(flags, &f)
	flags.StringVar(&outcome, "outcome", "", "turns that ended as `refused`, failed, interrupted, not_found, unapproved, emergency or done; any for all")
	flags.BoolVar(&gaps, "gaps", false, "questions that nobody could answer, grouped by their words")
	flags.StringVar(&format, "output-format", cli.Text, "text or json")
	return cmd
}

// addTurnFlags adds the flags that select turns.
func addTurnFlags(flags *pflag.FlagSet, f *run.TurnFlags) {
	flags.StringVar(&f.Marked, "marked", "", "turns whose answers were marked `up or down`")
	flags.BoolVar(&f.Refused, "refused", false, "turns whose question the guardrail refused")
	flags.BoolVar(&f.NoResult, "no-result", false, "turns that looked something up and found nothing")
	flags.BoolVar(&f.AskedTwice, "asked-twice", false, "turns after which the same person asked the same again")
	flags.StringVar(&f.Ago, "since", "", "only turns of, or marks made in, this `time`, such as 7d")
	flags.StringVar(&f.Assistant, "assistant", "", "only turns of this assistant, by `name`")
	flags.IntVar(&f.Limit, "limit", 0, "at most this `number` of turns, the newest")
}
