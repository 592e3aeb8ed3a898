package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestRun_ComparesTwoCommands(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-n", "2", "true", "--", "sh", "-c", "true"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"true", "sh", "ratio", "wall ms", "CPU ms", "peak MiB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}

func TestRun_NamesWhatFailed(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no command":        {nil, "a command is missing"},
		"no second command": {[]string{"true", "--"}, "a command is missing"},
		"one that fails":    {[]string{"sh", "-c", "echo broken >&2; exit 3"}, "exit status 3: broken"},
	}
	for name, test := range tests {
		if err := run(t.Context(), test.args, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
