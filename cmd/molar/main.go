// Command molar is the host itself: it serves assistants, answers on the command line, and
// manages its settings. This package connects the other packages to the command line, with
// one file for each subcommand.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(execute(signals(), os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}

// signals returns a context that the first SIGINT or SIGTERM cancels. From then on
// the signals have their usual effect, so a second one ends the program at once.
func signals() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}
