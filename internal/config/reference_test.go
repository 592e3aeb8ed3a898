package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/internal/config"
	"molar/internal/testkit"
)

// A node is a part of the JSON Schema of the settings.
type node struct {
	Ref         string          `json:"$ref"`
	Type        string          `json:"type"`
	Enum        []any           `json:"enum"`
	Description string          `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	Items       *node           `json:"items"`
	AnyOf       []node          `json:"anyOf"`
	Additional  json.RawMessage `json:"additionalProperties"`
	Defs        map[string]node `json:"$defs"`
}

// The reference of the settings is generated from their schema.
func TestReference(t *testing.T) {
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root node
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	r := reference{t: t, defs: root.Defs}
	r.out.WriteString("# Settings\n\nMade from the code: every key of `molar.yaml`. The file that `molar config init` writes explains\n" +
		"them with their defaults; `*` stands for a name that you choose.\n\n| key | value | |\n|---|---|---|\n")
	r.walk("", root)
	testkit.Same(t, "../../docs/reference/settings.md", r.out.String())
}

type reference struct {
	t    *testing.T
	defs map[string]node
	out  strings.Builder
}

func (r *reference) resolve(n node) node {
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		described := n.Description
		if n = r.resolve(r.defs[name]); described != "" {
			n.Description = described
		}
	}
	return n
}

// walk writes the keys below one, in the order of the schema.
func (r *reference) walk(key string, n node) {
	n = r.resolve(n)
	if key != "" && n.Description != "" {
		fmt.Fprintf(&r.out, "| `%s` | %s | %s |\n", key, r.value(n), strings.ReplaceAll(n.Description, "|", "\\|"))
	}
	below := func(name string) string { return strings.TrimPrefix(key+"."+name, ".") }
	if len(n.Properties) > 0 {
		decoder := json.NewDecoder(strings.NewReader(string(n.Properties)))
		_, _ = decoder.Token()
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				r.t.Fatal(err)
			}
			var child node
			if err := decoder.Decode(&child); err != nil {
				r.t.Fatal(err)
			}
			r.walk(below(name.(string)), child)
		}
	}
	if len(n.Additional) > 0 && n.Additional[0] == '{' {
		var child node
		if err := json.Unmarshal(n.Additional, &child); err != nil {
			r.t.Fatal(err)
		}
		r.walk(below("*"), child)
	}
	if n.Items != nil && len(r.resolve(*n.Items).Properties) > 0 {
		r.walk(key+"[]", *n.Items)
	}
}

func (r *reference) value(n node) string {
	switch {
	case len(n.Enum) > 0:
		words := make([]string, len(n.Enum))
		for i, w := range n.Enum {
			words[i] = fmt.Sprintf("`%v`", w)
		}
		return strings.Join(words, ", ")
	case n.Items != nil:
		return "list"
	case len(n.AnyOf) > 0:
		return "one or a list"
	case n.Type == "":
		return "text"
	}
	return n.Type
}
