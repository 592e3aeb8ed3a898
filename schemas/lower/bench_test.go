package lower_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/schemas/lower"
)

// realistic returns a schema as servers publish: a dozen described properties, a nested object, a
// list, a shared definition and a union.
func realistic(i int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{`)
	for p := range 12 {
		fmt.Fprintf(&b, `"field_%d":{"type":"string","minLength":1,"description":"What field %d of tool %d is for, in a sentence of usual length."},`, p, p, i)
	}
	b.WriteString(`"mode":{"type":"string","enum":["fast","exact"],"default":"fast"},` +
		`"page":{"type":"integer","minimum":1,"maximum":100},` +
		`"parent":{"anyOf":[{"$ref":"#/$defs/Parent"},{"type":"null"}]},` +
		`"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string","format":"uuid"},"parent":{"$ref":"#/$defs/Parent"}},"required":["id"]}}},` +
		`"required":["field_0","mode"],"additionalProperties":false,` +
		`"$defs":{"Parent":{"type":"object","properties":{"id":{"type":"string"},"kind":{"const":"page"}},"required":["id"]}}}`)
	return json.RawMessage(b.String())
}

// BenchmarkForOllama_500Tools measures the lowering of 500 tools in all.
func BenchmarkForOllama_500Tools(b *testing.B) {
	tools := make([]json.RawMessage, 500)
	for i := range tools {
		tools[i] = realistic(i)
		b.SetBytes(int64(len(tools[i])) * 500)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range tools {
			if _, err := lower.ForOllama(raw); err != nil {
				b.Fatal(err)
			}
		}
	}
}
