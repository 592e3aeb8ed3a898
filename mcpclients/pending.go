package mcpclients

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"molar/schemas"
)

// pending returns the tools pending approval and one digest of them all; both are empty if there
// are none.
func (d *InForce) pending(list []definition) (changes []schemas.ToolChange, sum string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var parts []string
	for _, t := range list {
		if d.unpinned(t) != "" {
			changes = append(changes, change(d.pins[t.Server][t.ToolName], t.ToolInfo))
			parts = append(parts, t.ToolName+" "+t.sum)
		}
	}
	if changes == nil {
		return nil, ""
	}
	slices.SortFunc(changes, func(a, b schemas.ToolChange) int { return cmp.Compare(a.Tool, b.Tool) })
	slices.Sort(parts)
	all := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return changes, hex.EncodeToString(all[:8])
}

// change compares a tool with its pinned definition.
func change(pinned string, now schemas.ToolInfo) schemas.ToolChange {
	c := schemas.ToolChange{Tool: now.ToolName}
	_, text, known := strings.Cut(pinned, " ")
	var before schemas.ToolInfo
	if known && json.Unmarshal([]byte(text), &before) == nil {
		c.Diff = diff(definitionLines(before), definitionLines(now))
		return c
	}
	c.Unknown = pinned != "" // only its digest was stored
	c.Diff = diff(nil, definitionLines(now))
	return c
}

// definitionLines formats a definition as lines for people.
func definitionLines(info schemas.ToolInfo) []string {
	const most = 400 // lines
	lines := strings.Split(strings.TrimSpace(info.Title+"\n"+info.Description), "\n")
	for _, part := range []struct {
		name  string
		value any
	}{{"input", info.InputSchema}, {"output", info.OutputSchema}, {"annotations", info.Annotations}} {
		raw, err := json.Marshal(part.value)
		var b bytes.Buffer
		if err != nil || string(raw) == "null" || json.Indent(&b, raw, "", "  ") != nil {
			continue
		}
		lines = append(lines, strings.Split(part.name+" "+b.String(), "\n")...)
	}
	return lines[:min(len(lines), most)]
}

// diff returns the changed lines of both texts, prefixed with "- " or "+ ", and one unchanged
// line around each change, prefixed with "  ".
func diff(before, now []string) []string {
	all := align(before, now)
	var shown []string
	for i, line := range all {
		near := slices.ContainsFunc(all[max(0, i-1):min(len(all), i+2)], func(l string) bool { return l[0] != ' ' })
		if near {
			shown = append(shown, line)
		}
	}
	return shown
}

// align diffs two texts by their longest common subsequence.
func align(a, b []string) []string {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if x == y {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	var all []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			all = append(all, "- "+a[i])
			i++
		default:
			all = append(all, "+ "+b[j])
			j++
		}
	}
	return all
}
