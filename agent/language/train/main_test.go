package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The table in the repository is what is made of the questions now. Floating point may round
// otherwise on another architecture.
func TestRun_MakesTheFileOfTheRepository(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the table was made on amd64")
	}
	folder := filepath.Join(t.TempDir(), "language")
	data := filepath.Join(folder, "../../subject", "guardrail", "data")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(data, os.DirFS("../../subject/data")); err != nil {
		t.Fatal(err)
	}
	if err := run(folder); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "english.letters"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../subject/english.letters")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("english.letters is not what is made of the questions: run go generate ./agent/language")
	}
}
