package mcpclients

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"molar/schemas"
)

const (
	// maxOffered is the length of a function name that every provider accepts.
	maxOffered = 64
	// hashLen is the length of a hash suffix, without its underscore.
	hashLen = 8
)

// plainName joins server and tool and replaces characters that a function name must not have.
// exact reports whether nothing changed.
func plainName(server, tool string) (name string, exact bool) {
	joined := server + "__" + tool
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || (r >= '0' && r <= '9') || isLetter(r) {
			return r
		}
		return '_'
	}, joined)
	if name[0] != '_' && !isLetter(rune(name[0])) {
		name = "_" + name
	}
	return name, name == joined && len(name) <= maxOffered
}

func isLetter(r rune) bool {
	return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
}

// hashedName ends the name with a hash of server and tool, so that it does not depend on what
// else is attached. attempt is above 0 only if another tool took the name.
func hashedName(plain, server, tool string, attempt int) string {
	text := server + "\x00" + tool
	if attempt > 0 {
		text += "\x00" + strconv.Itoa(attempt)
	}
	sum := sha256.Sum256([]byte(text))
	suffix := "_" + hex.EncodeToString(sum[:])[:hashLen]
	return plain[:min(len(plain), maxOffered-len(suffix))] + suffix
}

// offerNames sets the Name of every tool: the plain one if it fits and no other tool claims it,
// else a hashed one. If several tools claim a plain name, the only one that needed no change
// keeps it. tools are in their final order, which decides the rest.
func offerNames(tools []schemas.Tool) {
	type claim struct{ all, exact int }
	claims := map[string]claim{}
	for _, t := range tools {
		plain, exact := plainName(t.Server, t.ToolName)
		c := claims[plain]
		c.all++
		if exact {
			c.exact++
		}
		claims[plain] = c
	}
	taken := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		t.Name = ""
		plain, exact := plainName(t.Server, t.ToolName)
		c := claims[plain]
		if len(plain) <= maxOffered && (c.all == 1 || (exact && c.exact == 1)) {
			t.Name = plain
			taken[plain] = true
		}
	}
	for i := range tools {
		t := &tools[i]
		plain, _ := plainName(t.Server, t.ToolName)
		for attempt := 0; t.Name == ""; attempt++ {
			if name := hashedName(plain, t.Server, t.ToolName, attempt); !taken[name] {
				t.Name = name
				taken[name] = true
			}
		}
	}
}
