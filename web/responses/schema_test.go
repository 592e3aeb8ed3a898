package responses_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The document of Open Responses, by whose schemas all answers of these tests are checked.
// MOLAR_OPENRESPONSES names its folder.
const schemaFile = "openapi-2026-04-24.json"

// checked counts what was held against it.
var checked atomic.Int64

var standard = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	folder := os.Getenv("MOLAR_OPENRESPONSES")
	if folder == "" {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(folder, schemaFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", doc); err != nil {
		return nil, err
	}
	all := map[string]*jsonschema.Schema{}
	components := doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for name, schema := range components {
		compiled, err := c.Compile("doc.json#/components/schemas/" + name)
		if err != nil {
			return nil, err
		}
		all[name] = compiled
		// Events are found by their type.
		if properties, ok := schema.(map[string]any)["properties"].(map[string]any); ok && strings.HasSuffix(name, "StreamingEvent") {
			if kinds, ok := properties["type"].(map[string]any)["enum"].([]any); ok {
				all[kinds[0].(string)] = compiled
			}
		}
	}
	return all, nil
})

// TestSchema reports whether the other tests check by the document.
func TestSchema(t *testing.T) {
	all, err := standard()
	if err != nil {
		t.Fatal(err)
	}
	if all == nil {
		t.Skip("MOLAR_OPENRESPONSES is not set: it names the folder with the document of Open Responses, by which the shapes are checked")
	}
	if all["ResponseResource"] == nil || all["response.output_text.delta"] == nil {
		t.Error("the document lacks what the tests check by")
	}
	if all["ResponseResource"].Validate(map[string]any{"id": "resp_1"}) == nil {
		t.Error("the check finds no fault in a response without anything")
	}
}

func read(t *testing.T, data []byte) object {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	o, ok := plain(v).(object)
	if !ok {
		t.Fatalf("no object: %s", data)
	}
	return o
}

// plain turns numbers into those of encoding/json.
func plain(v any) any {
	b, _ := json.Marshal(v)
	_ = json.Unmarshal(b, &v)
	return v
}

func conforms(t *testing.T, name string, v any) {
	t.Helper()
	all, err := standard()
	if err != nil {
		t.Fatal(err)
	}
	if all == nil {
		return
	}
	if all[name] == nil {
		t.Errorf("the document knows no %s", name)
		return
	}
	checked.Add(1)
	if err := all[name].Validate(v); err != nil {
		b, _ := json.Marshal(v)
		t.Errorf("%s: %v\n%s", name, err, b)
	}
}

// beyond reports whether the standard's core does not know an item or a tool: those of
// servers, and our own.
func beyond(kind string) bool {
	return strings.HasPrefix(kind, "mcp") || strings.HasPrefix(kind, "molar:")
}

// core is a response without what the standard does not know.
func core(r object) object {
	c := maps.Clone(r)
	for _, list := range []string{"output", "tools"} {
		kept := []any{}
		for _, it := range r[list].([]any) {
			if kind, _ := it.(object)["type"].(string); !beyond(kind) {
				kept = append(kept, it)
			}
		}
		c[list] = kept
	}
	if choice, ok := r["tool_choice"].(object); ok {
		tools, _ := choice["tools"].([]any)
		if choice["type"] == "mcp" || slices.ContainsFunc(tools, func(tool any) bool { return at(tool, "type") == "mcp" }) {
			c["tool_choice"] = "required"
		}
	}
	return c
}

func checkResponse(t *testing.T, data []byte) object {
	t.Helper()
	r := read(t, data)
	conforms(t, "ResponseResource", core(r))
	return r
}

func checkEvent(t *testing.T, data []byte) object {
	t.Helper()
	ev := read(t, data)
	kind := ev["type"].(string)
	itemKind, _ := at(ev, "item", "type").(string)
	checked := maps.Clone(ev)
	if r, ok := ev["response"].(object); ok {
		checked["response"] = core(r)
	}
	if strings.HasPrefix(kind, "response.mcp_") || strings.HasPrefix(kind, "molar:") || beyond(itemKind) {
		return ev // beyond the standard's core
	}
	conforms(t, kind, checked)
	return ev
}
