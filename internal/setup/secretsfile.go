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

// A Keeper writes secrets into the file beside a config that is read with it. What stands
// there already stays.
type SecretsFile struct {
	// File is where they go: [config.VariablesFile].
	File string
	// Env is the environment, which wins over the file.
	Env func(string) (string, bool)

	known map[string]string
	text  string
}

// NewKeeper reads what the file holds, if it is there.
func OpenSecretsFile(file string, env func(string) (string, bool)) (*SecretsFile, error) {
	k := &SecretsFile{File: file, Env: env}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the variables of the config file: %w", err)
	}
	k.text = string(data)
	if k.known, err = config.ParseEnvFile(file, data); err != nil {
		return nil, err
	}
	return k, nil
}

// Taken reports whether a name has another value in the environment or in the file, so that
// it cannot stand for this one.
func (k *SecretsFile) Conflicts(name string, value schemas.Secret) bool {
	if there, ok := k.Env(name); ok {
		return there != value.Reveal()
	}
	there, ok := k.known[name]
	return ok && there != value.Reveal()
}

// Add writes the values that are not there yet, for their owner alone. It returns the names
// that the file has now, and those that are [Keeper.Taken], which are left alone.
func (k *SecretsFile) Add(variables []config.Variable) (has, other []string, err error) {
	var b strings.Builder
	for _, v := range variables {
		if v.Value == "" {
			continue
		}
		if k.Conflicts(v.Name, v.Value) {
			other = append(other, v.Name)
			continue
		}
		if _, known := k.known[v.Name]; !known {
			fmt.Fprintf(&b, "# %s\n%s\n", v.Use, config.EnvLine(v.Name, v.Value.Reveal()))
		}
		has = append(has, v.Name)
	}
	if b.Len() == 0 {
		return has, other, nil
	}
	text := b.String()
	switch {
	case k.text == "":
		text = "# The values of the variables that the config file beside this one names. Molar reads\n# both together. Keep this file to yourself: no other user of the machine, and not git.\n" + text
	case !strings.HasSuffix(k.text, "\n"):
		text = "\n" + text
	}
	f, err := os.OpenFile(k.File, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("write the variables of the config file: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", k.File, err)
	}
	return has, other, nil
}

// Tracked reports whether a file lies in a git repository whose .gitignore beside it does
// not name the file.
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
