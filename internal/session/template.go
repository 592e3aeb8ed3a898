package session

import (
	"net/url"
	"strings"
)

// A Place is the cursor's place in a template.
type Place struct {
	// Done is the text before the typed value. Without a value, it extends to the next
	// variable.
	Done string
	// Variable is the one whose value is typed, Value the typed part of it, and Rest the text
	// after it. They are empty if the template continues with literal text.
	Variable, Value, Rest string
	// Others are the values of the earlier variables.
	Others map[string]string

	reserved bool
}

// Find returns the place of the typed text, and false if the template does not match.
func Find(template, typed string) (Place, bool) {
	p := Place{Others: map[string]string{}}
	for {
		text, after, more := strings.Cut(template, "{")
		if len(typed) < len(text) || typed == text && !more {
			p.Done += text
			return p, strings.HasPrefix(text, typed)
		}
		if !strings.HasPrefix(typed, text) || !more {
			return p, false
		}
		p.Done, typed = p.Done+text, typed[len(text):]
		expression, behind, closed := strings.Cut(after, "}")
		name, ok := variable(expression)
		if !closed || !ok {
			return p, false
		}
		rest, _, _ := strings.Cut(behind, "{")
		end := strings.Index(typed, rest)
		if rest == "" || end < 0 {
			p.Variable, p.Value, p.Rest, p.reserved = name, plain(typed), rest, expression[0] == '+'
			return p, true
		}
		p.Others[name] = plain(typed[:end])
		p.Done, typed, template = p.Done+typed[:end], typed[end:], behind
	}
}

// With returns the address up to the place, with a value in it.
func (p Place) With(value string) string {
	escape := strings.NewReplacer("%", "%25", " ", "%20", "/", "%2F", "?", "%3F", "#", "%23")
	if p.reserved {
		escape = strings.NewReplacer("%", "%25", " ", "%20")
	}
	return p.Done + escape.Replace(value) + p.Rest
}

// variable returns the name in an expression of a supported kind.
func variable(expression string) (string, bool) {
	name := strings.TrimPrefix(expression, "+")
	name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
	return name, name != "" && !strings.ContainsAny(name, "#./;?&,")
}

func plain(value string) string {
	if text, err := url.PathUnescape(value); err == nil {
		return text
	}
	return value
}
