package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Variables describes the variables file: it lies next to the config file and holds the values of
// the variables to which that file refers. They are used for nothing else: neither for the API keys
// that Molar reads from the environment, nor for the environment of a server.
type Variables struct {
	// File is its absolute path; empty if there is none.
	File string
	// Names are the variables in the file. Unused are those of them to which the config file does
	// not refer and which are not set in the environment.
	Names, Unused []string

	// digest is the SHA-256 of the file; zero without one.
	digest [sha256.Size]byte
}

// Digest returns the SHA-256 of the file; zero without one.
func (v Variables) Digest() [sha256.Size]byte { return v.digest }

// VariablesFile returns the name of a config file's variables file: molar.env for molar.yaml. It is
// never a plain .env, which other programs read too.
func VariablesFile(config string) string {
	ext := filepath.Ext(config)
	if (ext == ".yaml" || ext == ".yml") && filepath.Base(config) != ext {
		config = strings.TrimSuffix(config, ext)
	}
	return config + ".env"
}

// readVariables reads the variables file. lookUp looks up a variable in env, then in the file. Call
// noteUnused after all references are resolved: it records which variables were not looked up.
func (cfg *Config) readVariables(name string, env func(string) (string, bool)) (lookUp func(string) (string, bool), noteUnused func(), err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return env, func() {}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the variables of the config file: %w", err)
	}
	values, err := ParseEnvFile(name, data)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Variables.File, err = filepath.Abs(name); err != nil {
		return nil, nil, fmt.Errorf("find %s: %w", name, err)
	}
	cfg.Variables.Names, cfg.Variables.digest = slices.Sorted(maps.Keys(values)), sha256.Sum256(data)
	used := map[string]bool{}
	lookUp = func(name string) (string, bool) {
		used[name] = true
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}
	return lookUp, func() {
		cfg.Variables.Unused = slices.DeleteFunc(slices.Clone(cfg.Variables.Names), func(name string) bool {
			value, _ := env(name) // whoever starts Molar may export the variables of this file
			return value != "" || used[name]
		})
	}, nil
}

// Exposed reports whether other users of this machine can read, write or execute a file, and
// returns its mode. It returns false for a file that does not exist, and on Windows, where the mode
// does not tell.
func Exposed(file string) (mode fs.FileMode, exposed bool) {
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS == "windows" {
		return 0, false
	}
	mode = info.Mode().Perm()
	return mode, mode&0o077 != 0
}
