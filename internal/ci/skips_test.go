package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheckTests(t *testing.T) {
	const pass = `{"Action":"pass","Package":"molar/a","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"molar/a","Elapsed":1.5}` + "\n"
	tests := map[string]struct {
		in   string
		code int
		want string
	}{
		"all pass":                  {pass, 0, "1 passed, 0 failed, 0 skipped"},
		"a folder without tests":    {pass + `{"Action":"skip","Package":"molar/b"}`, 0, "0 skipped"},
		"a skipped test":            {pass + `{"Action":"skip","Package":"molar/b","Test":"TestB"}`, 1, "skipped: molar/b TestB"},
		"its reason is shown":       {pass + `{"Action":"output","Package":"b","Test":"B","Output":"no browser\n"}` + "\n" + `{"Action":"skip","Package":"b","Test":"B"}`, 1, "no browser\n"},
		"one without a key":         {pass + `{"Action":"output","Package":"b","Test":"B","Output":"X_API_KEY is not set: no call\n"}` + "\n" + `{"Action":"skip","Package":"b","Test":"B"}`, 0, "not asked for: b B"},
		"a failed test":             {pass + `{"Action":"fail","Package":"molar/b","Test":"TestB"}`, 1, "failed: molar/b TestB"},
		"passes when run again":     {`{"Action":"fail","Package":"molar/a","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"molar/a"}` + "\n" + pass, 0, "flaky, passed when run again: molar/a TestA"},
		"a race stays a failure":    {`{"Action":"output","Package":"molar/a","Test":"TestA","Output":"WARNING: DATA RACE\n"}` + "\n" + `{"Action":"fail","Package":"molar/a","Test":"TestA"}` + "\n" + pass, 1, "failed: data race in molar/a TestA"},
		"output of a passing test":  {`{"Action":"output","Package":"molar/a","Test":"TestA","Output":"noise"}` + "\n" + pass, 0, "1 passed"},
		"a failed build":            {pass + `{"Action":"build-fail","ImportPath":"molar/b"}`, 1, "failed: molar/b (build)"},
		"a line of the go command":  {pass + "go: warning\n", 0, "go: warning\n"},
		"nothing at all is a fault": {"", 1, "0 passed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if got := checkTests(strings.NewReader(test.in), &out, false); got != test.code || !strings.Contains(out.String(), test.want) {
				t.Errorf("got %d:\n%s\nwant %d with %q", got, out.String(), test.code, test.want)
			}
			if strings.Contains(out.String(), "noise") {
				t.Error("shows the output of a passing test")
			}
		})
	}
	var out bytes.Buffer
	if got := checkTests(strings.NewReader(tests["a skipped test"].in), &out, true); got != 0 {
		t.Errorf("got %d with -short:\n%s", got, out.String())
	}
}
