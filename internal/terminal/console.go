package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Control sequences of XTerm that a [Console] switches.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Control sequences of the kitty keyboard protocol: whether the terminal has it, and to make it report
// keys that are otherwise alike, such as Enter and Shift-Enter, and where they stand on a Latin keyboard.
const (
	reportAsked = "\x1b[?u"
	reportOn    = "\x1b[>5u"
	reportOff   = "\x1b[<u"
)

// A Console is a terminal in raw mode: every key arrives at once, and lines end in "\r\n".
// Close restores the terminal.
type Console struct {
	in, out  *os.File
	was      *term.State
	w        io.Writer
	reported bool
}

// OpenConsole puts the terminal into raw mode. Without colour no styles are written.
func OpenConsole(in, out *os.File, colour bool) (*Console, error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	c := &Console{in: in, out: out, was: was, w: out}
	if !colour {
		c.w = Plain(out)
	}
	if _, err := io.WriteString(out, pasteOn+reportAsked); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Read reads what is typed.
func (c *Console) Read(p []byte) (int, error) { return c.in.Read(p) }

// Write writes to the terminal unchanged.
func (c *Console) Write(p []byte) (int, error) { return c.w.Write(p) }

// Size returns the current size; 80 by 24 if unknown.
func (c *Console) Size() (columns, rows int) { return Size(c.out) }

// Size returns the current size of a terminal; 80 by 24 if unknown.
func Size(out *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(out.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return columns, rows
}

// Report makes a terminal that sent [KeyReported] report Shift-Enter.
func (c *Console) Report() error {
	if c.reported {
		return nil
	}
	c.reported = true
	_, err := io.WriteString(c.out, reportOn)
	return err
}

// Close leaves raw mode.
func (c *Console) Close() error {
	off := pasteOff
	if c.reported {
		off += reportOff
	}
	_, err := io.WriteString(c.out, off)
	return errors.Join(err, term.Restore(int(c.in.Fd()), c.was))
}

// Plain returns a writer that leaves out styles (SGR) and links (OSC 8). Each write must hold whole
// sequences.
func Plain(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(text []byte) (int, error) {
	kept := make([]byte, 0, len(text))
	for rest := text; len(rest) > 0; {
		at := bytes.IndexByte(rest, escape)
		if at < 0 || at+1 == len(rest) {
			kept = append(kept, rest...)
			break
		}
		if bytes.HasPrefix(rest[at:], []byte(linkBegin)) {
			kept = append(kept, rest[:at]...)
			_, rest, _ = bytes.Cut(rest[at+len(linkBegin):], []byte(linkEnd))
			continue
		}
		end := at + 2
		for end < len(rest) && (rest[end] == ';' || rest[end] >= '0' && rest[end] <= '9') {
			end++
		}
		if end < len(rest) && rest[end] == 'm' {
			kept = append(kept, rest[:at]...)
		} else {
			kept = append(kept, rest[:min(end+1, len(rest))]...)
		}
		rest = rest[min(end+1, len(rest)):]
	}
	if _, err := p.w.Write(kept); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Dim returns the text dimmed. The text must be clean.
func Dim(text string) string { return dim.on(text) }

// Bold returns the text in bold. The text must be clean.
func Bold(text string) string { return bold.on(text) }

// Alarm returns the text as an alarm. The text must be clean.
func Alarm(text string) string { return alarm.on(text) }

// Wrap breaks a clean line into rows of less than columns columns, all indented like the line.
func Wrap(line string, columns int) []string {
	text := strings.TrimLeft(line, " ")
	indent := line[:min(len(line)-len(text), max(columns/2, 0))]
	return prefixed(wrap([]span{{text: text}}, max(columns-1-len(indent), 1)), indent, indent)
}
