package toolhandler

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"molar/schemas"
	"molar/schemas/lower"
)

// A Use is what an argument is for, as far as the rules care.
type Use string

// The uses.
const (
	// Content is free text: what is sent, not where.
	Content Use = "free text"
	// Place is part of the destination: every other argument.
	Place Use = "destination"
)

// An Argument is a declared argument of a tool, with those inside it.
type Argument struct {
	// Path has the names with dots between them; those in a list share the list's name.
	Path string `json:"path"`
	Use  Use    `json:"use"`
	// Command is set if it can hold a command, a statement, a method or a body, so that the tool's name
	// does not say what a call does.
	Command bool `json:"command,omitempty"`
}

// Arguments returns the arguments that a tool declares, by path.
func Arguments(tool schemas.Tool) []Argument { return argumentsIn(tool, schemaOf(tool)) }

func argumentsIn(tool schemas.Tool, root *argSchema) []Argument {
	var all []Argument
	eachArgument(tool, root, func(path, name string, s *argSchema, command bool) bool {
		all = append(all, Argument{path, useOf(tool, path, name, s), command})
		return true
	})
	return all
}

// eachArgument visits the arguments that a tool declares, by path, until visit returns false.
func eachArgument(tool schemas.Tool, root *argSchema, visit func(path, name string, s *argSchema, command bool) bool) {
	var walk func(path string, s *argSchema, command bool) bool
	walk = func(path string, s *argSchema, command bool) bool {
		for _, name := range s.order {
			at, inner := join(path, name), s.properties[name]
			for inner.items != nil { // those in a list share its name
				inner = inner.items
			}
			command := command || isCommand(tool, name, inner)
			if len(inner.properties) > 0 {
				if !walk(at, inner, command) {
					return false
				}
			} else if !visit(at, name, inner, command) {
				return false
			}
		}
		return true
	}
	walk("", root, false)
}

// contentWords end the names of arguments that are free text; those of textWords also begin their
// descriptions. placeWords begin the descriptions of arguments that are none, whatever their names;
// commandWords are in the names of those that can hold a command. docs/trust.md lists them.
func contentWords() []string {
	return append(textWords(), "answer", "caption", "comment", "description", "message", "note", "notes", "observations", "subject", "summary", "title")
}

func textWords() []string { return []string{"body", "content", "contents", "html", "markdown", "text"} }

func placeWords() []string {
	return []string{"address", "id", "identifier", "ids", "key", "name", "number", "path", "uri", "url"}
}

func commandWords() []string {
	return []string{"action", "body", "cmd", "command", "commands", "graphql", "method", "mutation", "operation", "payload", "script", "shell", "sql", "statement", "statements", "verb"}
}

// commandLanguage matches texts about a tool or an argument that takes a command whatever its name is.
var commandLanguage = regexp.MustCompile(`(?i)\b([a-z]*sql[a-z]*|graphql|cypher|statements?|shell|scripts?|javascript|source code|http method|mutation)\b`)

// useOf returns the use of an argument.
func useOf(tool schemas.Tool, path, name string, s *argSchema) Use {
	isContent := s.freeText && speaksOfContent(name, s.description)
	if tool.Rules.Content != nil {
		isContent = slices.Contains(tool.Rules.Content, path)
	}
	if isContent {
		return Content
	}
	return Place
}

// speaksOfContent reports whether the name or the description of an argument says that it is free text.
func speaksOfContent(name, description string) bool {
	about, last := describing(description), lastWord(name)
	return (slices.Contains(contentWords(), last) || speaksOfText(about)) &&
		!slices.ContainsFunc(append(about[:min(2, len(about))], last), func(w string) bool { return slices.Contains(placeWords(), w) })
}

// describing returns the words of a description from the first that tells something.
func describing(description string) []string {
	all := words(description)
	for len(all) > 0 && slices.Contains([]string{"the", "a", "an", "optional", "new", "full", "plain"}, all[0]) {
		all = all[1:]
	}
	return all
}

