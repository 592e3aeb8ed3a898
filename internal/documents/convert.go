package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"molar/internal/text"
)

const (
	// place is the argument that stands for the document's path.
	place = "{}"
	// largestOutput bounds what a program prints, in bytes.
	largestOutput = 20 << 20
	// exitWait is how long the pipes of a program that has ended may stay open.
	exitWait = 2 * time.Second
	// longestFault bounds the message of a program, in bytes.
	longestFault = 200
)

// ErrBusy is the error for a document whose program could not be started, or was ended by somebody else: the
// document may be read another time.
var ErrBusy = errors.New("it cannot be converted at present")

// missing returns how to get a program that is not there; nil if it is.
func missing(kind, program string) error {
	if _, err := exec.LookPath(program); err == nil {
		return nil
	}
	if program == "pdftotext" {
		return errors.New("no program reads PDF: install pdftotext (apt-get install poppler-utils, or brew install poppler)")
	}
	return fmt.Errorf("no program reads .%s: %q in convert is not found on this machine", kind, program)
}

// converted reads what a program prints of a document.
func (r *Reader) converted(ctx context.Context, kind string, command []string, data []byte, b *builder) error {
	isPDF := kind == "pdf"
	if isPDF && !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return errors.New("its content is not what its name says: it is no PDF")
	}
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer func() { <-r.slots }()
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	// A copy with a name of our own: no link and no change of the file in the meantime can lead the program
	// elsewhere, and no name is taken for an option.
	dir, err := os.MkdirTemp("", "molar-document-*")
	if err != nil {
		return fmt.Errorf("%w: %w; set TMPDIR to a folder that is writable", ErrBusy, bare(err))
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "document."+kind)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("%w: %w; set TMPDIR to a folder that is writable", ErrBusy, bare(err))
	}
	printed, err := run(ctx, command, dir, file)
	if err != nil {
		return err
	}
	return readPages(string(printed), isPDF, b)
}

// enter waits for a slot.
func (r *Reader) enter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: others took all the time", ErrBusy)
	}
}

// bare returns the reason of an error of a file, without its path.
func bare(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// run returns what a program prints. The program has nothing of the host's environment but the path, and
// ends with all that it started when ctx ends.
func run(ctx context.Context, command []string, dir, file string) ([]byte, error) {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not found", ErrBusy, command[0])
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	args := make([]string, 0, len(command))
	for _, arg := range command[1:] {
		args = append(args, strings.ReplaceAll(arg, place, file))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, faults := &bounded{most: largestOutput, full: cancel}, &bounded{most: 1 << 10, full: func() {}}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the operator names it
	cmd.Env = environment(cmd.Environ())
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = out, faults
	cmd.WaitDelay = exitWait
	setGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	runtime.LockOSThread() // on Linux a program dies with the thread that began it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBusy, command[0], bare(err))
	}
	limitMemory(cmd.Process)
	err = cmd.Wait()
	_ = killGroup(cmd.Process) // what it started and left behind
	name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	switch {
	case out.over:
		return nil, fmt.Errorf("%s prints more than %d MiB of text", name, largestOutput>>20)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case wasEnded(cmd.ProcessState):
		return nil, fmt.Errorf("%w: %s: %w", ErrBusy, name, err)
	case err != nil:
		said := strings.ReplaceAll(faults.kept.String(), file, "the file")
		if strings.Contains(strings.ToLower(said), "incorrect password") {
			return nil, errProtected
		}
		first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		if first == "" {
			first = err.Error()
		}
		return nil, fmt.Errorf("it is damaged, or %s cannot read it: %s", name, text.Shorten(clean(first), longestFault))
	}
	return out.kept.Bytes(), nil
}

// A bounded buffer keeps the first bytes of what is written, and calls full when there are more.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom would take all
	most int
	full func()
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.most {
		b.over = true
		b.full()
	}
	_, _ = b.kept.Write(p[:min(len(p), b.most-b.kept.Len())])
	return len(p), nil
}

// environment returns the environment of a program, out of that of the host: where programs are, and that text is UTF-8.
func environment(host []string) []string {
	env := []string{"LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
	for _, one := range host {
		switch name, _, _ := strings.Cut(one, "="); strings.ToUpper(name) {
		case "PATH", "SYSTEMROOT": // Windows starts nothing without the second
			env = append(env, one)
		}
	}
	return env
}

// clean returns a text without characters that are not shown, but for tabs, which become spaces, and line
// ends.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t', r == '\u00a0', r == '\u2007', r == '\u202f', r == '\v':
			return ' '
		case r < ' ', r == 0x7f, r == '\u00ad', r == '\ufeff', r == '\u200b', r == '\u200e', r == '\u200f', r == '\u2060', r >= '\u202a' && r <= '\u202e':
			return -1
		}
		return r
	}, s)
}
