package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// name is the name of the program.
const name = "molar"

// Program returns what a person types to start this program where they are: its name if PATH leads
// to it, the go run of a checkout, or else the path by which it was started.
func Program() string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	if found, err := exec.LookPath(name); err == nil && sameFile(found, self) {
		return name
	}
	return typedPath(os.Args[0], func(path string) bool { _, err := os.Stat(path); return err == nil })
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// typedPath returns what starts a program that was started by a path and is not in PATH.
func typedPath(path string, exists func(string) bool) string {
	const folder = "cmd/" + name
	switch {
	case !regexp.MustCompile(`[/\\]` + name + `([-_][^/\\]*)?(\.exe)?$`).MatchString(path): // a name alone, which leads nowhere, or another program
		return name
	case regexp.MustCompile(`/go-build[0-9]*/|/[0-9a-f]{64}-d/`).MatchString(filepath.ToSlash(path)): // of Go's cache or temporary folder
		if exists(folder) {
			return "go run ./" + folder
		}
		return "go run " + name + "/" + folder
	case strings.ContainsAny(path, " \t'\"$"):
		return strconv.Quote(path)
	}
	return path
}

// Typed returns a text with its commands of this program as a person can type them, see [Program].
func Typed(text string) string { return typedBy(Program(), text) }

func typedBy(program, text string) string {
	if program == name {
		return text
	}
	// Not within a path, so that a text can be given twice.
	commands := regexp.MustCompile(`(^|[^\w./\\-])` + name + ` (init|doctor|serve|mcp|chat|example|tools|servers|knowledge|topic|turns|eval|conversations|people|audit|backup|migrate|keys|config|--help)\b`)
	return commands.ReplaceAllString(text, "${1}"+strings.ReplaceAll(program, "$", "$$")+" ${2}")
}