// speaksOfText reports whether words begin by naming a text: "text of the mail".
func speaksOfText(about []string) bool {
	return len(about) > 0 && slices.Contains(textWords(), about[0]) &&
		(len(about) == 1 || slices.Contains([]string{"to", "of", "for", "that", "in", "which"}, about[1]))
}

// isCommand reports whether an argument can hold a command. One that can only have the values of
// reading verbs cannot.
func isCommand(tool schemas.Tool, name string, s *argSchema) bool {
	if len(s.enum) > 0 && !slices.ContainsFunc(s.enum, func(v any) bool {
		text, ok := v.(string)
		return !ok || !isReadingWord(text)
	}) {
		return false
	}
	about := s.description
	if slices.Contains([]string{"expression", "input", "query"}, lastWord(name)) || strings.EqualFold(name, "q") {
		about += " " + strings.Join(words(tool.ToolName), " ") + " " + tool.Description
	}
	return namesCommand(name) || s.freeText && !namesThing(name) && commandLanguage.MatchString(about)
}

// namesCommand reports whether the name of an argument says that it holds a command.
func namesCommand(name string) bool {
	return !namesThing(name) && slices.ContainsFunc(words(name), func(w string) bool { return slices.Contains(commandWords(), w) }) || strings.EqualFold(name, "code")
}

func namesThing(name string) bool {
	return slices.Contains([]string{"id", "ids", "name", "number"}, lastWord(name))
}

func isReadingWord(text string) bool {
	all := words(text)
	return len(all) > 0 && slices.Contains(append(readingVerbs(), "head", "options"), all[0])
}

// An argSchema is the part of a JSON Schema that tells what an argument is for.
type argSchema struct {
	description, format string
	// freeText is set for a string that may hold anything.
	freeText bool
	// enum are the only values, named also those that the schema mentions, preset is the default.
	enum, named []any
	preset      any
	properties  map[string]*argSchema
	// order are the names of the properties, sorted.
	order []string
	items *argSchema
	// whole is false if a part of the schema was not read; arguments counts the declared ones. Both are
	// of the root.
	whole     bool
	arguments int
}

// maxParts and maxDepth bound what is read of a schema.
const (
	maxParts = 4000
	maxDepth = 16
)

// schemaOf reads the schema of a tool's arguments. What cannot be read declares nothing.
func schemaOf(tool schemas.Tool) *argSchema {
	local, _ := lower.Local(tool.InputSchema)
	root, err := decoded(string(local))
	if err != nil {
		return new(argSchema)
	}
	r := schemaReader{root: root, open: make(map[string]bool)}
	s := r.read(root, 0)
	s.whole, s.arguments = !r.cut, r.arguments
	return s
}

// A schemaReader reads a schema with its references. One inside itself declares nothing again.
type schemaReader struct {
	root             any
	open             map[string]bool
	parts, arguments int
	cut              bool
}

func (r *schemaReader) read(node any, depth int) *argSchema {
	s := &argSchema{properties: make(map[string]*argSchema)}
	if r.parts++; r.parts > maxParts || depth > maxDepth {
		r.cut = true
		return s
	}
	m, _ := node.(map[string]any)
	s.description, _ = m["description"].(string)
	s.format, _ = m["format"].(string)
	s.enum, _ = m["enum"].([]any)
	examples, _ := m["examples"].([]any)
	s.preset = m["default"]
	s.named = slices.DeleteFunc(slices.Concat(s.enum, examples, []any{m["const"], s.preset, m["minimum"], m["maximum"]}), func(v any) bool { return v == nil })
	properties, _ := m["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		r.arguments++
		s.properties[name] = r.read(properties[name], depth+1)
	}
	if items, ok := m["items"]; ok {
		s.items = r.read(items, depth+1)
		s.items.description = cmp.Or(s.items.description, s.description)
	}
	branches := r.branches(m, depth)
	s.freeText = isString(m["type"]) && m["enum"] == nil && m["const"] == nil && s.format == "" && m["pattern"] == nil && len(branches) == 0
	for _, b := range branches {
		if len(branches) == 1 && m["type"] == nil && m["enum"] == nil {
			s.freeText, s.enum, s.format = b.freeText, b.enum, cmp.Or(s.format, b.format)
			s.description = cmp.Or(s.description, b.description)
		}
		s.named = append(s.named, b.named...)
		s.preset = cmp.Or(s.preset, b.preset)
		s.items = cmp.Or(s.items, b.items)
		for name, inner := range b.properties {
			s.properties[name] = cmp.Or(s.properties[name], inner)
		}
	}
	s.order = slices.Sorted(maps.Keys(s.properties))
	return s
}

