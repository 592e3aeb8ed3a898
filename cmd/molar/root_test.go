package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"molar/internal/cli"
)

func noEnv(string) (string, bool) { return "", false }

func TestApp_Report(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name   string
		ctx    context.Context //nolint:containedctx // a row of the table
		err    error
		code   int
		stderr string
	}{
		{"success is silent", t.Context(), nil, 0, ""},
		{"a failure is one sentence", t.Context(), errors.New("no"), 1, "molar: no\n"},
		{"several faults are a line each", t.Context(), errors.Join(errors.New("a"), errors.New("b")), 1, "molar: a\nmolar: b\n"},
		{"an exit code of its own", t.Context(), fmt.Errorf("x: %w", cli.With(3, errors.New("refused"))), 3, "molar: x: refused\n"},
		{"an exit code alone prints nothing", t.Context(), cli.Exit(4), 4, ""},
		{"a cancelled run was interrupted", cancelled, fmt.Errorf("call: %w", context.Canceled), 130, "molar: interrupted\n"},
		{"a cancellation from elsewhere is a failure", t.Context(), context.Canceled, 1, "molar: context canceled\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			a := &app{CLI: &cli.CLI{Stderr: &stderr}}
			if code := a.report(tt.ctx, tt.err); code != tt.code || stderr.String() != tt.stderr {
				t.Errorf("code %d, stderr %q; want %d, %q", code, stderr.String(), tt.code, tt.stderr)
			}
		})
	}
}

func TestRun_Usage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   string
		stderr string
	}{
		{"confg", `molar: unknown command "confg" for "molar", did you mean "config"?; see: molar --help`},
		{"config chek", `molar: unknown command "chek" for "molar config", did you mean "check"?; see: molar config --help`},
		{"--nope", "molar: unknown flag: --nope; see: molar --help"},
		{"version extra", `molar: unknown command "extra" for "molar version"; see: molar version --help`},
		{"config check a b", "molar: accepts at most 1 arg(s), received 2; see: molar config check --help"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), strings.Fields(tt.args), noEnv, strings.NewReader(""), &stdout, &stderr)
			if code != cli.Misuse || strings.TrimSpace(stderr.String()) != tt.stderr || stdout.Len() > 0 {
				t.Errorf("code %d, stdout %q, stderr:\n%s\nwant:\n%s", code, stdout.String(), stderr.String(), tt.stderr)
			}
		})
	}
}
