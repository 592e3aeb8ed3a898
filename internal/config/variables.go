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

// Variables is the file beside the config file that gives values to the variables which
// that one names. They reach nothing else: neither the keys that Molar looks for in the
// environment by itself, nor the environment of a server.
type Variables struct {
	// File is its absolute path; empty when there is none.
	File string
	// Names are the variables that it holds, Unused those that neither the config file names
	// nor the environment has.
	Names, Unused []string

	// digest is of the file's bytes; zero without one.
	digest [sha256.Size]byte
}

// Digest is the SHA-256 of the file as it was read; zero without one.
func (v Variables) Digest() [sha256.Size]byte { return v.digest }

// VariablesFile is where the values of a config file's variables may stand: molar.env for
// molar.yaml. It is never a plain .env, which belongs to other programs too.
func VariablesFile(config string) string {
	ext := filepath.Ext(config)
	if (ext == ".yaml" || ext == ".yml") && filepath.Base(config) != ext {
		config = strings.TrimSuffix(config, ext)
	}
	return config + ".env"
}

// readVariables puts the values of the file below env, for the references of a config file.
// Once those are resolved, note keeps which values were not asked for.
func (cfg *Config) readVariables(name string, env func(string) (string, bool)) (below func(string) (string, bool), note func(), err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return env, func() {}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the variables of the config file: %w", err)
	}
	values, err := Parse(name, data)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Variables.File, err = filepath.Abs(name); err != nil {
		return nil, nil, fmt.Errorf("find %s: %w", name, err)
	}
	cfg.Variables.Names, cfg.Variables.digest = slices.Sorted(maps.Keys(values)), sha256.Sum256(data)
	used := map[string]bool{}
	below = func(name string) (string, bool) {
		used[name] = true
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}
	return below, func() {
		cfg.Variables.Unused = slices.DeleteFunc(slices.Clone(cfg.Variables.Names), func(name string) bool {
			set, _ := env(name) // by who starts Molar, perhaps from this very file
			return set != "" || used[name]
		})
	}, nil
}

// Exposed returns the mode of a file that other people of this machine can reach, and false
// for one that is its owner's alone or is not there. On Windows modes tell nothing.
func Exposed(file string) (mode fs.FileMode, is bool) {
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS == "windows" {
		return 0, false
	}
	mode = info.Mode().Perm()
	return mode, mode&0o077 != 0
}
