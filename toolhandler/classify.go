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
	// Adds: a call changes nothing that exists, as the operator says.
	Adds Class = "only adds"
	// Writes: a call may change anything.
	Writes Class = "writes"
)

// Classify returns the class of a tool's calls and the evidence for it: the operator's mark, else
// the tool's own annotations, else a reading verb at the beginning of its name. An argument that can
// hold a command outweighs the last two. Without evidence it is Writes.
func Classify(tool schemas.Tool) (class Class, why string) {
	return classify(tool, func() *argSchema { return schemaOf(tool) }, nil)
}

// classify is Classify for a call, whose values its schema may not declare. The schema is read only if
// it matters.
func classify(tool schemas.Tool, root func() *argSchema, leaves []leaf) (class Class, why string) {
	hints, name := tool.Annotations, ownWords(tool)
	reads := len(name) > 0 && slices.Contains(readingVerbs(), name[0])
	writing := slices.IndexFunc(name, func(word string) bool { return slices.Contains(writingVerbs(), word) })
	unknown := slices.IndexFunc(leaves, func(l leaf) bool { return l.unknown })
	command := ""
	if isTrue(hints.ReadOnlyHint) || hints == (schemas.ToolAnnotations{}) && reads {
		command = commandOf(tool, root(), leaves)
	}
	switch {
	case tool.Rules.ReadOnly:
		return Reads, "the config marks it readOnly"
	case tool.Rules.Writes:
		return Writes, "a person has marked it as one that may change something"
	case unknown >= 0: // nobody has said what it does, and no mark was given for it
		return Writes, fmt.Sprintf("its schema has no argument %q", leaves[unknown].path)
	case tool.Rules.Adds:
		return Adds, "the config marks it adds"
	case destroys(tool):
		return Writes, "it announces itself as destructive"
	case command != "":
		return Writes, fmt.Sprintf("its argument %q can hold a command", command)
	case isTrue(hints.ReadOnlyHint):
		return Reads, "it announces itself as read-only"
	case hints != (schemas.ToolAnnotations{}):
		return Writes, "its annotations do not say that it only reads"
	case writing >= 0:
		return Writes, fmt.Sprintf("its name says %q", name[writing])
	case reads:
		return Reads, fmt.Sprintf("its name begins with %q", name[0])
	}
	return Writes, "it has no annotations, and its name does not begin with a verb that reads"
}

// destroys reports whether the tool declares itself destructive and the operator has not
// overridden that.
func destroys(tool schemas.Tool) bool {
	return isTrue(tool.Annotations.DestructiveHint) && !tool.Rules.Mild && !tool.Rules.Adds && !tool.Rules.ReadOnly
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// commandOf returns the first argument that can hold a command, "" if none matters: the credentials
// of the server cannot write.
func commandOf(tool schemas.Tool, root *argSchema, leaves []leaf) string {
	if tool.Rules.Marks.ReadOnly {
		return ""
	}
	found := ""
	eachArgument(tool, root, func(path, _ string, _ *argSchema, command bool) bool {
		if command {
			found = path
		}
		return !command
	})
	if found != "" {
		return found
	}
	for _, l := range leaves {
		if !l.declared && slices.ContainsFunc(strings.Split(l.path, "."), namesCommand) {
			return l.path
		}
	}
	if !root.whole {
		return "a part that is too deep or too long to read"
	}
	return ""
}

// ownWords returns the words of a tool's name without that of its server at the beginning.
func ownWords(tool schemas.Tool) []string {
	all, server := words(tool.ToolName), words(tool.Server)
	for len(all) > 1 && slices.Contains(server, all[0]) {
		all = all[1:]
	}
	return all
}

// readingVerbs are the verbs that a reader's name begins with, and writingVerbs the words that none
// holds, as docs/trust.md lists them. An unknown word is no evidence.
func readingVerbs() []string {
	return []string{
		"browse", "check", "compare", "count", "describe", "explain", "fetch", "find", "get", "inspect", "list", "look",
		"lookup", "preview", "query", "read", "retrieve", "search", "show", "summarize", "view",
	}
}

func writingVerbs() []string {
	return []string{
		"accept", "add", "append", "apply", "approve", "archive", "assign", "book", "buy", "cancel", "change", "charge", "checkout", "clear", "close",
		"commit", "create", "delete", "deploy", "destroy", "disable", "drop", "edit", "enable", "erase", "execute", "forward", "insert",
		"install", "invite", "invoke", "kill", "mark", "merge", "modify", "move", "out", "overwrite", "patch", "pay",
		"publish", "purge", "push", "put", "refund", "register", "reject", "remember", "remove", "rename", "replace", "reply", "reserve",
		"reset", "restart", "revoke", "rid", "run", "save", "schedule", "send", "set", "stop", "submit", "subscribe", "sync",
		"transfer", "truncate", "trigger", "uninstall", "unsubscribe", "update", "upload", "upsert", "wipe", "write",
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
