package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"molar/agent"
	"molar/internal/cli"
)

// pipeWait is how long the first byte of a pipe may take if there is a prompt: some programs
// hold a pipe open that never gets data.
const pipeWait = 5 * time.Second

// A Question is a person's question, with its attachments.
type Question struct {
	Prompt string
	// Pasted are the texts in the prompt that the person pasted.
	Pasted   []string
	Attached []agent.Attachment
	// Parent is the turn to continue after; nil means the newest.
	Parent *string
	// Without are tools that the question is asked without, beside those of the flags.
	Without []string
}

// read makes a question of the arguments and the piped input. A "-" before the prompt, or
// alone, waits for standard input. It fails with ctx's error if that ends.
func read(ctx context.Context, a *cli.CLI, args []string) (Question, error) {
	dash := len(args) > 0 && args[0] == "-"
	if dash {
		args = args[1:]
	}
	prompt := strings.Join(args, " ")
	piped, err := piped(ctx, a, dash, prompt != "")
	if err != nil {
		return Question{}, err
	}
	switch {
	case strings.TrimSpace(prompt) == "" && strings.TrimSpace(piped) == "":
		return Question{}, errors.New(`the prompt is missing: molar chat "…", or molar chat - to read it from standard input; in a terminal, molar chat alone begins a session`)
	case strings.TrimSpace(prompt) == "":
		return Question{Prompt: piped, Pasted: []string{piped}}, nil
	case strings.TrimSpace(piped) == "":
		return Question{Prompt: prompt}, nil
	}
	file, err := attachment("standard input", []byte(piped))
	return Question{Prompt: prompt, Attached: []agent.Attachment{file}}, err
}

// piped returns the content of standard input, if it is not a terminal. With a prompt, only a
// pipe or a file is read, and a silent pipe is given up, unless it was requested or a person
// sits at a terminal, who can judge whether it will ever have data.
func piped(ctx context.Context, a *cli.CLI, asked, withPrompt bool) (string, error) {
	if !asked && (cli.IsTerminal(a.Stdin) || withPrompt && !holdsData(a.Stdin)) {
		return "", nil
	}
	began := make(chan struct{})
	read := make(chan struct{})
	var text string
	var err error
	go func() { // ends with the input, or with the program: a read cannot be cancelled
		defer close(read)
		text, err = cli.ReadAll(&firstByte{r: a.Stdin, began: began})
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
			if cli.IsTerminal(a.Stderr) {
				late = nil
				_, _ = fmt.Fprintln(a.Stderr, "waiting for the pipe; Ctrl-C stops, and </dev/null leaves it out")
				continue
			}
			_, _ = fmt.Fprintf(a.Stderr, "warning: nothing came through the pipe within %s, so it is left out; to wait for it: molar chat - PROMPT\n", pipeWait)
			return "", nil
		}
	}
}

// holdsData reports whether an input is meant to be read: a pipe or a file, not a device or a
// socket.
func holdsData(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// A firstByte closes began at the first byte read.
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
