package main

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"testing"

	"molar/internal/testkit/models"
	"molar/internal/testkit/stubmcp"
)

// TestMain lets the test binary play the tool server, which floorcli starts as a
// process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("MOLAR_TEST_STUBMCP") == "1" {
		if stubmcp.New(stubmcp.Config{}).ServeStdio(context.Background(), os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	t.Setenv("MOLAR_TEST_STUBMCP", "1")
	model := httptest.NewServer(models.New(models.Config{Tool: stubmcp.ToolName, Tokens: 3}))
	defer model.Close()
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-model-url", model.URL, "who?", os.Args[0]}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := stdout.String(); got != "tok1 tok2 tok3\n" {
		t.Errorf("got %q", got)
	}
}

func TestRun_NamesWhatIsWrong(t *testing.T) {
	for name, args := range map[string][]string{
		"no command":      {"who?"},
		"unknown command": {"who?", "./no-such-server"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
