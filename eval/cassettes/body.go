package cassettes

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// isBody reports whether a file is one answer by itself: an event stream, its events as lines, or
// one JSON object that is neither a schema nor a setting, as its shape says.
func isBody(name string, data []byte, first object) bool {
	start := strings.TrimSpace(string(data[:min(len(data), 200)]))
	if strings.HasPrefix(start, "data:") || strings.HasPrefix(start, "event:") {
		return true
	}
	switch filepath.Ext(name) {
	case ".json", ".jsonl", ".txt", ".ndjson":
		return has(first, "choices") || has(first, "candidates") || has(first, "type", "content") || has(first, "object", "output") ||
			has(first, "message", "done") || has(first, "error") || has(first, "type") && len(lines(data)) > 1
	}
	return false
}

// readBody reads an answer without its request. Lines become events, as an API would send them.
func readBody(_ string, data []byte) ([]Exchange, error) {
	body := string(data)
	if json.Valid(data) {
		return []Exchange{{Response: body}}, nil
	}
	var first object
	if all := lines(data); len(all) > 1 && json.Unmarshal([]byte(all[0]), &first) == nil && !has(first, "done") {
		var events []json.RawMessage
		for _, line := range all {
			events = append(events, json.RawMessage(line))
		}
		body = stream(events, "data: ", "\n\n")
	}
	return []Exchange{{Response: body}}, nil
}

// lines returns the lines that are not blank.
func lines(data []byte) []string {
	var all []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
