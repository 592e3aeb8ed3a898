package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRun_NamesWhatIsWrong(t *testing.T) {
	for want, args := range map[string][]string{
		"name at least one part":            nil,
		`unknown part "x"`:                  {"x"},
		`"none" is not a number of servers`: {"-servers=1,none", "start"},
		"no such file":                      {"-bin", t.TempDir(), "-servers=1", "start"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
}

func TestFollow_CountsEachServerOnce(t *testing.T) {
	line := func(server string) string {
		return `level=INFO msg="MCP server is ready" server=` + server + " tools=20\n"
	}
	for _, tc := range []struct {
		log    string
		enough bool
	}{
		{line("a") + line("tool-server") + line("a") + "server=b\n", false},
		{line("a") + line("memory-server") + line("b"), true},
	} {
		enough := make(chan struct{})
		new(host).follow(strings.NewReader(tc.log), 2, enough)
		select {
		case <-enough:
			if !tc.enough {
				t.Errorf("two servers are ready after %q", tc.log)
			}
		default:
			if tc.enough {
				t.Errorf("they are not ready after %q", tc.log)
			}
		}
	}
}

func TestTroublemakers(t *testing.T) {
	b := bench{bin: "bin", length: time.Second}
	all, stop, err := b.troublemakers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	names := map[string]bool{}
	for _, s := range all {
		names[s.name] = true
		if (s.url == "") == (s.command == "") {
			t.Errorf("%+v is reached in no way, or in two", s)
		}
	}
	if len(names) != 34 {
		t.Errorf("%d servers", len(names))
	}
	servers := configOf("dir", "address", "model", all)["mcpServers"].(map[string]any)
	if diff := cmp.Diff([]string{"-pour=junk"}, servers["junk0"].(map[string]any)["args"]); diff != "" {
		t.Error(diff)
	}
}
