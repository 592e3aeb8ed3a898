package responses

import (
	"strings"

	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// The most bytes that a compaction keeps of each message of a person, of the newest answer, and of
// each older answer.
const (
	maxQuestion = 4 << 10
	maxNewest   = 16 << 10
	maxOlder    = 500
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
			first, _, _ := strings.Cut(w.Text, "\n\n")
			w.Text = wire.Clip(first, maxOlder)
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
		if err := t.addText(w.Role, w.Text, w.Files...); err != nil {
			return err
		}
	}
	return nil
}
