package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestRun_OverStdio(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
	var out bytes.Buffer
	if got := run(t.Context(), []string{"-tools", "1"}, strings.NewReader(in), &out, io.Discard); got != 0 {
		t.Fatalf("exit code %d", got)
	}
	if !strings.Contains(out.String(), `"get_family_details"`) || strings.Contains(out.String(), "stub_tool_1") {
		t.Errorf("got %s", out.String())
	}
}

func TestRun_ExitCodes(t *testing.T) {
	for _, test := range []struct {
		args []string
		in   string
		want int
	}{
		{[]string{"-x"}, "", 2},
		{nil, "no JSON\n", 1},
		{[]string{"-listen", "256.0.0.1:1"}, "", 1},
	} {
		if got := run(t.Context(), test.args, strings.NewReader(test.in), io.Discard, io.Discard); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.args, got, test.want)
		}
	}
}
