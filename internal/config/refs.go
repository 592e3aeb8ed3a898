package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"molar/providers"
	"molar/schemas"
)

// A piece is a part of a value: literal text or, if ref is set, the name of a variable with its
// default.
type piece struct {
	text     string
	ref      bool
	fallback string
}

// bracedReference matches ${...}. anyReference also matches $NAME, which Gemini CLI replaces too.
var (
	bracedReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^${}]*)\}`) })
	anyReference    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{([^${}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
	})
	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
)

// split splits a value into literal text and the references that its host would replace.
func (r *reader) split(value string) []piece {
	form := bracedReference()
	if r.host == HostGemini {
		form = anyReference()
	}
	var out []piece
	rest := 0
	for _, at := range form.FindAllStringSubmatchIndex(value, -1) {
		if at[0] > rest {
			out = append(out, piece{text: value[rest:at[0]]})
		}
		if at[2] >= 0 {
			out = append(out, r.parseReference(value[at[2]:at[3]]))
		} else {
			out = append(out, r.parseReference(value[at[4]:at[5]]))
		}
		rest = at[1]
	}
	if rest < len(value) {
		out = append(out, piece{text: value[rest:]})
	}
	return out
}

// parseReference returns the piece for the reference ${inner}.
func (r *reader) parseReference(inner string) piece {
	kind, id, _ := strings.Cut(inner, ":")
	use, name := "the file refers to it", ""
	switch plain, fallback, hasDefault := strings.Cut(inner, ":-"); {
	case inner == "/" || inner == "pathSeparator":
		return piece{text: "/"}
	case r.person && slices.Contains(personValues(), inner):
		return piece{text: inner, ref: true}
	case inner == "userHome":
		name = "HOME"
	case kind == "workspaceFolder" || kind == "workspaceRoot":
		name, use = "WORKSPACE_FOLDER", "the folder that was open in the editor"
	case kind == "input":
		name, use = varName(id), "input "+quoteComment(id)
		if text := r.inputs[id]; text != "" {
			use += ", " + quoteComment(text)
		}
	case kind == "env" && variableName().MatchString(id):
		name = id
	case variableName().MatchString(inner):
		name = inner
	case hasDefault && variableName().MatchString(plain):
		if harmless(plain, fallback) && !strings.ContainsAny(fallback, "${}") {
			return piece{text: plain, ref: true, fallback: fallback}
		}
		name, use = plain, "its default was left out, as it may be secret"
	default:
		name, use = varName(inner), "in the place of "+quoteComment("${"+inner+"}")
	}
	r.addVariable(name, use)
	return piece{text: name, ref: true}
}

// render writes pieces for molar.yaml, where a literal $ is written as $$.
func (r *reader) render(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.ref && p.fallback != "":
			fmt.Fprintf(&b, "${%s:-%s}", p.text, p.fallback)
		case p.ref:
			fmt.Fprintf(&b, "${%s}", p.text)
		default:
			b.WriteString(strings.ReplaceAll(p.text, "$", "$$"))
		}
	}
	return b.String()
}

// variable returns the name of the variable that replaces a value: base or, if base is not free,
// base after the server's name.
func (r *reader) variable(server, base, value, use string) string {
	name := base
	for n := 1; !r.isFree(name, value); n++ {
		name = varName(server + "_" + base)
		if n > 1 {
			name = fmt.Sprintf("%s_%d", name, n)
		}
	}
	r.values[name] = value
	r.addVariable(name, use)
	return name
}

// isFree reports whether a variable may hold a value: the file does not refer to it, no other value
// uses it, and neither Molar nor common programs read it from the environment.
func (r *reader) isFree(name, value string) bool {
	known := append(providers.Variables(),
		"PATH", "HOME", "USER", "USERNAME", "USERPROFILE", "LANG", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "TERM", "MCP_SERVER_URL")
	before, taken := r.values[name]
	if r.conflicts != nil && r.conflicts(name, schemas.Secret(value)) {
		return false
	}
	return !r.out.references[name] && !slices.Contains(known, name) && !strings.HasPrefix(name, "MOLAR_") && (!taken || before == value)
}

func (r *reader) addVariable(name, use string) {
	if name == "HOME" || slices.ContainsFunc(r.out.Variables, func(v Variable) bool { return v.Name == name }) {
		return
	}
	r.out.Variables = append(r.out.Variables, Variable{Name: name, Use: use})
}

// referencedNames returns the variables that the file refers to.
func referencedNames(data []byte) map[string]bool {
	names := map[string]bool{}
	for _, m := range anyReference().FindAllSubmatch(data, -1) {
		inner, _, _ := strings.Cut(strings.TrimPrefix(string(m[1])+string(m[2]), "env:"), ":-")
		if id, input := strings.CutPrefix(inner, "input:"); input {
			inner = varName(id)
		}
		names[inner] = true
	}
	names["WORKSPACE_FOLDER"] = true
	return names
}

// VariableName turns a text into the name of an environment variable.
func VariableName(text string) string { return varName(text) }

// varName turns a text into the name of an environment variable.
func varName(text string) string {
	name := strings.Trim(regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(text), "_"), "_")
	if name == "" || isDigit(rune(name[0])) {
		name = strings.TrimSuffix("V_"+name, "_")
	}
	return name
}
