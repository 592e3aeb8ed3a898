// Package lastwords keeps what a program writes beside its messages, and finds the line in it that tells
// why the program failed.
package lastwords

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
)

const (
	// headSize and tailSize bound what is kept of the beginning and of the end, in bytes.
	headSize, tailSize = 32 << 10, 32 << 10
	// lineCost is what keeping a line takes beside its text.
	lineCost = 32
	// readLine bounds how much of a line is read, keptLine how much of it is kept, shownLine how much
	// is shown, and indent the white space in front of it, in bytes: a minified source line must not
	// displace the error below it.
	readLine, keptLine, shownLine, indent = 8 << 10, 1 << 10, 400, 64
)

// A Record keeps the first and the last lines that are written to it, and shows them without
// control characters and secrets. [NewRecord] returns one.
type Record struct {
	secrets *strings.Replacer
	longest int // secret

	mu       sync.Mutex
	head     []kept
	tail     []kept
	headSize int
	tailSize int
	dropped  int    // lines between head and tail
	line     []byte // the line that is being written
	cut      bool   // it was longer than readLine
}

// A kept line, and when it ended.
type kept struct {
	text string
	at   time.Time
}

// NewRecord returns a record that masks the secrets. Of a secret with several lines, it masks each.
func NewRecord(secrets []string) *Record {
	r := &Record{}
	var pairs []string
	for _, secret := range secrets {
		for _, part := range append([]string{secret}, strings.Split(secret, "\n")...) {
			if part = strings.TrimSpace(part); len(part) >= 4 {
				pairs = append(pairs, part, "***")
				r.longest = max(r.longest, len(part))
			}
		}
	}
	r.secrets = strings.NewReplacer(pairs...)
	return r
}

// Write implements [io.Writer]. A carriage return ends a line too: progress bars use it.
func (r *Record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\n\r")
		if end < 0 {
			r.extend(rest)
			break
		}
		r.extend(rest[:end])
		r.endLine()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// extend adds to the line that is being written.
func (r *Record) extend(p []byte) {
	if blank := len(r.line); blank <= indent && len(bytes.TrimSpace(r.line)) == 0 {
		if spaces := len(p) - len(bytes.TrimLeft(p, " \t")); blank+spaces > indent {
			p = p[spaces-(indent-blank):]
		}
	}
	room := readLine - len(r.line)
	if len(p) > room {
		p, r.cut = p[:room], true
	}
	r.line = append(r.line, p...)
}

// endLine keeps the line unless it is blank.
func (r *Record) endLine() {
	if content := r.current(); content != "" {
		r.keep(kept{content, time.Now()})
	}
	r.line, r.cut = r.line[:0], false
}

// current returns what is to be kept of the line that is being written.
func (r *Record) current() string {
	content := string(bytes.TrimRight(r.line, " \t"))
	if len(content) > keptLine { // masked before it is cut, as a part of a secret cannot be recognised
		content = r.secrets.Replace(content)
		if r.cut {
			content = content[:max(0, len(content)-r.longest)]
		}
		content = content[:min(len(content), keptLine)]
	}
	if strings.TrimSpace(content) == "" {
		return ""
	}
	return content
}

func (r *Record) keep(line kept) {
	size := len(line.text) + lineCost
	if r.tail == nil && r.headSize+size <= headSize {
		r.head, r.headSize = append(r.head, line), r.headSize+size
		return
	}
	r.tail, r.tailSize = append(r.tail, line), r.tailSize+size
	for r.tailSize > tailSize {
		r.tailSize -= len(r.tail[0].text) + lineCost
		r.tail[0] = kept{}
		r.tail, r.dropped = r.tail[1:], r.dropped+1
	}
}

// Lines returns all lines that were kept, and between them a mark if there were more.
func (r *Record) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.shown(r.head)
	if r.dropped > 0 {
		lines = append(lines, fmt.Sprintf("[… %d more lines …]", r.dropped))
	}
	return append(lines, r.shown(slices.Concat(r.tail, r.unfinished()))...)
}

// Last returns the last lines, at most n.
func (r *Record) Last(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.lastKept(n)
	return r.shown(last)
}

// Since returns the lines that ended at the time or later. Those that left the record are missing.
func (r *Record) Since(from time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.lastKept(len(r.head) + len(r.tail) + 1)
	for len(all) > 0 && all[0].at.Before(from) {
		all = all[1:]
	}
	return r.shown(all)
}

// lastKept returns the last n lines.
func (r *Record) lastKept(n int) []kept {
	end := slices.Concat(r.tail[max(0, len(r.tail)-n):], r.unfinished())
	if missing := n - len(end); missing > 0 {
		end = slices.Concat(r.head[max(0, len(r.head)-missing):], end)
	}
	return end[max(0, len(end)-n):]
}

// unfinished returns the line that is being written, if there is one.
func (r *Record) unfinished() []kept {
	if content := r.current(); content != "" {
		return []kept{{content, time.Now()}}
	}
	return nil
}

// shown returns lines for display.
func (r *Record) shown(lines []kept) []string {
	var shown []string
	for _, line := range lines {
		clean := text.Visible(withoutEscapes(strings.ToValidUTF8(line.text, "?")))
		clean = strings.TrimRight(r.secrets.Replace(clean), " \t")
		if strings.TrimSpace(clean) != "" {
			shown = append(shown, text.Shorten(clean, shownLine))
		}
	}
	return shown
}

// withoutEscapes drops the sequences with which a terminal is coloured and titled.
func withoutEscapes(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = after[escapeEnd(after):]
	}
}

// escapeEnd returns where the sequence ends that an escape character began.
func escapeEnd(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '[': // up to a letter
		for i := 1; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
	case ']': // up to a bell, or the escape of the string's end
		if i := strings.IndexAny(s, "\a\x1b"); i >= 0 {
			if s[i] == '\a' {
				return i + 1
			}
			return i
		}
	default:
		if s[0] >= 0x30 && s[0] < 0x7f {
			return 1
		}
		return 0
	}
	return len(s)
}
