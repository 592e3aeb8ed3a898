package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// results writes the checks of scenarios as the suite does.
func results(t *testing.T, checks map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range checks {
		dir := filepath.Join(folder, "server-"+name+"-2026-03-01T10-11-12-130Z")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "checks.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestRun(t *testing.T) {
	const good = `{"id":"a","status":"SUCCESS"}`
	for name, c := range map[string]struct {
		checks map[string]string
		args   []string
		code   int
		want   string
	}{
		"passed": {
			map[string]string{"ping": `[` + good + `,{"id":"b","status":"INFO"}]`},
			nil, 0, "ping  passed",
		},
		"a tool of a test server": {
			map[string]string{"ping": `[` + good + `]`, "tools-call-audio": `[` + good + `,{"id":"a","status":"FAILURE","errorMessage":"tool 'test_audio' not found"}]`},
			nil, 0, "passed 1 of 1 that apply, 1 do not",
		},
		"most of it was tried": {
			map[string]string{"server-stateless": `[` + good + `,` + good + `,{"id":"a","status":"FAILURE","errorMessage":"Not testable: server does not list it"}]`},
			nil, 0, "passed  1 of its checks need a tool",
		},
		"the same scenario for another reason": {
			map[string]string{"tools-call-audio": `[` + good + `,{"id":"a","status":"FAILURE","errorMessage":"no answer"}]`},
			nil, 1, "FAILED  a: no answer",
		},
		"a failure beside what does not apply": {
			map[string]string{"x": `[` + good + `,{"id":"a","status":"FAILURE","errorMessage":"tool 'test_audio' not found"},{"id":"b","status":"FAILURE","errorMessage":"closed"}]`},
			nil, 1, "FAILED  b: closed",
		},
		"nothing was checked": {map[string]string{"ping": `[]`}, nil, 1, "nothing was checked"},
		"too few":             {map[string]string{"ping": `[` + good + `]`}, []string{"-least", "2"}, 1, "1 passed where 2 must"},
		"no JSON":             {map[string]string{"ping": `{`}, nil, 1, "checks.json"},
		"no results":          {nil, nil, 1, "no results"},
		"an unknown flag":     {nil, []string{"-x"}, 2, "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			code := run(append(c.args, results(t, c.checks)), &out, &out)
			if code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("code %d, want %d and %q:\n%s", code, c.code, c.want, &out)
			}
		})
	}
}
