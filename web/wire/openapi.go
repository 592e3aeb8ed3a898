package wire

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// An Operation describes one route for the OpenAPI document. Request and answer are
// values of the Go types that the handlers read and write.
type Operation struct {
	Method, Path string // the path in OpenAPI's form
	Tag, Summary string
	Scope        string // the scope that a key needs; empty for none
	Query        []Parameter
	Request      any
	Needs        []string // fields that the request must have
	Status       int      // of success; 0 means 200
	Answer       any
	Event        any // the data of each event, if the route can answer with a text/event-stream
	Text         bool
	Binary       bool // the answer is a file
	Errors       []int
	Failure      any // the body of the errors, if it is more than an error object
}

// A Parameter is a query parameter or a header: its name, and its meaning.
type Parameter [2]string

// object is a JSON object under construction.
type object = map[string]any

// Document returns the document. open means that objects may have further fields, as the document
// promises. A test sets it to false, to find fields that the document does not name.
func Document(operations []Operation, version string, open bool) ([]byte, error) {
	types := newTypeSchemas(open)
	paths := object{}
	for _, op := range operations {
		item, ok := paths[op.Path].(object)
		if !ok {
			item = object{}
			paths[op.Path] = item
		}
		described, err := types.operation(op)
		if err != nil {
			return nil, err
		}
		item[strings.ToLower(op.Method)] = described
	}
	return json.Marshal(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": jsonschema.Version,
		"info": object{
			"title": "Molar", "version": version,
			"description": "The host's HTTP side: an OpenAI-compatible chat endpoint, and the routes of an operator.",
		},
		"paths": paths,
		"components": object{
			"schemas":         types.components,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer"}},
		},
	})
}

// typeSchemas collects the schemas of Go types as components of one document.
type typeSchemas struct {
	open       bool
	components object
	seen       map[string]reflect.Type
}

func newTypeSchemas(open bool) *typeSchemas {
	return &typeSchemas{open: open, components: object{}, seen: map[string]reflect.Type{}}
}

func (t *typeSchemas) operation(op Operation) (object, error) {
	described := object{"summary": op.Summary, "tags": []string{op.Tag}, "operationId": operationID(op)}
	if op.Scope != "" {
		described["security"] = []object{{}, {"key": []string{op.Scope}}}
	}
	if p := parameters(op); len(p) > 0 {
		described["parameters"] = p
	}
	if op.Request != nil {
		schema, err := t.request(op)
		if err != nil {
			return nil, err
		}
		described["requestBody"] = object{"required": len(op.Needs) > 0, "content": object{"application/json": object{"schema": schema}}}
	}
	answers, err := t.answers(op)
	described["responses"] = answers
	return described, err
}

func (t *typeSchemas) answers(op Operation) (object, error) {
	content := object{}
	for media, value := range map[string]any{"application/json": op.Answer, "text/event-stream": op.Event} {
		if value == nil {
			continue
		}
		schema, err := t.reflect(value, false)
		if err != nil {
			return nil, err
		}
		content[media] = object{"schema": schema}
	}
	if op.Text {
		content["text/plain"] = object{"schema": object{"type": "string"}}
	}
	if op.Binary {
		content["application/octet-stream"] = object{"schema": object{"type": "string", "format": "binary"}}
	}
	success := object{"description": op.Summary}
	if len(content) > 0 {
		success["content"] = content
	}
	answers := object{strconv.Itoa(max(op.Status, http.StatusOK)): success}
	if op.Failure == nil {
		op.Failure = ErrorObject{}
	}
	failure, err := t.reflect(op.Failure, false)
	if err != nil {
		return nil, err
	}
	for _, status := range op.Errors {
		answers[strconv.Itoa(status)] = object{
			"description": http.StatusText(status),
			"content":     object{"application/json": object{"schema": failure}},
		}
	}
	return answers, nil
}

func operationID(op Operation) string {
	words := regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(op.Path, -1)
	return strings.ToLower(op.Method) + "_" + strings.Join(words, "_")
}

func parameters(op Operation) []object {
	var list []object
	for _, name := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(op.Path, -1) {
		list = append(list, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range op.Query {
		in, name := "query", p[0]
		if strings.Contains(name, "-") {
			in = "header"
		}
		list = append(list, object{"name": name, "in": in, "description": p[1], "schema": object{"type": "string"}})
	}
	return list
}

// request returns the schema of the body of a request. Only the fields that it needs are required.
func (t *typeSchemas) request(op Operation) (any, error) {
	schema, err := t.reflect(op.Request, true)
	if err != nil || len(op.Needs) == 0 {
		return schema, err
	}
	return object{"allOf": []any{schema, object{"required": op.Needs}}}, nil
}

// reflect returns a reference to the schema of a value's type. The type and the types that it
// refers to become components.
func (t *typeSchemas) reflect(value any, request bool) (object, error) {
	root := reflect.TypeOf(value)
	r := &jsonschema.Reflector{
		Anonymous:                  true,
		AllowAdditionalProperties:  t.open || request, // unknown fields of requests are ignored
		RequiredFromJSONSchemaTags: request,
		Namer: func(typ reflect.Type) string {
			name := componentName(typ)
			if request {
				name += "Request"
			}
			t.seen[name] = typ
			return name
		},
	}
	schema := r.ReflectFromType(root)
	schema.Version = ""
	for name, def := range schema.Definitions {
		if _, done := t.components[name]; done {
			continue
		}
		allowNull(def, t.seen[name])
		encoded, err := encodeSchema(def)
		if err != nil {
			return nil, err
		}
		t.components[name] = encoded
	}
	schema.Definitions = nil
	return encodeSchema(schema)
}

// encodeSchema returns a schema as an object, with its references pointing to the components.
func encodeSchema(s *jsonschema.Schema) (object, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if string(data) == "true" {
		return object{}, nil
	}
	var o object
	err = json.Unmarshal([]byte(strings.ReplaceAll(string(data), `"#/$defs/`, `"#/components/schemas/`)), &o)
	return o, err
}

// componentName returns the name of a type without packages, also those of its type arguments.
func componentName(t reflect.Type) string {
	name := regexp.MustCompile(`[A-Za-z0-9_./]*[./]`).ReplaceAllString(t.Name(), "")
	words := regexp.MustCompile(`[A-Za-z0-9_]+`).FindAllString(name, -1)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "Of")
}

// allowNull allows null for pointers without omitempty, which the reflector does not.
func allowNull(s *jsonschema.Schema, t reflect.Type) {
	if s == nil || s.Properties == nil || t == nil || t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			allowNull(s, inner)
			continue
		}
		property, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		switch {
		case f.Type.Kind() == reflect.Struct:
			allowNull(property, f.Type)
		case f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit"):
			s.Properties.Set(name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{property, {Type: "null"}}})
		}
	}
}
