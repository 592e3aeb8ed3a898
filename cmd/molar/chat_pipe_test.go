package main

import (
	"bytes"
	"context"
	"io"
	"testing"

	"molar/internal/cli"
)

// TestChat_InterruptedPipe: Ctrl-C while chat waits for the pipe is not a usage error.
func TestChat_InterruptedPipe(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-"}, {"-", "Summarise"}, {"Summarise"}} {
		in, out := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		go func() {
			_, _ = out.Write([]byte("a first line\n")) // it is read: the wait has begun
			stop()
		}()
		code := execute(ctx, append([]string{"chat", "--config", plainConfig(t, "")}, args...), lookup(homeEnv(t, nil)), in, io.Discard, &stderr)
		_ = out.Close()
		if code != cli.Interrupted || stderr.String() != "molar: interrupted\n" {
			t.Errorf("%q: exit code %d, %q", args, code, &stderr)
		}
	}
}
