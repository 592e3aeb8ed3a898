package ollama

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"molar/providers/wire"
	"molar/schemas/lower"
)

// A model without tool support is held to a format by the server's grammar: an object with the
// calls, or one with the answer. One request offers both, rather than two (one for the calls, if
// any, and one for the text), because the second would cost a model pass in every turn without a
// call; the answer is streamed out of its JSON string as it arrives.

// callsForm and answerForm are the two objects.
type (
	callsForm struct {
		ToolCalls []callForm `json:"tool_calls" jsonschema:"minItems=1,maxItems=16"`
	}
	callForm struct {
		Function functionForm `json:"function"`
	}
	functionForm struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	answerForm struct {
		Answer string `json:"answer"`
	}
)

// maxArguments bounds the schema of one tool's arguments in a format, in bytes; larger ones are
// left to the model. The server compiles it all into a grammar for every request.
const maxArguments = 16 << 10

// A form offers tools through the format of the answer.
type form struct {
	set      wire.ToolSet
	required bool // calls are required
	schema   json.RawMessage
	prompt   string
}

func newForm(set wire.ToolSet, required bool) (*form, error) {
	f := &form{set: set, required: required, prompt: formPrompt(set, required)}
	calls := reflectForm(callsForm{})
	list := calls.Properties.Value("tool_calls")
	one := list.Items
	list.Items = &jsonschema.Schema{}
	for _, t := range set {
		list.Items.AnyOf = append(list.Items.AnyOf, callSchema(t, one.Required))
	}
	root := calls
	if !required {
		root = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{calls, reflectForm(answerForm{})}}
	}
	var err error
	if f.schema, err = json.Marshal(root); err != nil {
		return nil, fmt.Errorf("build the schema that offers the tools: %w", err)
	}
	return f, nil
}

// callSchema returns the schema of a call to one tool.
func callSchema(t *wire.Tool, required []string) *jsonschema.Schema {
	function := reflectForm(functionForm{})
	function.Properties.Set("name", &jsonschema.Schema{Const: t.Info.Name})
	function.Properties.Set("arguments", argumentsSchema(t))
	call := reflectForm(callForm{})
	call.Required = required
	call.Properties.Set("function", function)
	return call
}

// argumentsSchema reduces a tool's schema to what a format may hold.
func argumentsSchema(t *wire.Tool) *jsonschema.Schema {
	raw, _, err := lower.ForFormatObject(t.Info.InputSchema)
	var keys map[string]json.RawMessage
	if err != nil || len(raw) > maxArguments || json.Unmarshal(raw, &keys) != nil {
		return &jsonschema.Schema{Type: "object"}
	}
	// As extras the keywords stay unchanged: their numbers keep their digits.
	s := &jsonschema.Schema{Extras: map[string]any{}}
	for key, value := range keys {
		s.Extras[key] = value
	}
	return s
}

func reflectForm(v any) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.Reflect(v)
	s.Version = ""
	return s
}

// formPrompt describes the tools and the forms of the answer to the model.
func formPrompt(set wire.ToolSet, required bool) string {
	var b strings.Builder
	b.WriteString("You can call these tools:\n")
	for _, t := range set {
		fmt.Fprintf(&b, "- %s: %s\n  arguments: %s\n", t.Info.Name, wire.Harmless(strings.Join(strings.Fields(t.Description), " ")), wire.Harmless(string(t.Params)))
	}
	b.WriteString("Write one JSON object and nothing else. To call tools, write\n" +
		`{"tool_calls":[{"function":{"name":"the tool","arguments":{}}}]}` + "\n" +
		"with an entry for each call. Their results come in the next message.\n")
	if required {
		b.WriteString("You must call at least one tool.")
	} else {
		b.WriteString("When no tool is needed, or their results suffice, write your answer:\n" + `{"answer":"your answer"}`)
	}
	return b.String()
}
