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

// DataDir returns the folder for Molar's own data: $XDG_DATA_HOME/molar, else the usual folder of
// the operating system. It does not create the folder.
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

// userFile returns the config file that is read if none is named; empty if there is no home folder.
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

// absolute looks up the path of a folder. ok is false for a relative path, which the XDG Base
// Directory specification declares invalid.
func absolute(env func(string) (string, bool), name string) (dir string, ok bool) {
	dir, _ = env(name)
	return dir, filepath.IsAbs(dir)
}

// resolvePath resolves a relative path against the folder of the config file. A program without a
// slash in its name is looked up in PATH, so its name stays unchanged.
func (cfg *Config) resolvePath(path string, program bool) string {
	if path == "" || cfg.File == "" || filepath.IsAbs(path) {
		return path
	}
	if program && !strings.ContainsRune(path, '/') && !strings.ContainsRune(path, filepath.Separator) {
		return path
	}
	return filepath.Join(filepath.Dir(cfg.File), path)
}

// completeDatabase makes the path of a database absolute. It is relative to the folder of the
// config file if it comes from that file, else to the working directory. "~/" is the home folder.
// The address of a PostgreSQL database stays unchanged.
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
			return errors.New(`"~" requires HOME to be set`)
		}
		*store = filepath.Join(home, rest)
	}
	if origin := cfg.origins[key]; origin != commandLine && origin != EnvVariable(key) {
		*store = cfg.resolvePath(*store, false)
	}
	path, err := filepath.Abs(*store)
	if err != nil {
		return fmt.Errorf("make the path absolute: %w", err)
	}
	*store = path
	return nil
}
