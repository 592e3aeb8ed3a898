package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"molar/schemas"
)

// An entry is a server to write as YAML.
type entry struct {
	// name is the name in molar.yaml, original that in the file of the other host.
	name, original string
	notes          []string
	fields         []field
	disabled       bool
}

// A field is a key and its value: a string, a bool, a number, a list of strings or fields.
type field struct {
	key   string
	value any
}

func (e *entry) add(key string, value any) { e.fields = append(e.fields, field{key, value}) }

// note adds a comment. Use quoteComment for the parts of it that come from the file.
func (e *entry) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// write returns the YAML of the servers and completes r.out. An invalid server becomes a comment
// with the reason.
func (r *reader) write(file string, servers []entry) []byte {
	var body strings.Builder
	for _, e := range servers {
		text := e.text()
		if err := checkServers([]byte("mcpServers:\n"+text), r.sample); err != nil && !r.unchecked {
			r.leaveOut(&body, e, err)
			continue
		}
		r.out.parts = append(r.out.parts, text)
		body.WriteString(text)
	}
	var head strings.Builder
	for _, note := range r.notes {
		fmt.Fprintf(&head, "# %s\n", note)
	}
	used := slices.DeleteFunc(r.out.Variables, func(v Variable) bool { return !v.in(body.String()) })
	for i, v := range used {
		used[i].Value = schemas.Secret(r.values[v.Name])
	}
	r.out.Variables = used
	if len(used) > 0 {
		head.WriteString("# Put the values of these variables into molar.env next to molar.yaml, or into the environment:\n")
	}
	for _, v := range used {
		fmt.Fprintf(&head, "#   %s: %s\n", v.Name, v.Use)
	}
	r.out.head, r.out.entries = head.String(), body.String()
	of := ""
	if r.host != HostUnknown {
		of = " of " + string(r.host) + ","
	}
	return fmt.Appendf(nil, "# MCP servers%s from %s.\n%s", of, quoteComment(file), r.out.document())
}

func (r *reader) leaveOut(b *strings.Builder, e entry, err error) {
	r.out.LeftOut = append(r.out.LeftOut, e.original)
	r.out.Servers = slices.DeleteFunc(r.out.Servers, func(name string) bool { return name == e.name })
	why := err.Error()
	if fault, ok := errors.AsType[*fault](err); ok {
		why = strings.TrimPrefix(strings.TrimPrefix(fault.Key, "mcpServers."+e.name), ".") + ": " + fault.Message
	}
	why = oneLine(strings.TrimPrefix(why, ": "))
	r.out.faults = append(r.out.faults, why)
	fmt.Fprintf(b, "  # %s is left out: %s\n", quoteComment(e.original), why)
	for _, note := range e.notes {
		fmt.Fprintf(b, "  #   %s\n", note)
	}
}

// sample returns a placeholder for the value of a variable, for the validation of the text.
func (r *reader) sample(name string) (string, bool) {
	for _, v := range r.out.Variables {
		if v.Name == name && v.Address {
			return "http://example.com", true
		}
	}
	return "1", true
}

// text returns the entry as YAML below mcpServers.
func (e entry) text() string {
	var b strings.Builder
	if e.name != e.original {
		fmt.Fprintf(&b, "  # original name: %s\n", quoteComment(e.original))
	}
	for _, note := range e.notes {
		fmt.Fprintf(&b, "  # %s\n", note)
	}
	if len(e.fields) == 0 {
		fmt.Fprintf(&b, "  %s: {}\n", quote(e.name))
		return b.String()
	}
	fmt.Fprintf(&b, "  %s:\n", quote(e.name))
	writeFields(&b, "    ", e.fields)
	return b.String()
}

func writeFields(b *strings.Builder, indent string, fields []field) {
	for _, f := range fields {
		switch value := f.value.(type) {
		case []field:
			fmt.Fprintf(b, "%s%s:\n", indent, quote(f.key))
			writeFields(b, indent+"  ", value)
		case []string:
			quoted := make([]string, len(value))
			for i, item := range value {
				quoted[i] = quote(item)
			}
			fmt.Fprintf(b, "%s%s: [%s]\n", indent, quote(f.key), strings.Join(quoted, ", "))
		case bool, int:
			fmt.Fprintf(b, "%s%s: %v\n", indent, quote(f.key), value)
		case string:
			fmt.Fprintf(b, "%s%s: %s\n", indent, quote(f.key), quote(value))
		}
	}
}

// quote writes a string as YAML, without quotes if it is unambiguous.
func quote(s string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`).MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s) // YAML supports all its escapes
}

// maxCommentQuote is the length of the longest quote in a comment, in bytes.
const maxCommentQuote = 80

// quoteComment quotes a part of the file so that it cannot end the comment.
func quoteComment(s string) string {
	if len(s) > maxCommentQuote {
		s = strings.ToValidUTF8(s[:maxCommentQuote], "") + "…"
	}
	quoted := strconv.Quote(s)
	if plain := quoted[1 : len(quoted)-1]; plain == s && s != "" && !strings.Contains(s, " ") {
		return plain
	}
	return quoted
}

// oneLine replaces line breaks and other characters that are not printable by blanks.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
