package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/cli"
)

// A Completer proposes how a word of the command line may go on.
type completer = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// words completes to those that a function finds.
func words(find func(ctx context.Context) []string) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		return cli.Having(start, slices.Clone(find(ctx))), cobra.ShellCompDirectiveNoFileComp
	}
}

// fixed completes to those that it is given.
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

// Flag completes the value of a flag. It ignores the error that only an unknown flag gives.
func Flag(cmd *cobra.Command, flag string, complete completer) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}
