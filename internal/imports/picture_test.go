package imports_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"molar/internal/imports"
	"molar/internal/testkit"
)

// The picture of the architecture page is drawn from the code.
func TestReference(t *testing.T) {
	files, err := imports.Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := imports.Picture(module, "cmd/molar", files)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Same(t, "../../docs/images/house.svg", picture)
}

func TestPicture(t *testing.T) {
	source := fstest.MapFS{
		"cmd/molar/a.go":          {Data: []byte(`package main; import ("molar/agent"; "molar/schemas")`)},
		"agent/a.go":              {Data: []byte(`package agent; import "molar/providers/ollama"`)},
		"providers/ollama/a.go":   {Data: []byte(`package ollama; import "molar/schemas"`)},
		"schemas/a.go":            {Data: []byte(`package schemas`)},
		"schemas/a_test.go":       {Data: []byte(`package schemas; import "molar/web"`)},
		"web/a.go":                {Data: []byte(`package web; import "molar/agent"`)},
		"internal/strange/a.go":   {Data: []byte(`package strange; import "molar/internal/strange/b"`)},
		"internal/strange/b/a.go": {Data: []byte(`package b`)},
	}
	draw := func() (string, error) {
		files, err := imports.Load(source)
		if err != nil {
			t.Fatal(err)
		}
		return imports.Picture(module, "cmd/molar", files)
	}
	picture, err := draw()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := draw(); again != picture {
		t.Error("the same code gave another picture")
	}
	for part, count := range map[string]int{">cmd</text>": 1, ">providers</text>": 1, ">web</text>": 0, "<path class=\"line\"": 2} {
		if n := strings.Count(picture, part); n != count {
			t.Errorf("%s is there %d times, want %d", part, n, count)
		}
	}
	source["schemas/b.go"] = &fstest.MapFile{Data: []byte(`package schemas; import "molar/internal/strange"`)}
	if _, err := draw(); err == nil || !strings.Contains(err.Error(), "no caption for internal/strange") {
		t.Errorf("a folder that nobody described: %v", err)
	}
	source["schemas/b.go"] = &fstest.MapFile{Data: []byte(`package schemas; import "molar/agent"`)}
	if _, err := draw(); err == nil || !strings.Contains(err.Error(), "in a cycle") {
		t.Errorf("a circle: %v", err)
	}
}
