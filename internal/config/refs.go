package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"molar/providers"
)

// A piece of a value is literal text or, as ref, the name of a variable, with what
// takes its place when it is not set.
type piece struct {
	text     string
	ref      bool
	fallback string
}

// placeholder matches ${...}, bare also $NAME, which some hosts read too.
var (
	placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^${}]*)\}`) })
	bare        = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{([^${}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
	})
	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
)

// cut splits a value at what its host would replace.
func (r *reader) cut(value string) []piece {
	form := placeholder()
	if r.host == HostGemini {
		form = bare()
	}
	var out []piece
	rest := 0
	for _, at := range form.FindAllStringSubmatchIndex(value, -1) {
		if at[0] > rest {
			out = append(out, piece{text: value[rest:at[0]]})
		}
		if at[2] >= 0 {
			out = append(out, r.resolve(value[at[2]:at[3]]))
		} else {
			out = append(out, r.resolve(value[at[4]:at[5]]))
		}
		rest = at[1]
	}
	if rest < len(value) {
		out = append(out, piece{text: value[rest:]})
	}
	return out
}

// resolve returns what stands for ${inner}.
func (r *reader) resolve(inner string) piece {
	kind, id, _ := strings.Cut(inner, ":")
	use, name := "the file refers to it", ""
	switch plain, fallback, hasDefault := strings.Cut(inner, ":-"); {
	case inner == "/" || inner == "pathSeparator":
		return piece{text: "/"}
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
	r.declare(name, use)
	return piece{text: name, ref: true}
}

// join writes pieces for molar.yaml, where $ has a meaning of its own.
func (r *reader) join(pieces []piece) string {
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

// variable returns the variable that stands for a value: base, with the server's
// name before it where base means something else.
func (r *reader) variable(server, base, value, use string) string {
	name := base
	for n := 1; !r.free(name, value); n++ {
		name = varName(server + "_" + base)
		if n > 1 {
			name = fmt.Sprintf("%s_%d", name, n)
		}
	}
	r.values[name] = value
	r.declare(name, use)
	return name
}

// free reports whether a name may stand for a value: none that the file itself
// refers to, none that stands for another, and none that programs read from the
// environment anyway, Molar above all.
func (r *reader) free(name, value string) bool {
	known := append(providers.Variables(),
		"PATH", "HOME", "USER", "USERNAME", "USERPROFILE", "LANG", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "TERM", "MCP_SERVER_URL")
	before, taken := r.values[name]
	return !r.out.asWritten[name] && !slices.Contains(known, name) && !strings.HasPrefix(name, "MOLAR_") && (!taken || before == value)
}

func (r *reader) declare(name, use string) {
	if name == "HOME" || slices.ContainsFunc(r.out.Variables, func(v Variable) bool { return v.Name == name }) {
		return
	}
	r.out.Variables = append(r.out.Variables, Variable{Name: name, Use: use})
}

// referred finds the variables that the file refers to, before anything is named.
func referred(data []byte) map[string]bool {
	names := map[string]bool{}
	for _, m := range bare().FindAllSubmatch(data, -1) {
		inner, _, _ := strings.Cut(strings.TrimPrefix(string(m[1])+string(m[2]), "env:"), ":-")
		if id, input := strings.CutPrefix(inner, "input:"); input {
			inner = varName(id)
		}
		names[inner] = true
	}
	names["WORKSPACE_FOLDER"] = true
	return names
}

// varName makes the name of an environment variable out of any text.
func varName(text string) string {
	name := strings.Trim(regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(text), "_"), "_")
	if name == "" || isDigit(rune(name[0])) {
		name = strings.TrimSuffix("V_"+name, "_")
	}
	return name
}
