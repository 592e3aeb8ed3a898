package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/cli"
)

// A completer proposes completions of a word of the command line.
type completer = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// words completes to the words that find returns.
func words(find func(ctx context.Context) []string) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		return cli.Having(start, slices.Clone(find(ctx))), cobra.ShellCompDirectiveNoFileComp
	}
}

// fixed completes to the given words.
func fixed(all ...string) completer {
	return words(func(context.Context) []string { return all })
}

// first completes only the first argument.
func first(complete completer) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, start)
	}
}

// completeFlag completes the value of a flag. It ignores the error, which only an unknown flag causes.
func completeFlag(cmd *cobra.Command, flag string, complete completer) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
