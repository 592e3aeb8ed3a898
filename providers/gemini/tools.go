package gemini

import (
	"errors"

	"google.golang.org/genai"

	"molar/providers/wire"
	"molar/schemas/lower"
)

// lowerTool converts the schema of a tool.
func lowerTool(t *wire.Tool) error {
	if !wire.IsFunctionName(t.Info.Name) {
		return errors.New("its name is not a function name: a letter or _, then letters, digits, _ and -, at most 64")
	}
	res, err := lower.ForGemini(t.Info.InputSchema)
	if err != nil {
		return err
	}
	t.Params, t.Description, t.Wrapped = res.Schema, wire.Described(t.Info, res.Hint), res.Wrapped
	return nil
}

// declarations returns the tools in the SDK's form.
func declarations(set wire.ToolSet) []*genai.FunctionDeclaration {
	list := make([]*genai.FunctionDeclaration, len(set))
	for i, t := range set {
		list[i] = &genai.FunctionDeclaration{Name: t.Info.Name, Description: t.Description}
		if string(t.Params) != `{"type":"object"}` { // some models reject an object without properties
			list[i].ParametersJsonSchema = verbatim(t.Params)
		}
	}
	return list
}
