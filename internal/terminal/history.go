package terminal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Limits of a [History].
const (
	// maxHistory is how many entries are kept.
	maxHistory = 1000
	// maxEntry is the longest text that is kept, in bytes.
	maxEntry = 16 << 10
)

// A History is the earlier inputs, oldest first. With a file it outlives the program: one JSON
// string a line, readable by its owner alone. Several programs may append to one file. It is
// not safe for concurrent use.
type History struct {
	path    string
	entries []string
}

// OpenHistory reads the file at path; a missing file is an empty history. An empty path keeps
// the history in memory. The error is why the file is unusable; the history then works without
// it.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if path == "" {
		return h, nil
	}
	if err := h.read(); err != nil {
		h.path = ""
		return h, fmt.Errorf("the input history will not be stored: %w", err)
	}
	return h, nil
}

func (h *History) read() error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	count := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8*maxEntry)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil {
			h.keep(text)
			count++
		}
	}
	if count > 2*maxHistory {
		return h.rewrite()
	}
	return nil
}

// rewrite leaves only the newest entries in the file.
func (h *History) rewrite() error {
	var data []byte
	for _, text := range h.entries {
		line, err := json.Marshal(text)
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	part := h.path + ".new"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	return os.Rename(part, h.path)
}

func (h *History) keep(text string) {
	h.entries = append(h.entries, Clean(text))
	if len(h.entries) > maxHistory {
		h.entries = slices.Delete(h.entries, 0, len(h.entries)-maxHistory)
	}
}

// Add appends a text, unless it is empty, too long or the same as the last one.
func (h *History) Add(text string) error {
	if text == "" || len(text) > maxEntry || len(h.entries) > 0 && h.Last(1) == text {
		return nil
	}
	h.keep(text)
	if h.path == "" {
		return nil
	}
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // one write, so that two programs do not mix their lines
	return errors.Join(err, f.Close())
}

// Len returns the number of entries.
func (h *History) Len() int { return len(h.entries) }

// Last returns the n-th newest entry, counted from 1.
func (h *History) Last(n int) string { return h.entries[len(h.entries)-n] }
