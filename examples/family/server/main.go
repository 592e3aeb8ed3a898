// Command server is the family example as a program of its own, over stdio: what molar example
// family is within molar.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"molar/examples/family"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := family.Serve(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "family server:", err)
		os.Exit(1)
	}
}
