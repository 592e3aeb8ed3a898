package responses

import (
	"molar/agent"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// The most bytes that a compaction keeps of each message of a person and of the newest answer. Of older
// answers it keeps the beginnings.
const (
	maxQuestion = 4 << 10
	maxNewest   = 16 << 10
)

// An InputCompaction is the content of a compaction: the messages without calls and their results.
type InputCompaction struct {
	System   []string         `json:"system,omitempty"`
	Messages []compactMessage `json:"messages"`
}

// A compactMessage is a message of a compaction.
type compactMessage struct {
	Role schemas.Role `json:"role"`
	Text string       `json:"text"`
	// Origin is who wrote the text of a person's message, if they did not type all of it.
	Origin schemas.Origin `json:"origin,omitempty"`
	// Files are the names of the attached files.
	Files []string `json:"files,omitempty"`
}

// Compacted returns the talk without calls, results and the content of files, and with only
// the beginnings of older answers.
func (t *talk) Compacted() InputCompaction {
	t.Settle()
	c := InputCompaction{System: t.System}
	for _, m := range t.Messages {
		text := m.Said()
		if text == "" {
			continue
		}
		w := compactMessage{Role: m.Role, Text: text}
		if m.Role == schemas.RoleUser {
			var from []schemas.Origin
			for _, p := range m.Parts {
				if p.Kind == schemas.PartText {
					from = append(from, p.Origin)
				}
			}
			w.Origin = leastTyped(from)
		}
		for _, p := range m.Parts {
			if p.IsFile() {
				w.Files = append(w.Files, p.Name)
			}
		}
		c.Messages = append(c.Messages, w)
	}
	newest := true
	for i := len(c.Messages) - 1; i >= 0; i-- {
		w := &c.Messages[i]
		switch {
		case w.Role == schemas.RoleUser:
			w.Text = wire.Clip(w.Text, maxQuestion)
		case newest:
			w.Text, newest = wire.Clip(w.Text, maxNewest), false
		default:
			w.Text = agent.Beginning(w.Text)
		}
	}
	return c
}

// addCompaction adds the messages of a compaction.
func (t *talk) addCompaction(it responses.Item, at string) error {
	var c InputCompaction
	if err := t.unseal(it.EncryptedContent, &c); err != nil {
		return wire.Invalid(at+".encrypted_content", "this compaction was not made by this host for this client, or was changed")
	}
	t.System = append(t.System, c.System...)
	for _, w := range c.Messages {
		t.addText(w.Role, w.Text, w.Origin, w.Files...)
	}
	return nil
}

// leastTyped returns the origin of a text that has several: one of others, else a paste, else none.
func leastTyped(from []schemas.Origin) schemas.Origin {
	var least schemas.Origin
	for _, o := range from {
		if o != "" && (least == "" || least == schemas.FromPaste) {
			least = o
		}
	}
	return least
}
