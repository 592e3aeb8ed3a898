package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colour reports whether output to the stream may be styled (no-color.org).
func (c *CLI) Colour(stream any) bool {
	none, _ := c.Env("NO_COLOR")
	return none == "" && IsTerminal(stream) && !c.Dumb()
}

// Dumb reports whether the terminal cannot move its cursor.
func (c *CLI) Dumb() bool {
	kind, _ := c.Env("TERM")
	return kind == "dumb"
}

// ReadLine reads a line, or returns an error when ctx ends. The read itself then stays blocked
// until the person types, or the program ends.
func ReadLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := in.ReadString('\n')
		read <- result{strings.TrimSpace(text), err}
	}()
	select {
	case r := <-read:
		if r.text == "" {
			return "", r.err
		}
		return r.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// ReadHidden reads a line from a terminal without echo, or returns an error when ctx ends.
func ReadHidden(ctx context.Context, keyboard *os.File) (string, error) {
	fd := int(keyboard.Fd())
	shown, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		return string(r.text), r.err
	case <-ctx.Done():
		_ = term.Restore(fd, shown)
		return "", context.Cause(ctx)
	}
}

// maxPrompt is the size of the largest prompt on standard input, in bytes.
const maxPrompt = 4 << 20

// ReadAll reads standard input to its end; more than 4 MiB is an error.
func ReadAll(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxPrompt {
		return "", fmt.Errorf("the text on standard input is longer than %d MiB; send less", maxPrompt>>20)
	}
	return string(data), nil
}
