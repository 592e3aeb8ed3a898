package openai

import (
	"encoding/json"
	"strings"
)

// reasoning is the reasoning that a server sent, under its names.
type reasoning struct {
	Content string            `json:"reasoning_content,omitempty"`
	Text    string            `json:"reasoning,omitempty"`
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
}

func (r reasoning) isEmpty() bool { return r.Content == "" && r.Text == "" && len(r.Details) == 0 }

// A trail collects the reasoning of an answer as its pieces arrive.
type trail struct {
	content, text strings.Builder
	// thinking came as a part of the content.
	thinking strings.Builder
	details  []map[string]json.RawMessage
}

func (t *trail) add(d *delta) {
	t.content.WriteString(string(d.ReasoningContent))
	t.text.WriteString(string(d.Reasoning))
	t.thinking.WriteString(d.Content.thinking)
	for _, raw := range d.ReasoningDetails {
		var piece map[string]json.RawMessage
		if json.Unmarshal(raw, &piece) != nil || piece == nil {
			continue
		}
		if n := len(t.details); n > 0 && continues(t.details[n-1], piece) {
			join(t.details[n-1], piece)
			continue
		}
		t.details = append(t.details, piece)
	}
}

// continues reports whether a piece continues the detail.
func continues(detail, piece map[string]json.RawMessage) bool {
	return string(detail["type"]) == string(piece["type"]) && string(detail["index"]) == string(piece["index"]) && detail["index"] != nil
}

// join adds a piece to a detail: texts are appended, other fields replaced.
func join(detail, piece map[string]json.RawMessage) {
	for _, key := range []string{"text", "summary", "data"} {
		var before, more string
		if json.Unmarshal(detail[key], &before) == nil && json.Unmarshal(piece[key], &more) == nil && detail[key] != nil && piece[key] != nil {
			piece[key], _ = json.Marshal(before + more)
		}
	}
	for key, value := range piece {
		if string(value) != "null" || detail[key] == nil {
			detail[key] = value
		}
	}
}

// reasoning returns the collected reasoning; it may be empty.
func (t *trail) reasoning() reasoning {
	r := reasoning{Content: t.content.String(), Text: t.text.String()}
	for _, d := range t.details {
		if raw, err := json.Marshal(d); err == nil {
			r.Details = append(r.Details, raw)
		}
	}
	return r
}
