package transport

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameLen bounds the names of servers and tools, in bytes.
const maxNameLen = 256

// Handshakes lists the MCP revisions that begin with a handshake, newest first.
func Handshakes() []string {
	return []string{ProtocolHandshake, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// Revisions lists all MCP revisions that the host speaks, newest first.
func Revisions() []string {
	return append([]string{ProtocolStateless}, Handshakes()...)
}

// protocols returns the values that may be configured.
func protocols() []string {
	return append([]string{ProtocolAuto}, Revisions()...)
}

// ValidateServers joins every fault of the list, each with its server's name.
func ValidateServers(servers []ServerConfig) error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range servers {
		if err := ValidateName(s.Name); err != nil {
			errs = append(errs, fmt.Errorf("mcpServers: server name %q %w", s.Name, err))
			continue
		}
		if seen[s.Name] {
			errs = append(errs, fmt.Errorf("mcpServers.%s: the name is used twice: rename one of the two", s.Name))
			continue
		}
		seen[s.Name] = true
		if s.Unset != "" {
			continue
		}
		for _, err := range s.faults() {
			errs = append(errs, fmt.Errorf("mcpServers.%s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

// ValidateName returns what is wrong with the name of a server or tool.
func ValidateName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxNameLen:
		return fmt.Errorf("is longer than %d bytes", maxNameLen)
	case !utf8.ValidString(name):
		return errors.New("is not valid UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("contains control characters")
	}
	return nil
}

// faults returns what is wrong with one server.
func (s *ServerConfig) faults() []error {
	errs := []error{s.transportFault()}
	if s.Timeout < 0 || s.Timeout > MaxTimeout {
		errs = append(errs, fmt.Errorf("timeout %s is out of range: use a value up to %s", s.Timeout, MaxTimeout))
	}
	if s.StartTimeout < 0 || s.StartTimeout > MaxTimeout {
		errs = append(errs, fmt.Errorf("start_timeout %s is out of range: use a value up to %s", s.StartTimeout, MaxTimeout))
	}
	if s.Protocol != "" && !slices.Contains(protocols(), s.Protocol) {
		errs = append(errs, fmt.Errorf("protocol %q is unknown: use one of %s", s.Protocol, strings.Join(protocols(), ", ")))
	}
	if kind := s.Transport(); s.Protocol == ProtocolStateless && (kind == TypeSSE || kind == TypeMessage) {
		errs = append(errs, fmt.Errorf("protocol %q does not go with type %q: remove one of the two", s.Protocol, kind))
	}
	for _, glob := range slices.Concat(s.IncludeTools, s.ExcludeTools) {
		errs = append(errs, globFault(glob))
	}
	for _, rule := range s.Rules {
		errs = append(errs, globFault(rule.Glob))
		if rule.Timeout < 0 || rule.Timeout > MaxTimeout {
			errs = append(errs, fmt.Errorf("tools.%s.timeout %s is out of range: use a value up to %s", rule.Glob, rule.Timeout, MaxTimeout))
		}
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func globFault(glob string) error {
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Errorf("tool pattern %q is malformed: check its brackets", glob)
	}
	return nil
}

// transportFault checks that the fields fit together.
func (s *ServerConfig) transportFault() error {
	set := 0
	for _, given := range []bool{s.Command != "", s.URL != "", s.InProcess != nil} {
		if given {
			set++
		}
	}
	if set != 1 {
		return errors.New("needs exactly one of command and url")
	}
	switch kind := s.Transport(); {
	case kind == TypeStdio && s.Command != "":
		return s.processFault()
	case OverWeb(kind) && s.URL != "":
		return s.urlFault()
	case kind == TypeInProcess && s.InProcess != nil:
		return nil
	case kind == TypeStdio:
		return errors.New(`type "stdio" needs a command`)
	case OverWeb(kind):
		return fmt.Errorf("type %q needs a url", kind)
	default:
		return fmt.Errorf("type %q is unknown: use %q with a command, or %q, %q or %q with a url", kind, TypeStdio, TypeHTTP, TypeSSE, TypeMessage)
	}
}

// OverWeb reports whether servers of this type have a URL.
func OverWeb(kind string) bool {
	return kind == TypeHTTP || kind == TypeSSE || kind == TypeMessage
}

func (s *ServerConfig) processFault() error {
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env %q cannot be passed to a process: correct its name or value", name)
		}
	}
	for _, arg := range append([]string{s.Command, s.Dir}, s.Args...) {
		if strings.ContainsRune(arg, 0) {
			return errors.New("command, args and cwd must not contain NUL")
		}
	}
	return nil
}

func (s *ServerConfig) urlFault() error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("url is not an http or https address")
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("header %q cannot be sent: correct its name or value", name)
		}
	}
	return nil
}