// branches reads the schemas that another one combines or refers to.
func (r *schemaReader) branches(m map[string]any, depth int) []*argSchema {
	var all []*argSchema
	if ref, ok := m["$ref"].(string); ok && !r.open[ref] {
		r.open[ref] = true
		all = append(all, r.read(r.at(ref), depth+1))
		delete(r.open, ref)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[key].([]any)
		for _, b := range list {
			if branch, ok := b.(map[string]any); !ok || branch["type"] != "null" {
				all = append(all, r.read(b, depth+1))
			}
		}
	}
	return all
}

// at returns the part of the schema that a reference names; nil if it names none.
func (r *schemaReader) at(ref string) any {
	node := r.root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#"), "/") {
		if m, ok := node.(map[string]any); ok && name != "" {
			node = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	return node
}

func isString(kind any) bool {
	list, _ := kind.([]any)
	return kind == "string" || slices.Contains(list, any("string"))
}

// A leaf is a value of a call's arguments.
type leaf struct {
	// path is that of the argument, key the same with the positions in lists.
	path, key string
	value     any
	schema    *argSchema
	use       Use
	// declared is false if the schema has no argument of this name, unknown set if it has others in that
	// place.
	declared, unknown bool
}

// isPreset reports whether a value is the one that the schema gives anyway.
func (l leaf) isPreset() bool {
	return l.value == nil || l.schema.preset != nil && reflect.DeepEqual(l.schema.preset, l.value)
}

// leavesOf returns the values of a call's arguments, ordered by key.
func leavesOf(tool schemas.Tool, root *argSchema, arguments string) []leaf {
	value, err := decoded(arguments)
	if err != nil {
		return nil
	}
	var all []leaf
	var walk func(name string, l leaf)
	walk = func(name string, l leaf) {
		switch v := l.value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				inner, known := l.schema.properties[name]
				walk(name, leaf{
					path: join(l.path, name), key: join(l.key, name), value: v[name], schema: cmp.Or(inner, new(argSchema)), declared: l.declared && known,
					unknown: l.unknown || !known && (l.path == "" || len(l.schema.properties) > 0),
				})
			}
			if len(v) > 0 || l.path == "" {
				return
			}
		case []any:
			for i, e := range v {
				walk(name, leaf{
					path: l.path, key: join(l.key, strconv.Itoa(i)), value: e, schema: cmp.Or(l.schema.items, new(argSchema)), declared: l.declared && l.schema.items != nil,
					unknown: l.unknown,
				})
			}
			if len(v) > 0 {
				return
			}
		}
		if l.use = Place; l.declared {
			l.use = useOf(tool, l.path, name, l.schema)
		}
		all = append(all, l)
	}
	walk("", leaf{value: value, schema: root, declared: true})
	return all
}

func lastWord(name string) string {
	if all := words(name); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// join returns the path of an argument inside another one; a dot in a name is not that of a path, and a
// name without letters takes the place of no other.
func join(path, name string) string {
	if name == "" {
		name = `\e`
	} else if strings.ContainsAny(name, `\.`) {
		name = strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// decoded decodes arguments and keeps the digits of numbers.
func decoded(arguments string) (value any, err error) {
	if arguments == "" {
		arguments = "{}"
	}
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.UseNumber()
	err = dec.Decode(&value)
	return value, err
}

// canonical writes arguments in one way, whatever their spaces and the order of their names.
func canonical(arguments string) string {
	value, err := decoded(arguments)
	if err != nil {
		return arguments
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // decoded JSON encodes
	return strings.TrimSpace(b.String())
}
