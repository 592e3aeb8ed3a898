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

// schemaFile is the name of the document of Open Responses, against whose schemas these tests check
// all answers. Its folder is in the variable MOLAR_OPENRESPONSES.
const schemaFile = "openapi-2026-04-24.json"

// checked is the number of answers that were checked against it.
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
		// Schemas of events are looked up by the type of the event.
		if properties, ok := schema.(map[string]any)["properties"].(map[string]any); ok && strings.HasSuffix(name, "StreamingEvent") {
			if kinds, ok := properties["type"].(map[string]any)["enum"].([]any); ok {
				all[kinds[0].(string)] = compiled
			}
		}
	}
	return all, nil
})

// TestSchema is skipped if the other tests do not check answers against the document.
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

// plain converts the numbers in v to the type that encoding/json uses.
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

// beyond reports whether an item or a tool is not part of the standard's core: those of servers,
// namespaces, and our own.
func beyond(kind string) bool {
	return strings.HasPrefix(kind, "mcp") || strings.HasPrefix(kind, "molar:") || kind == "namespace" || strings.Contains(kind, "_search")
}

// core returns a response without the items and tools that the standard does not define.
func core(r object) object {
	c := maps.Clone(r)
	for _, list := range []string{"output", "tools"} {
		known := []any{}
		for _, it := range r[list].([]any) {
			if kind, _ := it.(object)["type"].(string); !beyond(kind) {
				known = append(known, it)
			}
		}
		c[list] = known
	}
	if format, ok := at(r, "text", "format").(object); ok && format["schema"] != nil {
		format = maps.Clone(format)
		format["schema"] = nil // the document has no schema here, unlike OpenAI
		c["text"] = object{"format": format}
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
	if strings.HasPrefix(kind, "response.mcp_") || strings.Contains(kind, "_search_call") || strings.HasPrefix(kind, "molar:") || beyond(itemKind) {
		return ev // beyond the standard's core
	}
	conforms(t, kind, checked)
	return ev
}
