package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/internal/config"
	"molar/schemas"
)

// A SecretsFile adds secrets to the variables file of a config file. It keeps the existing content.
type SecretsFile struct {
	// File is the name of the file, from [config.VariablesFile].
	File string
	// Env is the environment, which overrides the file.
	Env func(string) (string, bool)

	known map[string]string
	text  string
	added string // what Add appended
}

// OpenSecretsFile reads the file, if it exists.
func OpenSecretsFile(file string, env func(string) (string, bool)) (*SecretsFile, error) {
	s := &SecretsFile{File: file, Env: env}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the variables of the config file: %w", err)
	}
	s.text = string(data)
	if s.known, err = config.ParseEnvFile(file, data); err != nil {
		return nil, err
	}
	return s, nil
}

// Conflicts reports whether the name has another value in the environment or in the file.
func (s *SecretsFile) Conflicts(name string, value schemas.Secret) bool {
	if present, ok := s.Env(name); ok {
		return present != value.Reveal()
	}
	present, ok := s.known[name]
	return ok && present != value.Reveal()
}

// Has reports whether a variable has a value, in the environment or in the file.
func (s *SecretsFile) Has(name string) bool {
	_, known := s.known[name]
	_, set := s.Env(name)
	return known || set
}

// Add appends the variables that the file does not contain yet. Only its owner can read a file that
// Add creates. It returns the names that the file now contains, and the conflicting ones, which it
// skips.
func (s *SecretsFile) Add(variables []config.Variable) (stored, conflicting []string, err error) {
	var b strings.Builder
	for _, v := range variables {
		if v.Value == "" {
			continue
		}
		if s.Conflicts(v.Name, v.Value) {
			conflicting = append(conflicting, v.Name)
			continue
		}
		if _, known := s.known[v.Name]; !known {
			fmt.Fprintf(&b, "# %s\n%s\n", v.Use, config.EnvLine(v.Name, v.Value.Reveal()))
		}
		stored = append(stored, v.Name)
	}
	if b.Len() == 0 {
		return stored, conflicting, nil
	}
	text := b.String()
	switch {
	case s.text == "":
		text = "# The values of the variables in the config file next to this one. Molar reads both\n# together. Keep this file secret: from other users of the machine, and out of git.\n" + text
	case !strings.HasSuffix(s.text, "\n"):
		text = "\n" + text
	}
	f, err := os.OpenFile(s.File, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("write the variables of the config file: %w", err)
	}
	s.added = text
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", s.File, err)
	}
	return stored, conflicting, nil
}

// TakeBack removes what Add appended, for a config file that could not be written. What others have added
// since stays; a file that is then empty goes.
func (s *SecretsFile) TakeBack() error {
	data, err := os.ReadFile(s.File)
	at := strings.LastIndex(string(data), s.added)
	if s.added == "" || errors.Is(err, fs.ErrNotExist) || err == nil && at < 0 {
		return nil
	}
	rest := data[min(at+len(s.added), len(data)):]
	switch {
	case err != nil:
	case s.text == "" && at+len(rest) == 0:
		err = os.Remove(s.File)
	default:
		err = cutOut(s.File, at, rest)
	}
	if err != nil {
		return fmt.Errorf("take the added variables back out of %s: %w", s.File, err)
	}
	return nil
}

// cutOut makes the rest of a file begin at an offset.
func cutOut(file string, at int, rest []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(rest, int64(at)); err == nil {
		err = f.Truncate(int64(at + len(rest)))
	}
	return errors.Join(err, f.Close())
}

// Tracked reports whether a file is in a git repository and the .gitignore next to it does not name
// the file.
func Tracked(file string) bool {
	file, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	folder, name := filepath.Split(file)
	ignored, _ := os.ReadFile(filepath.Join(folder, ".gitignore"))
	for line := range strings.Lines(string(ignored)) {
		if slices.Contains([]string{name, "/" + name, "*.env"}, strings.TrimSpace(line)) {
			return false
		}
	}
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
