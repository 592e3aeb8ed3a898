package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molar/schemas"
)

// A NewServer is a server that a person names on a command line or in a pasted text. Its values may
// contain ${NAME} and secrets.
type NewServer struct {
	Name    string            `json:"-"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Type, As and Timeout are as in the config file; empty means the default.
	Type    string `json:"-"`
	As      string `json:"-"`
	Timeout string `json:"-"`
	// Secret puts a variable in place of every value of Env and Headers, not only of those that look
	// secret.
	Secret bool `json:"-"`
}

// Convert converts the server in the way of [ReadHostFile]. No server gets one of the taken names.
// conflicts reports whether a variable has another value already; nil means never. Variables with
// the names in references belong to others.
func (s NewServer) Convert(taken []string, conflicts func(name string, value schemas.Secret) bool, references []byte) (*HostFile, error) {
	own, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	r := newReader(HostUnknown, append(references, own...), taken)
	r.secret, r.conflicts, r.person = s.Secret, conflicts, true
	r.unchecked = s.As != "" // it depends on logins.keys
	e := r.server(member{s.Name, own}, r.newName(s.Name))
	e.original = e.name
	for _, f := range []field{{"type", s.Type}, {"as", s.As}, {"timeout", s.Timeout}} {
		if f.value != "" {
			e.fields = append(e.fields, f)
		}
	}
	r.write("", []entry{e})
	if len(r.out.faults) > 0 {
		return nil, errors.New(r.out.faults[0])
	}
	return r.out, nil
}

// CheckServerName returns an error if a new server cannot have that name.
func CheckServerName(name string, taken []string) error {
	r := newReader(HostUnknown, nil, taken)
	switch free := r.newName(name); {
	case free == name:
		return nil
	case slices.Contains(ReservedServers(), name):
		return fmt.Errorf("%q is the name of a bundled server; choose another name, such as %q", name, free)
	case slices.Contains(taken, name):
		return fmt.Errorf("a server is called %q already; choose another name, such as %q, or remove that one first: molar servers remove %s", name, free, name)
	default:
		return fmt.Errorf("want a name of letters, digits, '_' and '-', at most %d, such as %q, not %q", maxServerName, free, name)
	}
}

// NameOfCommand names a server after the package, image or folder in its command: the first
// word that refers to a server, else the first that is not an option. The name is valid, but may be taken.
func NameOfCommand(words []string) string {
	tells, variable := regexp.MustCompile(`(?i)mcp|server`), regexp.MustCompile(`^[A-Z0-9_]+(=|$)`)
	candidates := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") || variable.MatchString(w) })
	candidates = append(candidates, words[0])
	at := max(0, slices.IndexFunc(candidates, tells.MatchString))
	for _, part := range slices.Backward(strings.Split(candidates[at], "/")) {
		version := regexp.MustCompile(`(.)[@:].*|\.(js|mjs|ts|py)$`)
		parts := strings.FieldsFunc(strings.ToLower(version.ReplaceAllString(part, "$1")), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "mcp" || s == "server" })
		if name := strings.Join(parts, "-"); name != "" {
			return name[:min(len(name), maxServerName)]
		}
	}
	return "server"
}
