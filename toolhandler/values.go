package toolhandler

import (
	"slices"
	"strings"

	"molar/schemas"
)

// A Value is what a call has for one of its tool's arguments.
type Value struct {
	// Path has the names with dots between them.
	Path string
	Use  Use
	// Texts is one text, or those of a list.
	Texts []string
	// IsFlag is set for true and false.
	IsFlag bool
}

// ValuesOf returns the values of a call, in the order in which it names them. Those that the schema
// gives anyway are left out.
func ValuesOf(tool schemas.Tool, arguments string) []Value {
	var all []Value
	for _, l := range leavesOf(tool, schemaOf(tool), arguments) {
		if l.isPreset() {
			continue
		}
		if last := len(all) - 1; last >= 0 && all[last].Path == l.path {
			all[last].Texts = append(all[last].Texts, asText(l.value))
			continue
		}
		_, isFlag := l.value.(bool)
		all = append(all, Value{Path: l.path, Use: l.use, Texts: []string{asText(l.value)}, IsFlag: isFlag})
	}
	place := func(v Value) int {
		name := v.Path[strings.LastIndexByte(v.Path, '.')+1:]
		return strings.Index(arguments, `"`+name+`"`)
	}
	slices.SortStableFunc(all, func(a, b Value) int { return place(a) - place(b) })
	return all
}

// VerbOf returns the known verb that a tool's name begins with, after the name of its server, and the
// words behind it; "" if it begins with no such verb.
func VerbOf(tool schemas.Tool) (verb string, object []string) {
	all := ownWords(tool)
	if len(all) == 0 || !slices.Contains(readingVerbs(), all[0]) && !slices.Contains(writingVerbs(), all[0]) {
		return "", all
	}
	return all[0], all[1:]
}

// Words splits a name into its words: "getUserByID" is get, user, by, id.
func Words(name string) []string { return words(name) }
