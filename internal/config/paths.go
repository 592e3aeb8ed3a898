package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	keyStore     = "memory.store"
	keyState     = "state"
	keyMemoryURL = "memory.url"
)

// DataDir returns the folder for Molar's own data: $XDG_DATA_HOME/molar, else the
// place that the operating system gives programs. It creates nothing.
func DataDir(env func(string) (string, bool)) (string, error) {
	if dir, ok := absolute(env, "XDG_DATA_HOME"); ok {
		return filepath.Join(dir, "molar"), nil
	}
	home, ok := homeDir(env)
	switch runtime.GOOS {
	case "windows":
		if dir, ok := absolute(env, "LOCALAPPDATA"); ok {
			return filepath.Join(dir, "molar"), nil
		}
	case "darwin":
		if ok {
			return filepath.Join(home, "Library", "Application Support", "molar"), nil
		}
	default:
		if ok {
			return filepath.Join(home, ".local", "share", "molar"), nil
		}
	}
	return "", errors.New("no home folder is known; set HOME or XDG_DATA_HOME, or name a file")
}

// userFile is the config file that is read when none is named; empty when there is
// no home folder.
func userFile(env func(string) (string, bool)) string {
	if dir, ok := absolute(env, "XDG_CONFIG_HOME"); ok {
		return filepath.Join(dir, "molar", "molar.yaml")
	}
	if dir, ok := absolute(env, "APPDATA"); ok && runtime.GOOS == "windows" {
		return filepath.Join(dir, "molar", "molar.yaml")
	}
	if home, ok := homeDir(env); ok {
		return filepath.Join(home, ".config", "molar", "molar.yaml")
	}
	return ""
}

func homeDir(env func(string) (string, bool)) (string, bool) {
	if runtime.GOOS == "windows" {
		return absolute(env, "USERPROFILE")
	}
	return absolute(env, "HOME")
}

// absolute looks up a folder. Relative values do not count, as the XDG rules say.
func absolute(env func(string) (string, bool), name string) (string, bool) {
	dir, _ := env(name)
	return dir, filepath.IsAbs(dir)
}

// beside resolves a path of the file against the file's folder. A program without
// a slash in its name is looked up in PATH and stays as it is.
func (cfg *Config) beside(path string, program bool) string {
	if path == "" || cfg.File == "" || filepath.IsAbs(path) {
		return path
	}
	if program && !strings.ContainsRune(path, '/') && !strings.ContainsRune(path, filepath.Separator) {
		return path
	}
	return filepath.Join(filepath.Dir(cfg.File), path)
}

// completeDatabase makes the path of a database absolute: relative to the file when
// the file says it, else to the working directory. "~/" is the home folder. The
// address of a PostgreSQL database stays as it is.
func (cfg *Config) completeDatabase(key string, store *string, env func(string) (string, bool)) error {
	if strings.HasPrefix(*store, "postgres://") || strings.HasPrefix(*store, "postgresql://") {
		return nil
	}
	if *store == "" {
		dir, err := DataDir(env)
		if err != nil {
			return err
		}
		*store = filepath.Join(dir, "molar.db")
		return nil
	}
	if rest, ok := strings.CutPrefix(*store, "~/"); ok {
		home, found := homeDir(env)
		if !found {
			return errors.New(`"~" wants HOME to be set`)
		}
		*store = filepath.Join(home, rest)
	}
	if origin := cfg.origins[key]; origin != commandLine && origin != variable(key) {
		*store = cfg.beside(*store, false)
	}
	path, err := filepath.Abs(*store)
	if err != nil {
		return fmt.Errorf("make the path absolute: %w", err)
	}
	*store = path
	return nil
}
