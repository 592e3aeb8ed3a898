package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"molar/agent"
	"molar/internal/terminal"
)

// Bounds of what is read from standard input.
const (
	// maxPrompt is the most that is read, in bytes.
	maxPrompt = 4 << 20
	// pipeWait is how long the first byte of a pipe beside a prompt may take: some
	// programs hold a pipe open that nobody writes to.
	pipeWait = 5 * time.Second
)

// A question is what a person asks, with what stands beside it.
type question struct {
	prompt   string
	attached []agent.Attachment
}

// colour says whether output to the stream may be styled (no-color.org).
func (a *app) colour(stream any) bool {
	none, _ := a.env("NO_COLOR")
	return none == "" && isTerminal(stream) && !a.dumb()
}

// dumb says whether the terminal cannot move its cursor.
func (a *app) dumb() bool {
	kind, _ := a.env("TERM")
	return kind == "dumb"
}

// newChatRenderer renders for a person when the answer goes to a terminal.
func (a *app) newChatRenderer(format string) *renderer {
	out := newRenderer(format, a.stdout, a.stderr)
	if f, ok := a.stdout.(*os.File); ok && format == formatText && a.colour(f) {
		out.styled = terminal.NewMarkdown(f, func() (int, int) { return terminal.Size(f) })
	}
	return out
}

// readQuestion makes a question of the arguments and of what is piped in. A "-" before
// the prompt, or alone, waits for standard input. It fails as ctx does when that ends.
func (a *app) readQuestion(ctx context.Context, args []string) (question, error) {
	dash := len(args) > 0 && args[0] == "-"
	if dash {
		args = args[1:]
	}
	prompt := strings.Join(args, " ")
	piped, err := a.piped(ctx, dash, prompt != "")
	if err != nil {
		return question{}, err
	}
	switch {
	case strings.TrimSpace(prompt) == "" && strings.TrimSpace(piped) == "":
		return question{}, errors.New(`the prompt is missing: molar chat "…", or molar chat - to read it from standard input; in a terminal, molar chat alone begins a session`)
	case strings.TrimSpace(prompt) == "":
		return question{prompt: piped}, nil
	case strings.TrimSpace(piped) == "":
		return question{prompt: prompt}, nil
	}
	return question{prompt: prompt, attached: []agent.Attachment{{Name: "standard input", Text: strings.ToValidUTF8(piped, "\uFFFD")}}}, nil
}

// piped is what standard input holds, if it is no terminal. With a prompt, only a pipe
// or a file is read, and a silent pipe is given up, unless it was asked for or somebody
// sits at a terminal, who can tell whether it will ever say something.
func (a *app) piped(ctx context.Context, asked, withPrompt bool) (string, error) {
	if !asked && (isTerminal(a.stdin) || withPrompt && !holdsData(a.stdin)) {
		return "", nil
	}
	began := make(chan struct{})
	read := make(chan struct{})
	var text string
	var err error
	go func() { // ends with the input, or with the program: a read cannot be broken off
		defer close(read)
		text, err = readBounded(&firstByte{r: a.stdin, began: began})
	}()
	var late <-chan time.Time
	if withPrompt && !asked {
		timer := time.NewTimer(pipeWait)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case <-read:
			return text, err
		case <-ctx.Done():
			return "", ctx.Err()
		case <-began:
			began, late = nil, nil
		case <-late:
			if isTerminal(a.stderr) {
				late = nil
				_, _ = fmt.Fprintln(a.stderr, "waiting for the pipe; Ctrl-C stops, and </dev/null leaves it out")
				continue
			}
			_, _ = fmt.Fprintf(a.stderr, "warning: nothing came through the pipe within %s, so it is left out; to wait for it: molar chat - PROMPT\n", pipeWait)
			return "", nil
		}
	}
}

// holdsData says whether an input that is no terminal was meant to be read: a pipe or
// a file, not a device or a socket.
func holdsData(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

func readBounded(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxPrompt {
		return "", fmt.Errorf("the text on standard input is longer than %d MiB; send less", maxPrompt>>20)
	}
	return string(data), nil
}

// A firstByte closes began once something was read.
type firstByte struct {
	r     io.Reader
	began chan struct{}
}

func (f *firstByte) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if n > 0 && f.began != nil {
		close(f.began)
		f.began = nil
	}
	return n, err
}

// ignoreBrokenPipe makes a reader that went away an error of the write, so that the
// turn is ended and saved as interrupted like any other. Unlike an ignored signal, one
// with a listener is not handed down to the servers.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
