package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The patterns are compiled at their first use, because most commands do not need them.

// secretName matches the names of settings that hold secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)key|token|secret|pass|pwd|auth|cred|cookie|private|session|signature|bearer|dsn|conn|webhook|salt|jwt|license`)
})

// knownToken matches API keys and tokens in the formats of known services.
var knownToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b((sk|pk|rk|glpat|xox[a-z]|pypi|shpat)[-_]|(gh[opsur]|github_pat|hf|npm)_|ya29\.|AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_.-]{8,}`)
})

// harmless reports whether a value is no secret. When in doubt it returns false: an unnecessary
// variable costs a person one line, a secret in a shared file costs more.
func harmless(name, value string) bool {
	switch {
	case value == "" || value == "true" || value == "false":
		return true
	case secretName().MatchString(name) || hasToken(value):
		return false
	}
	plain := regexp.MustCompile(`^(-?[0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h)?|[A-Za-z][A-Za-z_.-]{0,15}|[a-z]{2}[_-][A-Z]{2}(\.UTF-8)?|(localhost|127\.0\.0\.1)(:[0-9]{1,5})?)$`)
	address := regexp.MustCompile(`^https?://[A-Za-z0-9.:/_~-]*$`)
	return plain.MatchString(value) || address.MatchString(value) || isPath(value)
}

// isPath reports whether a value is a path or a list of paths: absolute, relative to the home
// folder, or beginning with ./ or ../.
func isPath(value string) bool {
	return regexp.MustCompile(`^(~?/|\./|\.\./|[A-Za-z]:[\\/])[^\s@?&=]*$`).MatchString(value)
}

// hasToken reports whether a word of the text looks like a key: it has a known format, or it has at
// least 20 characters with letters and at least three digits.
func hasToken(text string) bool {
	if knownToken().MatchString(text) {
		return true
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n/\\.:,;@=&?'\"", r) })
	return slices.ContainsFunc(words, func(word string) bool {
		digits := strings.IndexFunc(word, isDigit) >= 0 && len(regexp.MustCompile(`[0-9]`).FindAllString(word, 3)) == 3
		return len(word) >= 20 && digits && regexp.MustCompile(`[A-Za-z]`).MatchString(word)
	})
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// envValue returns the converted value of an environment variable of a server.
func (r *reader) envValue(server, name, value string) string {
	return r.maskValue(server, name, value, varName(name), "env "+quoteComment(name)+" of "+server)
}

// header returns the converted value of an HTTP header. A scheme such as Bearer stays before the
// variable.
func (r *reader) header(server, name, value string) string {
	base := varName(server + "_" + name)
	scheme := regexp.MustCompile(`^(?i)(Bearer|Basic|Token|ApiKey) +`).FindString(value)
	if scheme != "" && strings.EqualFold(name, "Authorization") {
		base = varName(server + "_TOKEN")
	}
	use := "header " + quoteComment(name) + " of " + server
	if scheme != "" {
		use += ", the part after " + strings.TrimSpace(scheme)
	}
	if name := strings.ToLower(name); name == "accept" || name == "content-type" || name == "user-agent" {
		return r.maskString(server, value)
	}
	return scheme + r.maskValue(server, name, value[len(scheme):], base, use)
}

// maskValue returns a harmless value unchanged. In a value with references, it keeps them and masks
// the literal parts. It replaces any other value as a whole by a variable.
func (r *reader) maskValue(server, name, value, base, use string) string {
	pieces := r.split(value)
	if slices.ContainsFunc(pieces, func(p piece) bool { return p.ref }) {
		return r.render(r.maskPieces(server, pieces))
	}
	if harmless(name, value) && !r.secret {
		return r.render(pieces)
	}
	return "${" + r.variable(server, base, value, use) + "}"
}

// maskString returns a value in which variables replace the parts that look secret.
func (r *reader) maskString(server, value string) string {
	return r.render(r.maskPieces(server, r.split(value)))
}

// address returns a masked address. If it begins with a variable, the variable is marked as an
// address, so that validation substitutes an address for it.
func (r *reader) address(server, value string) string {
	pieces := r.maskPieces(server, r.split(value))
	if len(pieces) > 0 && pieces[0].ref {
		for i, v := range r.out.Variables {
			r.out.Variables[i].Address = v.Address || v.Name == pieces[0].text
		}
	}
	return r.render(pieces)
}

// args masks the arguments of a command. It also replaces the argument after an option whose name
// suggests a secret.
func (r *reader) args(server string, args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		option := ""
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") {
			option = strings.TrimLeft(args[i-1], "-")
		}
		if secretName().MatchString(option) && !strings.HasPrefix(arg, "-") && !isPath(arg) && !assignment().MatchString(arg) {
			out[i] = r.maskValue(server, option, arg, varName(server+"_"+option), "argument --"+quoteComment(option)+" of "+server)
			continue
		}
		out[i] = r.maskString(server, arg)
	}
	return out
}

// assignment matches NAME=VALUE, --name=VALUE, ?name=VALUE and "Name: VALUE" whose name suggests a
// secret, with the name in group 1 and the value in group 2, and the password of an address, in
// group 3.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)([A-Za-z0-9_.-]*(?:key|token|secret|pass|pwd|auth|cred|cookie|private|session|signature|dsn|jwt)[A-Za-z0-9_.-]*)(?:=|: *(?:(?:Bearer|Basic|Token) +)?)([^\s"'&;,]+)|://[^\s/@:]*:([^\s/@]+)@`)
})

// maskPieces replaces the parts of literal pieces that look secret by variables.
func (r *reader) maskPieces(server string, pieces []piece) []piece {
	var out []piece
	for _, p := range pieces {
		if p.ref {
			out = append(out, p)
			continue
		}
		out = append(out, r.maskText(server, p.text)...)
	}
	return out
}

func (r *reader) maskText(server, text string) []piece {
	var out []piece
	for {
		at := assignment().FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		name, from, to := "PASSWORD", at[6], at[7]
		if at[4] >= 0 {
			name, from, to = text[at[2]:at[3]], at[4], at[5]
		}
		out = append(out, r.maskTokens(server, text[:from])...)
		if value := text[from:to]; at[4] >= 0 && (isPath(value) || value == "true" || value == "false") {
			out = append(out, piece{text: value})
		} else {
			base := varName(strings.TrimLeft(name, "-"))
			if strings.ToUpper(name) != name || at[4] < 0 {
				base = varName(server + "_" + strings.TrimLeft(name, "-"))
			}
			out = append(out, piece{text: r.variable(server, base, value, quoteComment(name)+" of "+server), ref: true})
		}
		text = text[to:]
	}
	return append(out, r.maskTokens(server, text)...)
}

// maskTokens replaces the words that look like keys, whatever precedes them, by variables.
func (r *reader) maskTokens(server, text string) []piece {
	var out []piece
	words := regexp.MustCompile(`[^\s/\\:,;@=&?'"]+`)
	rest := 0
	for _, at := range words.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		if !hasToken(word) {
			continue
		}
		name := r.variable(server, varName(server+"_SECRET"), word, "a part that looks secret, of "+server)
		out = append(out, piece{text: text[rest:at[0]]}, piece{text: name, ref: true})
		rest = at[1]
	}
	return append(out, piece{text: text[rest:]})
}
