package imports_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"molar/internal/imports"
)

const module = "molar"

// TestHouse reads the whole module and fails with every file that imports what
// its folder may not.
func TestHouse(t *testing.T) {
	files, err := imports.Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) bool {
		return slices.ContainsFunc(files, func(f imports.File) bool { return f.Path == path })
	}
	if !read("schemas/doc.go") || !read("internal/imports/imports_test.go") {
		t.Fatalf("the walk missed the module: %d files read", len(files))
	}
	for _, v := range imports.Check(module, files) {
		t.Error(v)
	}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		path, source string
		want         string // part of the one violation; empty means none
	}{
		"schemas imports nothing of ours": {
			"schemas/a.go", `package schemas; import "molar/providers"`, "schemas may import nothing of ours",
		},
		"a package below schemas imports schemas": {"schemas/lower/a.go", `package lower; import "molar/schemas"`, ""},
		"one provider never imports another": {
			"providers/gemini/a.go", `package gemini; import "molar/providers/ollama"`, `imports "molar/providers/ollama"`,
		},
		"provider imports the port": {"providers/gemini/a.go", `package gemini; import "molar/providers"`, ""},
		"agent's parts never import agent": {
			"agent/memory/a.go", `package memory; import "molar/agent"`, "agent/* may import",
		},
		"agent imports its parts": {"agent/a.go", `package agent; import "molar/agent/memory"`, ""},
		"agent links no adapter":  {"agent/a.go", `package agent; import "molar/providers/gemini"`, "agent may import"},
		"the host never imports the bundled servers": {
			"mcpclients/a.go", `package mcpclients; import "molar/mcpservers"`, "mcpclients/... may import",
		},
		"servers know no agent": {
			"mcpservers/memory/a.go", `package memory; import "molar/agent"`, "mcpservers/... may import",
		},
		"a database for tests knows no store": {
			"internal/store/storetest/a.go", `package storetest; import "molar/internal/store"`, "internal/store/storetest may import",
		},
		"the store itself does not": {
			"internal/store/a.go", `package store; import "molar/mcpservers/memory"`, "internal/store/... may import",
		},
		"web knows no tool handler": {"web/a.go", `package web; import "molar/toolhandler"`, "web/... may import"},
		"eval imports agent":        {"eval/a.go", `package eval; import "molar/agent"`, ""},
		"eval knows no web":         {"eval/a.go", `package eval; import "molar/web"`, "eval/... may import"},
		"cmd calls all":             {"cmd/molar/a.go", `package main; import "molar/internal/store"`, ""},
		"cmd links no test program": {
			"cmd/molar/a.go", `package main; import "molar/internal/testkit/models"`, "cmd/... may import",
		},
		"examples stay outside internal": {
			"examples/family/a.go", `package main; import "molar/internal/config"`, "examples/... may import",
		},
		"a module of a similar name is not ours": {"schemas/a.go", `package schemas; import "molarity/x"`, ""},
		"an unknown folder":                      {"misc/a.go", `package misc`, "folder belongs to no layer"},

		"genai outside its adapter": {
			"agent/a.go", `package agent; import "google.golang.org/genai"`, "google.golang.org/genai belongs in providers/gemini/...",
		},
		"genai in its adapter": {"providers/gemini/a.go", `package gemini; import "google.golang.org/genai"`, ""},
		"ollama's types outside": {
			"web/a.go", `package web; import "github.com/ollama/ollama/api"`, "belongs in providers/ollama/...",
		},
		"mcp-go in cmd": {
			"cmd/molar/a.go", `package main; import "github.com/mark3labs/mcp-go/mcp"`, "belongs in mcpclients/...",
		},
		"gin outside web":       {"cmd/molar/a.go", `package main; import "github.com/gin-gonic/gin"`, "belongs in web/..."},
		"cobra outside cmd":     {"agent/a.go", `package agent; import "github.com/spf13/cobra"`, "belongs in cmd/..."},
		"sqlite outside store":  {"eval/a.go", `package eval; import _ "modernc.org/sqlite"`, "belongs in internal/store/..."},
		"testing in production": {"agent/a.go", `package agent; import "testing"`, "testing belongs in"},
		"testing/fstest too":    {"agent/a.go", `package agent; import "testing/fstest"`, "testing belongs in"},

		"a test reaches across layers": {"schemas/a_test.go", `package schemas_test; import "molar/cmd/molar"`, ""},
		"but not to testify": {
			"schemas/a_test.go", `package schemas_test; import "github.com/stretchr/testify/assert"`, "never: tests use testing and go-cmp",
		},
		"init":                {"schemas/a.go", `package schemas; func init() {}`, "no func init()"},
		"init in a test":      {"schemas/a_test.go", `package schemas; func init() {}`, "no func init()"},
		"a method named init": {"schemas/a.go", `package schemas; type t int; func (t) init() {}`, ""},
		"a vague name":        {"agent/util/a.go", `package util`, "no package named util"},
		"a vague test name":   {"agent/x/a_test.go", `package helpers_test`, "no package named helpers"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files, err := imports.Load(fstest.MapFS{test.path: {Data: []byte(test.source)}})
			if err != nil {
				t.Fatal(err)
			}
			found := imports.Check(module, files)
			if test.want == "" {
				if len(found) != 0 {
					t.Fatalf("want no violation, got %v", found)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("want one violation with %q, got %v", test.want, found)
			}
			if got := found[0].String(); !strings.Contains(got, test.want) || !strings.HasPrefix(got, test.path+": ") {
				t.Errorf("got %q, want %s: ... %s", got, test.path, test.want)
			}
		})
	}
}

func TestLoad_SkipsWhatTheGoCommandSkips(t *testing.T) {
	broken := &fstest.MapFile{Data: []byte("this is no Go")}
	files, err := imports.Load(fstest.MapFS{
		"testdata/a.go": broken, ".cache/a.go": broken, "_old/a.go": broken,
		"web/node_modules/a.go": broken, "vendor/a.go": broken, "web/a.txt": broken,
		"internal/own/go.mod": {}, "internal/own/a.go": broken,
	})
	if err != nil || len(files) != 0 {
		t.Fatalf("got %v, %v, want nothing", files, err)
	}
}

func TestLoad_NamesTheFileThatDoesNotParse(t *testing.T) {
	_, err := imports.Load(fstest.MapFS{"web/a.go": {Data: []byte("package")}})
	if err == nil || !strings.Contains(err.Error(), "web/a.go") {
		t.Fatalf("got %v, want an error that names web/a.go", err)
	}
}
