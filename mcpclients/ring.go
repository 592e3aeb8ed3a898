package mcpclients

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
)

const (
	// ringSize is how much of a server's standard error is kept.
	ringSize = 64 << 10
	// tailLines and tailLine bound what is shown of it.
	tailLines = 20
	tailLine  = 400
)

// A ring keeps the last bytes written to it. Values that look secret by the name
// they were configured under are masked when it is read.
type ring struct {
	mu      sync.Mutex
	buf     []byte
	secrets *strings.Replacer
}

// newRing masks the secret values of env.
func newRing(env map[string]string) *ring {
	var pairs []string
	for name, value := range env {
		if len(value) >= 4 && secretName(name) {
			pairs = append(pairs, value, "***")
		}
	}
	return &ring{secrets: strings.NewReplacer(pairs...)}
}

// secretName reports whether a variable of this name is likely to hold a secret.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "DSN"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p[max(0, len(p)-ringSize):]...)
	if extra := len(r.buf) - ringSize; extra > 0 {
		r.buf = append(r.buf[:0], r.buf[extra:]...)
	}
	return len(p), nil
}

// tail returns the last lines, without control characters.
func (r *ring) tail() []string {
	r.mu.Lock()
	text := string(bytes.TrimSpace(r.buf))
	r.mu.Unlock()
	if text == "" {
		return nil
	}
	lines := strings.Split(r.secrets.Replace(strings.ToValidUTF8(text, "?")), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = cutText(strings.TrimSpace(visible(line)), tailLine)
	}
	return lines
}

// visible drops characters that a terminal or a reader would not show: controls
// but tab and line end, format characters, and the supplementary variation
// selectors, all of which can hide text from a person.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf), r >= 0xE0100 && r <= 0xE01EF:
			return -1
		}
		return r
	}, s)
}
