package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sumsFile is the path, relative to the root of the module, of a file with a line for each table: its
// name, the sum of the files it was trained from, and the sum of its own files. The sums are the same
// on every machine.
const sumsFile = "agent/subject/learned.sums"

const sumsHead = `# Each table, the sum of what it was learned from, and its own: "go generate ./agent/subject" writes this.
`

// sums are the two sums of a table.
type sums struct{ from, files string }

// holds returns an error if a sum of the table differs from the recorded one.
func (t table) holds(module fs.FS) error {
	noted, err := readSums(module)
	if err != nil {
		return err
	}
	now, err := t.sums(module)
	switch {
	case err != nil:
		return err
	case now.from != noted[t.name].from:
		return fmt.Errorf("what the table %q is learned from has changed", t.name)
	case now.files != noted[t.name].files:
		return fmt.Errorf("the table %q is not what was learned", t.name)
	}
	return nil
}

// note writes the sums of the table into the file, and keeps the lines of the other tables.
func (t table) note(root string) error {
	noted, err := readSums(os.DirFS(root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now, err := t.sums(os.DirFS(root))
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(sumsHead)
	for _, other := range tables() {
		s := noted[other.name]
		if other.name == t.name {
			s = now
		}
		if s != (sums{}) {
			_, _ = fmt.Fprintf(&text, "%s %s %s\n", other.name, s.from, s.files)
		}
	}
	return os.WriteFile(filepath.Join(root, sumsFile), []byte(text.String()), 0o644)
}

func readSums(module fs.FS) (map[string]sums, error) {
	data, err := fs.ReadFile(module, sumsFile)
	if err != nil {
		return nil, err
	}
	noted := make(map[string]sums)
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			noted[fields[0]] = sums{from: fields[1], files: fields[2]}
		}
	}
	return noted, nil
}

func (t table) sums(module fs.FS) (s sums, err error) {
	if s.from, err = sumOf(module, t.from); err != nil {
		return s, err
	}
	s.files, err = sumOf(module, t.files)
	return s, err
}

// sumOf returns a SHA-256 over the paths and contents of the files that match the patterns, without tests. CRLF line
// ends count as LF.
func sumOf(module fs.FS, patterns []string) (string, error) {
	var paths []string
	for _, pattern := range patterns {
		found, err := fs.Glob(module, pattern)
		if err == nil && len(found) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return "", fmt.Errorf("find %q: %w", pattern, err)
		}
		paths = append(paths, found...)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	slices.Sort(paths)
	all := sha256.New()
	for _, path := range slices.Compact(paths) {
		data, err := fs.ReadFile(module, path)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(all, "%x %s\n", sha256.Sum256(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), path)
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}
