package openai

import (
	"encoding/json"

	"molar/schemas/lower"
)

// EnforcesSchema reports whether the service guarantees that an answer matches a schema: OpenAI itself
// does, for the schemas that its strict mode accepts
// (https://platform.openai.com/docs/guides/structured-outputs).
func (p *Provider) EnforcesSchema(model string, schema json.RawMessage) bool {
	_, strict, err := lower.ForOpenAIAnswer(schema)
	return err == nil && strict && p.SchemaBesideTools(model, schema)
}

// SchemaBesideTools reports whether the model takes a schema of its answer beside tools. OpenAI's
// do, but for those that refuse a schema; of the models behind other servers nothing is known, and several
// refuse the request.
func (p *Provider) SchemaBesideTools(model string, _ json.RawMessage) bool {
	return p.original && p.chat.lessons.Refused(model, "response_format") == 0 && p.response.lessons.Refused(model, paramFormat) == 0
}
