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

// leftOut replaces a removed sentence.
const leftOut = "[…]"

// dropForeignToolNames removes from descriptions the sentences that name tools of other servers,
// since a model takes them for orders. Texts of trusted servers stay unchanged.
func dropForeignToolNames(names toolNames, tools []schemas.Tool) {
	for i := range tools {
		t := &tools[i]
		if t.Rules.Marks.Trust || len(names.servers) == 0 {
			continue
		}
		t.Description = names.without(t.Server, t.Description)
		t.Title = names.without(t.Server, t.Title)
		t.InputSchema = names.withoutIn(t.Server, t.InputSchema)
	}
}

// Own returns a server's text without the sentences that name tools of other servers.
func (c *Catalogue) Own(server, content string) string {
	for _, t := range c.tools {
		if t.Server == server && t.Rules.Marks.Trust {
			return content
		}
	}
	return c.names.without(server, content)
}

// toolNames holds the names by which texts may mention the tools of several servers.
type toolNames struct {
	// servers holds the servers and their tools' names, reduced to letters and digits.
	servers []serverNames
	// ownName maps a tool's own name, folded, to its servers.
	ownName map[string][]string
}

type serverNames struct {
	server, letters string
	tools           []string
}

// namesOf returns the names by which texts may mention tools; empty if there is only one server.
func namesOf(tools []schemas.Tool) toolNames {
	names := toolNames{ownName: make(map[string][]string)}
	for _, t := range tools { // sorted by server
		last := len(names.servers) - 1
		if last < 0 || names.servers[last].server != t.Server {
			names.servers = append(names.servers, serverNames{server: t.Server, letters: onlyLetters(t.Server)})
			last++
		}
		names.servers[last].tools = append(names.servers[last].tools, onlyLetters(t.Server+t.ToolName))
		ownName := text.Fold(t.ToolName)
		names.ownName[ownName] = append(names.ownName[ownName], t.Server)
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

// name reports whether a server's text names a tool of another server.
func (names toolNames) name(server, content string) bool {
	letters := onlyLetters(content)
	for _, other := range names.servers {
		if other.server == server || !strings.Contains(letters, other.letters) {
			continue
		}
		if slices.ContainsFunc(other.tools, func(name string) bool { return strings.Contains(letters, name) }) {
			return true
		}
	}
	fold := text.Fold(content)
	for word := range strings.FieldsFuncSeq(fold, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}) {
		word = strings.Trim(word, ".-")
		if servers := names.ownName[word]; len(servers) > 0 && !slices.Contains(servers, server) && isNamed(fold, word) {
			return true
		}
	}
	return false
}

// isNamed reports whether a word of a text names a tool. A name that may be a plain word counts
// only if arguments follow.
func isNamed(fold, ownName string) bool {
	if strings.ContainsAny(ownName, "_-.") {
		return true
	}
	named, err := regexp.MatchString(`(^|[^a-z0-9_])`+regexp.QuoteMeta(ownName)+`[^a-z0-9_.{][^.{]{0,12}\{`, fold)
	return err != nil || named
}

// without returns a server's text without the sentences that name another server's tool. A text
// that does so in an encoding is dropped whole.
func (names toolNames) without(server, content string) string {
	if len(names.servers) == 0 || content == "" {
		return content
	}
	for _, decoded := range decodings(content) {
		if decoded != content && names.name(server, decoded) {
			return leftOut
		}
	}
	if !names.name(server, content) {
		return content
	}
	var kept strings.Builder
	for _, sentence := range strings.SplitAfter(strings.ReplaceAll(content, ". ", ".\x00"), "\x00") {
		for _, line := range strings.SplitAfter(sentence, "\n") {
			if names.name(server, line) {
				line = leftOut + line[len(strings.TrimRight(line, "\x00\n")):]
			}
			kept.WriteString(line)
		}
	}
	clean := strings.ReplaceAll(kept.String(), "\x00", " ")
	if names.name(server, clean) { // a name spans sentences
		return leftOut
	}
	return clean
}

var base64Like = regexp.MustCompile(`[A-Za-z0-9+/_\-]{16,}={0,2}`)

// decodings returns the decodings of a text: ROT13, HTML entities, tag characters and base64.
func decodings(content string) []string {
	all := []string{strings.Map(rot13, content), html.UnescapeString(content), strings.Map(untagged, content)}
	for _, token := range base64Like.FindAllString(content, 20) {
		token = strings.TrimRight(token, "=")
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if plain, err := enc.DecodeString(token); err == nil {
				all = append(all, string(plain))
			}
		}
	}
	return all
}

// untagged decodes the invisible tag characters.
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

// withoutIn applies without to the descriptions in a schema. It returns an unreadable or
// unaffected schema unchanged.
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
			content, isText := member.(string)
			if !isText || key != "description" && key != "title" && key != "$comment" {
				v[key] = names.clean(server, member, changed)
				continue
			}
			if clean := names.without(server, content); clean != content {
				v[key], *changed = clean, true
			}
		}
	}
	return value
}
