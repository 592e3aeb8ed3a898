package toolhandler

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"molar/schemas"
)

// A Class is the effect that a call of a tool may have.
type Class string

// The classes.
const (
	// Reads: a call changes nothing.
	Reads Class = "reads"
	// Adds: a call changes nothing that exists, and may add to it.
	Adds Class = "only adds"
	// Writes: a call may change anything.
	Writes Class = "writes"
)

// Classify returns the class of a tool's calls and the evidence for it: the operator's mark, else
// the tool's own annotations, else the verbs of its name. Without evidence it is Writes.
func Classify(tool schemas.Tool) (class Class, why string) {
	hints := tool.Annotations
	verbClass, verb := readName(tool.ToolName)
	switch {
	case tool.Rules.ReadOnly:
		return Reads, "the config marks it readOnly"
	case destroys(tool):
		return Writes, "it announces itself as destructive"
	case isTrue(hints.ReadOnlyHint):
		return Reads, "it announces itself as read-only"
	case hints.DestructiveHint != nil && !*hints.DestructiveHint:
		return Adds, "it announces that it destroys nothing"
	case verbClass == Adds:
		return Adds, fmt.Sprintf("its name says %q", verb)
	case verbClass == Reads && hints == (schemas.ToolAnnotations{}):
		return Reads, fmt.Sprintf("its name says %q", verb)
	case verbClass == Writes:
		return Writes, fmt.Sprintf("its name says %q", verb)
	case hints != (schemas.ToolAnnotations{}):
		return Writes, "its annotations do not say that it only reads or adds"
	}
	return Writes, "it has no annotations, and its name has no verb that reads or adds"
}

// destroys reports whether the tool declares itself destructive and the operator has not
// overridden that.
func destroys(tool schemas.Tool) bool {
	return isTrue(tool.Annotations.DestructiveHint) && !tool.Rules.Mild
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// readName classifies a name by its verbs. The first known verb counts, so that "delete_list" is
// not a reader; of parts joined by "and" or "or", the strongest counts ("get_or_create"). The
// class is empty if no verb is known.
func readName(name string) (class Class, verb string) {
	found := false // a verb in this part of the name
	for _, word := range words(name) {
		if word == "and" || word == "or" || word == "then" {
			found = false
			continue
		}
		of := classOf(word)
		if of == "" || found {
			continue
		}
		found = true
		if class == "" || class == Reads || of == Writes {
			class, verb = of, word
		}
	}
	return class, verb
}

func classOf(word string) Class {
	switch {
	case slices.Contains(readingVerbs(), word):
		return Reads
	case slices.Contains(addingVerbs(), word):
		return Adds
	case slices.Contains(writingVerbs(), word):
		return Writes
	}
	return ""
}

// readingVerbs, addingVerbs and writingVerbs are the known verbs in names, as docs/trust.md lists
// them. An unknown verb is no evidence; writing verbs matter only before another verb.
func readingVerbs() []string {
	return []string{
		"browse", "check", "compare", "count", "describe", "explain", "fetch", "find", "get", "inspect", "list", "look",
		"lookup", "preview", "query", "read", "retrieve", "search", "show", "summarize", "view",
	}
}

func addingVerbs() []string {
	return []string{"add", "append", "book", "create", "insert", "register", "remember", "reserve", "schedule"}
}

func writingVerbs() []string {
	return []string{
		"apply", "archive", "cancel", "change", "clear", "close", "delete", "destroy", "disable", "drop", "edit", "enable",
		"erase", "execute", "install", "kill", "mark", "merge", "modify", "move", "overwrite", "patch", "publish", "purge",
		"put", "remove", "rename", "replace", "reset", "revoke", "run", "save", "send", "set", "stop", "submit", "sync",
		"truncate", "update", "upload", "wipe", "write",
	}
}

// words splits a name at characters other than letters and after runs of small letters:
// "getUserByID" is get, user, by, id.
func words(name string) []string {
	var b strings.Builder
	var before rune
	runes := []rune(name)
	for i, r := range runes {
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsUpper(before) && next) {
			b.WriteByte(' ')
		}
		before = r
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
