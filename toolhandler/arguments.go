package toolhandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"molar/schemas"
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
func Arguments(tool schemas.Tool) []Argument {
	var all []Argument
	var walk func(path string, s *argSchema, depth int)
	walk = func(path string, s *argSchema, depth int) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			at := join(path, name)
			inner := s.Properties[name].list()
			if len(inner.Properties) > 0 && depth < maxDepth {
				walk(at, inner, depth+1)
				continue
			}
			all = append(all, Argument{at, useOf(tool, at, name, inner), isCommand(name, inner)})
		}
	}
	walk("", schemaOf(tool), 0)
	return all
}

// maxDepth bounds the nesting of arguments that is looked at; what is deeper belongs to the destination.
const maxDepth = 6

// contentWords end the names of arguments that are free text, and begin their descriptions;
// commandWords are those of arguments that can hold a command. docs/trust.md lists both.
func contentWords() []string {
	return []string{"answer", "body", "caption", "comment", "content", "contents", "description", "html", "markdown", "message", "note", "notes", "observations", "subject", "summary", "text", "title"}
}

func commandWords() []string {
	return []string{"action", "body", "cmd", "command", "commands", "graphql", "method", "mutation", "operation", "payload", "script", "shell", "sql", "statement", "statements", "verb"}
}

// commandLanguage matches descriptions of arguments that hold a command whatever their name is.
var commandLanguage = regexp.MustCompile(`(?i)\b(sql|graphql|cypher|statements?|shell|scripts?|javascript|source code|http method|mutation)\b`)

// useOf returns the use of an argument.
func useOf(tool schemas.Tool, path, name string, s *argSchema) Use {
	isContent := s.isFreeText() && (slices.Contains(contentWords(), lastWord(name)) || speaksOfContent(s.Description))
	if tool.Rules.Content != nil {
		isContent = slices.Contains(tool.Rules.Content, path)
	}
	if isContent {
		return Content
	}
	return Place
}

// isCommand reports whether an argument can hold a command. One that can only have the values of
// reading verbs cannot.
func isCommand(name string, s *argSchema) bool {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(v any) bool {
		text, ok := v.(string)
		return !ok || !isReadingWord(text)
	}) {
		return false
	}
	last := lastWord(name)
	return slices.Contains(commandWords(), last) || strings.EqualFold(name, "code") ||
		s.isFreeText() && !slices.Contains([]string{"id", "name", "number"}, last) && commandLanguage.MatchString(s.Description)
}

func isReadingWord(text string) bool {
	all := words(text)
	return len(all) > 0 && slices.Contains(append(readingVerbs(), "head", "options"), all[0])
}

// speaksOfContent reports whether a description begins by naming free text: "The text of the mail".
func speaksOfContent(description string) bool {
	all := words(description)
	for len(all) > 0 && slices.Contains([]string{"the", "a", "an", "optional", "new", "full", "plain"}, all[0]) {
		all = all[1:]
	}
	return len(all) > 0 && slices.Contains(contentWords(), all[0]) &&
		(len(all) == 1 || slices.Contains([]string{"to", "of", "for", "that", "in", "which"}, all[1]))
}

// An argSchema is the part of a JSON Schema that tells what an argument is for. Members of other types
// than expected count as absent.
type argSchema struct {
	Type        any                   `json:"type"`
	Description string                `json:"description"`
	Format      string                `json:"format"`
	Pattern     string                `json:"pattern"`
	Enum        []any                 `json:"enum"`
	Const       any                   `json:"const"`
	Default     any                   `json:"default"`
	Examples    []any                 `json:"examples"`
	Minimum     any                   `json:"minimum"`
	Maximum     any                   `json:"maximum"`
	Properties  map[string]*argSchema `json:"properties"`
	Items       *argSchema            `json:"items"`
	AnyOf       []*argSchema          `json:"anyOf"`
}

// UnmarshalJSON leaves out members whose type is not the expected one, such as a boolean schema.
func (s *argSchema) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	for name, into := range map[string]any{
		"type": &s.Type, "description": &s.Description, "format": &s.Format, "pattern": &s.Pattern, "enum": &s.Enum, "const": &s.Const,
		"default": &s.Default, "examples": &s.Examples, "minimum": &s.Minimum, "maximum": &s.Maximum,
		"properties": &s.Properties, "items": &s.Items, "anyOf": &s.AnyOf,
	} {
		if raw, ok := members[name]; ok {
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.UseNumber()
			_ = dec.Decode(into) //nolint:errcheck // it counts as absent
		}
	}
	return nil
}

// schemaOf returns the schema of a tool's arguments; an empty one if it cannot be read.
func schemaOf(tool schemas.Tool) *argSchema {
	s := new(argSchema)
	if len(tool.InputSchema) > 0 && json.Unmarshal(tool.InputSchema, s) != nil {
		return new(argSchema)
	}
	return s
}

// list returns the schema of the entries of a list, and of the only branch that is not null; other
// schemas as they are.
func (s *argSchema) list() *argSchema {
	for range maxDepth {
		switch {
		case s == nil:
			return new(argSchema)
		case s.Items != nil:
			s = s.Items
		case len(s.AnyOf) > 0 && s.Type == nil && len(s.Enum) == 0:
			branches := slices.DeleteFunc(slices.Clone(s.AnyOf), func(b *argSchema) bool { return b == nil || b.Type == "null" })
			if len(branches) != 1 {
				return s
			}
			inner := *branches[0]
			if inner.Description == "" {
				inner.Description = s.Description
			}
			s = &inner
		default:
			return s
		}
	}
	return s
}

func (s *argSchema) isFreeText() bool {
	is := s.Type == "string"
	if list, ok := s.Type.([]any); ok {
		is = slices.Contains(list, any("string"))
	}
	return is && len(s.Enum) == 0 && s.Const == nil && s.Format == "" && s.Pattern == ""
}

// names returns the values that the schema itself names.
func (s *argSchema) names(value any) bool {
	named := slices.Concat(s.Enum, s.Examples, []any{s.Const, s.Default, s.Minimum, s.Maximum})
	return slices.ContainsFunc(named, func(v any) bool { return v != nil && same(v, value) })
}

// A leaf is a value of a call's arguments.
type leaf struct {
	// path is that of the argument, key the same with the positions in lists.
	path, key string
	value     any
	schema    *argSchema
	use       Use
	// declared is false if the schema has no argument of this name.
	declared bool
}

// leavesOf returns the values of a call's arguments, ordered by key.
func leavesOf(tool schemas.Tool, args json.RawMessage) []leaf {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil
	}
	var all []leaf
	var walk func(path, key, name string, s *argSchema, declared bool, value any, depth int)
	walk = func(path, key, name string, s *argSchema, declared bool, value any, depth int) {
		s = s.list()
		switch v := value.(type) {
		case map[string]any:
			if len(v) == 0 && path != "" {
				break
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				inner, known := s.Properties[name]
				walk(join(path, name), join(key, name), name, inner, declared && known, v[name], depth+1)
			}
			return
		case []any:
			for i, e := range v {
				walk(path, join(key, strconv.Itoa(i)), name, s, declared, e, depth+1)
			}
			if len(v) > 0 {
				return
			}
		case nil:
			return
		}
		l := leaf{path, key, value, s, Place, declared}
		if declared && depth <= maxDepth {
			l.use = useOf(tool, path, name, s)
		}
		all = append(all, l)
	}
	walk("", "", "", schemaOf(tool), true, value, 0)
	return all
}

func lastWord(name string) string {
	if all := words(name); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// same reports whether two decoded values are equal.
func same(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

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
