package main

import (
	"io"
	"log/slog"
	"maps"

	"molar/internal/config"
)

// An app is what every command gets from the outside: the environment, the standard
// streams and the flags that all commands share.
type app struct {
	env            func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer

	configFile string
	envFile    string
	logLevel   string
	logFormat  string

	// started is set once the arguments have been understood.
	started bool
}

// loadConfig reads the settings. flags are values of the command's own flags by
// config key ("listen"); empty ones are left out. A fault is a usage error.
func (a *app) loadConfig(flags map[string]string) (*config.Config, error) {
	cfg, err := config.Load(a.options(flags))
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return cfg, nil
}

// options say where the settings come from.
func (a *app) options(flags map[string]string) config.Options {
	all := map[string]string{"telemetry.log_level": a.logLevel, "telemetry.log_format": a.logFormat}
	maps.Copy(all, flags)
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return config.Options{
		Path:     a.configFile,
		Explicit: a.configFile != "",
		Env:      a.env,
		EnvFile:  a.envFile,
		Flags:    all,
	}
}

// logger writes to standard error. level holds unless the settings name another.
func (a *app) logger(t config.Telemetry, level slog.Level) (*slog.Logger, error) {
	if t.LogLevel != "" {
		if err := level.UnmarshalText([]byte(t.LogLevel)); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	if t.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, opts)), nil
	}
	return slog.New(slog.NewTextHandler(a.stderr, opts)), nil
}
