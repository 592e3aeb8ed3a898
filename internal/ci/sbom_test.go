package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The list of a test program names the module itself, Go and what go.sum says of the rest.
func TestWriteSBOM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "parts.json")
	if err := writeSBOM(program, file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Metadata.Component.Name != "molar" || doc.Components[0].Name != "go" {
		t.Errorf("got %+v", doc)
	}
	if err := writeSBOM("go.mod", file); err == nil {
		t.Error("a file that is no program has no parts")
	}
}
