package mcpclients

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"molar/internal/text"
	"molar/schemas"
)

// leftOut stands for a sentence that was taken out.
const leftOut = "[…]"

// mindOwn takes out of descriptions the sentences that name tools of other servers: no server
// has business with those, and a model takes what stands there for orders. What a trusted
// server says is left as it is.
func mindOwn(names toolNames, tools []schemas.Tool) {
	for i := range tools {
		t := &tools[i]
		if t.Rules.Trusted || len(names.servers) == 0 {
			continue
		}
		t.Description = names.without(t.Server, t.Description)
		t.Title = names.without(t.Server, t.Title)
		t.InputSchema = names.withoutIn(t.Server, t.InputSchema)
	}
}

// Own returns a text of a server without the sentences that name tools of other servers.
func (c *Catalogue) Own(server, said string) string {
	for _, t := range c.tools {
		if t.Server == server && t.Rules.Trusted {
			return said
		}
	}
	return c.names.without(server, said)
}

// toolNames are how texts may name the tools of several servers.
type toolNames struct {
	// servers and their tools' names, in letters alone.
	servers []serverNames
	// own are the servers by a tool's own name, folded.
	own map[string][]string
}

type serverNames struct {
	server, letters string
	offered         []string
}

// namesOf are the names by which texts may speak of tools; none where there is one server.
func namesOf(tools []schemas.Tool) toolNames {
	names := toolNames{own: make(map[string][]string)}
	for _, t := range tools { // sorted by server
		last := len(names.servers) - 1
		if last < 0 || names.servers[last].server != t.Server {
			names.servers = append(names.servers, serverNames{server: t.Server, letters: onlyLetters(t.Server)})
			last++
		}
		names.servers[last].offered = append(names.servers[last].offered, onlyLetters(t.Server+t.ToolName))
		own := text.Fold(t.ToolName)
		names.own[own] = append(names.own[own], t.Server)
	}
	if len(names.servers) < 2 {
		return toolNames{}
	}
	return names
}

func onlyLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text.Fold(s))
}

// name reports whether a text of a server names a tool of another one.
func (names toolNames) name(server, said string) bool {
	letters := onlyLetters(said)
	for _, other := range names.servers {
		if other.server == server || !strings.Contains(letters, other.letters) {
			continue
		}
		if slices.ContainsFunc(other.offered, func(name string) bool { return strings.Contains(letters, name) }) {
			return true
		}
	}
	fold := text.Fold(said)
	for word := range strings.FieldsFuncSeq(fold, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}) {
		word = strings.Trim(word, ".-")
		if servers := names.own[word]; len(servers) > 0 && !slices.Contains(servers, server) && isNamed(fold, word) {
			return true
		}
	}
	return false
}

// isNamed reports whether a word of a text names a tool: one that may be a plain word does only
// where arguments follow.
func isNamed(fold, own string) bool {
	if strings.ContainsAny(own, "_-.") {
		return true
	}
	named, err := regexp.MatchString(`(^|[^a-z0-9_])`+regexp.QuoteMeta(own)+`[^a-z0-9_.{][^.{]{0,12}\{`, fold)
	return err != nil || named
}

// without returns a text of a server without the sentences that name a tool of another one. A
// text that does so in a code is left out as a whole.
func (names toolNames) without(server, said string) string {
	if len(names.servers) == 0 || said == "" {
		return said
	}
	for _, decoded := range inCode(said) {
		if decoded != said && names.name(server, decoded) {
			return leftOut
		}
	}
	if !names.name(server, said) {
		return said
	}
	var kept strings.Builder
	for _, sentence := range strings.SplitAfter(strings.ReplaceAll(said, ". ", ".\x00"), "\x00") {
		for _, line := range strings.SplitAfter(sentence, "\n") {
			if names.name(server, line) {
				line = leftOut + line[len(strings.TrimRight(line, "\x00\n")):]
			}
			kept.WriteString(line)
		}
	}
	clean := strings.ReplaceAll(kept.String(), "\x00", " ")
	if names.name(server, clean) { // it named one across sentences
		return leftOut
	}
	return clean
}

var coded = regexp.MustCompile(`[A-Za-z0-9+/_\-]{16,}={0,2}`)

// inCode are the codes that a text may be written in: turned by thirteen letters, entities
// of HTML, tag characters, or base64.
func inCode(said string) []string {
	all := []string{strings.Map(rot13, said), html.UnescapeString(said), strings.Map(untagged, said)}
	for _, token := range coded.FindAllString(said, 20) {
		token = strings.TrimRight(token, "=")
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if plain, err := enc.DecodeString(token); err == nil {
				all = append(all, string(plain))
			}
		}
	}
	return all
}

// untagged reads the tag characters, which nobody sees.
func untagged(r rune) rune {
	if r >= 0xE0020 && r < 0xE007F {
		return r - 0xE0000
	}
	return r
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// withoutIn does the same to the descriptions in a schema. One that cannot be read, and one
// with nothing to take out, stay as they are.
func (names toolNames) withoutIn(server string, schema json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return schema
	}
	changed := false
	value = names.clean(server, value, &changed)
	if !changed {
		return schema
	}
	clean, err := json.Marshal(value)
	if err != nil {
		return schema
	}
	return clean
}

func (names toolNames) clean(server string, value any, changed *bool) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = names.clean(server, v[i], changed)
		}
	case map[string]any:
		for key, member := range v {
			said, isText := member.(string)
			if !isText || key != "description" && key != "title" && key != "$comment" {
				v[key] = names.clean(server, member, changed)
				continue
			}
			if clean := names.without(server, said); clean != said {
				v[key], *changed = clean, true
			}
		}
	}
	return value
}
