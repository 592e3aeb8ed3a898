package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The patterns are compiled when first used, as other commands need none of them.

// secretName matches the names of settings that hold secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)key|token|secret|pass|pwd|auth|cred|cookie|private|session|signature|bearer|dsn|conn|webhook|salt|jwt|license`)
})

// knownToken matches the forms that services give their keys.
var knownToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b((sk|pk|rk|glpat|xox[a-z]|pypi|shpat)[-_]|(gh[opsur]|github_pat|hf|npm)_|ya29\.|AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_.-]{8,}`)
})

// harmless reports whether a value may be shown. Whatever is not plainly harmless
// counts as secret: a variable too many costs a person a line, a secret in a file
// that gets shared costs more.
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

// isPath matches one path or a list of them, absolute or from the home folder.
func isPath(value string) bool {
	return regexp.MustCompile(`^(~?/|\./|\.\./|[A-Za-z]:[\\/])[^\s@?&=]*$`).MatchString(value)
}

// hasToken reports whether some word of the text looks like a key: by its form, or
// since it is long and holds both letters and several digits, which nobody writes by
// hand.
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

// envValue is the value of an environment variable of a server.
func (r *reader) envValue(server, name, value string) string {
	return r.whole(server, name, value, varName(name), "env "+quoteComment(name)+" of "+server)
}

// header is the value of an HTTP header. A scheme before the secret stays.
func (r *reader) header(server, name, value string) string {
	base := varName(server + "_" + name)
	scheme := regexp.MustCompile(`^(?i)(Bearer|Basic|Token|ApiKey) +`).FindString(value)
	if scheme != "" && strings.EqualFold(name, "Authorization") {
		base = varName(server + "_TOKEN")
	}
	use := "header " + quoteComment(name) + " of " + server
	if scheme != "" {
		use += ", what follows " + strings.TrimSpace(scheme)
	}
	if name := strings.ToLower(name); name == "accept" || name == "content-type" || name == "user-agent" {
		return r.masked(server, value)
	}
	return scheme + r.whole(server, name, value[len(scheme):], base, use)
}

// whole shows a harmless value, keeps the references of one that has some, and
// else puts a variable in its place.
func (r *reader) whole(server, name, value, base, use string) string {
	pieces := r.cut(value)
	if slices.ContainsFunc(pieces, func(p piece) bool { return p.ref }) {
		return r.join(r.mask(server, pieces))
	}
	if harmless(name, value) {
		return r.join(pieces)
	}
	return "${" + r.variable(server, base, value, use) + "}"
}

// masked shows a value, with variables in the place of what looks secret in it.
func (r *reader) masked(server, value string) string { return r.join(r.mask(server, r.cut(value))) }

// address is a masked address; one that begins with a variable is noted as such,
// so that it is checked with one.
func (r *reader) address(server, value string) string {
	pieces := r.mask(server, r.cut(value))
	if len(pieces) > 0 && pieces[0].ref {
		for i, v := range r.out.Variables {
			r.out.Variables[i].Address = v.Address || v.Name == pieces[0].text
		}
	}
	return r.join(pieces)
}

// args masks a command line: also the word after an option with a telling name.
func (r *reader) args(server string, args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		option := ""
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") {
			option = strings.TrimLeft(args[i-1], "-")
		}
		if secretName().MatchString(option) && !strings.HasPrefix(arg, "-") && !isPath(arg) && !assigned().MatchString(arg) {
			out[i] = r.whole(server, option, arg, varName(server+"_"+option), "argument --"+quoteComment(option)+" of "+server)
			continue
		}
		out[i] = r.masked(server, arg)
	}
	return out
}

// assigned matches NAME=VALUE, --name=VALUE, ?name=VALUE and "Name: VALUE" with a
// telling name, and the password in an address. The value is the last group but
// one.
var assigned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)([A-Za-z0-9_.-]*(?:key|token|secret|pass|pwd|auth|cred|cookie|private|session|signature|dsn|jwt)[A-Za-z0-9_.-]*)(?:=|: *(?:(?:Bearer|Basic|Token) +)?)([^\s"'&;,]+)|://[^\s/@:]*:([^\s/@]+)@`)
})

// mask puts variables in the place of what looks secret in the literal pieces.
func (r *reader) mask(server string, pieces []piece) []piece {
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
		at := assigned().FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		name, from, to := "PASSWORD", at[6], at[7]
		if at[4] >= 0 {
			name, from, to = text[at[2]:at[3]], at[4], at[5]
		}
		out = append(out, r.tokens(server, text[:from])...)
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
	return append(out, r.tokens(server, text)...)
}

// tokens replaces the words that look like keys by themselves.
func (r *reader) tokens(server, text string) []piece {
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
