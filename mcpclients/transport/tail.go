package transport

import (
	"bytes"
	"strings"
	"sync"

	"molar/internal/text"
)

const (
	// ringSize is how many bytes of a server's standard error are kept.
	ringSize = 64 << 10
	// tailLines and tailLine bound how many lines are shown, and the bytes of each.
	tailLines = 20
	tailLine  = 400
)

// A Tail keeps the last bytes written to it. Lines masks values whose configured names look
// secret.
type tail struct {
	mu      sync.Mutex
	buf     []byte
	secrets *strings.Replacer
}

// newTail returns a tail that masks the secret values of env.
func newTail(env map[string]string) *tail {
	var pairs []string
	for name, value := range env {
		if len(value) >= 4 && secretName(name) {
			pairs = append(pairs, value, "***")
		}
	}
	return &tail{secrets: strings.NewReplacer(pairs...)}
}

// secretName reports whether a variable of this name probably holds a secret.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "DSN"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// Write implements [io.Writer]; it keeps the last ringSize bytes.
func (r *tail) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p[max(0, len(p)-ringSize):]...)
	if extra := len(r.buf) - ringSize; extra > 0 {
		r.buf = append(r.buf[:0], r.buf[extra:]...)
	}
	return len(p), nil
}

// Lines returns the last lines, without control characters.
func (r *tail) Lines() []string {
	r.mu.Lock()
	content := string(bytes.TrimSpace(r.buf))
	r.mu.Unlock()
	if content == "" {
		return nil
	}
	lines := strings.Split(r.secrets.Replace(strings.ToValidUTF8(content, "?")), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = text.Shorten(strings.TrimSpace(text.Visible(line)), tailLine)
	}
	return lines
}
