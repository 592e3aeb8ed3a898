package eval

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/invopop/jsonschema"

	"molar/internal/text"
)

// Schema returns the JSON Schema of case files, for editors: a case, or a suite.
func Schema() ([]byte, error) {
	data, err := json.MarshalIndent(caseSchema(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of cases: %w", err)
	}
	return append(data, '\n'), nil
}

func caseSchema() *jsonschema.Schema {
	return schemaOf("cases of molar eval", &Case{}, &suiteFile{})
}

// withSuggestion adds to an error about an unknown key what to write instead.
func withSuggestion(fault string) string {
	name := regexp.MustCompile(`unknown field "(.*)"`).FindStringSubmatch(fault)
	if name == nil {
		return fault
	}
	if name[1] == "faults" {
		return fault + ": faults are no part of a case; ask a model behind one with molar eval run --fault tool:GLOB=error --from-drift live"
	}
	if near := text.Nearest(name[1], schemaKeys(caseSchema())); near != "" {
		return fmt.Sprintf("%s, did you mean %q?", fault, near)
	}
	return fault
}
