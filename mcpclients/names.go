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

// A label is what is found in the names of a tool, which need be read only once.
type label struct {
	// plain is the offered name if no other tool claims it; exact is set if nothing changed in it.
	plain string
	exact bool
	// own and offered are what a quick reader sees of the tool's own name and of the offered one.
	own, offered string
}

func newLabel(server, tool string) label {
	plain, exact := plainName(server, tool)
	return label{plain: plain, exact: exact, own: skeleton(tool), offered: skeleton(server + tool)}
}

// offerNames sets the Name of every tool: the plain one if it fits and no other tool claims it,
// else a hashed one. If several tools claim a plain name, the only one that needed no change
// keeps it. tools are in their final order, which decides the rest, and labels are theirs.
func offerNames(tools []schemas.Tool, labels []*label) {
	type claim struct{ all, exact int }
	claims := make(map[string]claim, len(tools))
	for _, l := range labels {
		c := claims[l.plain]
		c.all++
		if l.exact {
			c.exact++
		}
		claims[l.plain] = c
	}
	var rest []int // the tools that do not get their plain name
	for i := range tools {
		l := labels[i]
		c := claims[l.plain]
		if tools[i].Name = ""; len(l.plain) <= maxOffered && (c.all == 1 || (l.exact && c.exact == 1)) {
			tools[i].Name = l.plain
		} else {
			rest = append(rest, i)
		}
	}
	if rest == nil {
		return
	}
	taken := make(map[string]bool, len(tools))
	for _, t := range tools {
		taken[t.Name] = true
	}
	for _, i := range rest {
		t := &tools[i]
		for attempt := 0; t.Name == ""; attempt++ {
			if name := hashedName(labels[i].plain, t.Server, t.ToolName, attempt); !taken[name] {
				t.Name, taken[name] = name, true
			}
		}
	}
}
