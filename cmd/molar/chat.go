package main

import (
	"errors"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/session"
	"molar/providers"
)

const chatHelp = `Answer one question, or start a session: in a terminal, chat without a prompt is a session.

One question. The answer goes to standard output; notes on tools and warnings go to
standard error. Text from a pipe is context for the prompt; without a prompt, or with
"-" alone, it is the prompt. At a terminal @path in the prompt sends a file, as --file does
everywhere; a word that names no file stays a word. With a prompt and without a terminal, chat waits 5 s for
the first byte of a pipe; "-" before the prompt makes it wait without a limit.

A session. /help lists its commands; Tab completes commands, prompts of servers and
@server:uri, which puts a resource into the question. A line that ends in "\", or
Ctrl-J, continues in the next line. Ctrl-R searches earlier input, Ctrl-C stops an
answer, Ctrl-D ends the session.

Output formats: text; json, one object at the end; stream-json, one object a line for
each event. Both carry "version": 1.

Exit codes: 0 answered, 1 failed, 2 usage or config, 3 refused by the guardrail,
4 a tool needed approval (the answer is still printed and saved), 130 interrupted.`

func newChatCmd(a *app) *cobra.Command {
	var f session.Flags
	cmd := &cobra.Command{
		Use:   "chat [flags] [-] [PROMPT]",
		Short: "Answer one question on the command line, or talk in a terminal",
		Long:  chatHelp,
		Example: `  molar chat
  molar chat "What can you help me with?"
  git diff | molar chat --assistant general "Summarise this change"
  molar chat --continue "And what else?"
  molar chat --file photo.png "What does this show?"
  molar chat --mcp family="molar example family" --output-format json "Find the family Nguyen"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") && f.Resume == "" {
				return cli.Usage(errors.New("--resume= has no ID; molar chat --list shows them"))
			}
			return session.Start(cmd.Context(), a.CLI, f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Assistant, "assistant", "", "`name` of the assistant that answers")
	flags.StringVar(&f.Conversation, "conversation", "", "`id` of the conversation to continue, or of a new one")
	flags.StringVar(&f.Resume, "resume", "", "continue the stored conversation `ID`; without one, choose from a list")
	flags.Lookup("resume").NoOptDefVal = session.ResumeChoose
	flags.BoolVar(&f.GoOn, "continue", false, "continue the latest conversation")
	flags.BoolVar(&f.List, "list", false, "list the stored conversations")
	flags.StringVar(&f.Provider, "provider", "", "`name` of the provider: "+providers.List(config.ProviderNames(), "or")+", or a name in llm.providers")
	flags.StringVar(&f.Model, "model", "", "`name` of the model")
	flags.StringVar(&f.Format, "output-format", cli.Text, "text, json or stream-json")
	flags.StringArrayVar(&f.MCP, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.StringArrayVar(&f.Files, "file", nil, "send this `file` with the question: an image, a sound, a PDF or a text; may be repeated")
	flags.BoolVar(&f.Yes, "yes", false, "approve every tool call without asking")
	flags.BoolVar(&f.NoTools, "no-tools", false, "offer no tools to the model")
	flags.StringArrayVar(&f.Without, "without", nil, "leave out this `tool`, by its name or a glob such as files__*; may be repeated")
	flags.IntVar(&f.MaxRounds, "max-rounds", 0, "largest `number` of rounds of tool calls")
	flags.DurationVar(&f.Timeout, "timeout", 0, "give up on an answer after this `duration`, such as 90s")
	completeChat(a, cmd)
	return cmd
}
