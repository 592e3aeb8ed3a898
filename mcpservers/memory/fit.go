package memory

import (
	"encoding/json"
	"slices"

	"molar/internal/text"
	"molar/schemas"
)

const (
	// maxPage bounds a page of messages, pageBytes roughly the bytes of its texts together.
	maxPage, pageBytes = 1000, 512 << 10
	// maxAnswer bounds the messages of one answer as JSON, in bytes: clients accept no answer
	// above 4 MiB, as the port accepts no request.
	maxAnswer = 3 << 20
	// envelope is roughly the JSON overhead of a message, in bytes.
	envelope = 200
	// shortestCut is the least size to cut texts to; what does not fit then is dropped.
	shortestCut = 1 << 10
)

func weight(m schemas.StoredMessage) int { return len(m.Content) + len(m.Calls) + envelope }

// fitting returns how many of the first messages fit into so many bytes together, at least one if
// there is one.
func fitting(messages []schemas.StoredMessage, most int) int {
	for i, m := range messages {
		if most -= weight(m); most < 0 {
			return max(i, 1)
		}
	}
	return len(messages)
}

// oldest returns the first exchanges that fit into so many bytes together, at least one.
func oldest(messages []schemas.StoredMessage, most int) []schemas.StoredMessage {
	upTo := 0
	for i, m := range messages {
		if most -= weight(m); most < 0 && upTo > 0 {
			return messages[:upTo]
		}
		if m.Role == schemas.RoleAssistant {
			upTo = i + 1
		}
	}
	return messages
}

// shortened cuts the longest texts until the messages fit into one answer, and drops calls as
// long. It reports whether it did. The store keeps the whole text, which can be read page by
// page.
func shortened(messages []schemas.StoredMessage) ([]schemas.StoredMessage, bool) {
	if fits(messages) {
		return messages, false
	}
	messages = slices.Clone(messages)
	for limit := maxAnswer / 4; !fits(messages); limit /= 4 {
		if limit < shortestCut {
			limit = shortestCut
			messages = messages[(len(messages)+1)/2:]
		}
		for i := range messages {
			messages[i].Content = text.Clip(messages[i].Content, limit, text.Mark)
			if len(messages[i].Calls) > limit {
				messages[i].Calls = nil
			}
		}
	}
	return messages, true
}

func fits(messages []schemas.StoredMessage) bool {
	const worst = 6 // bytes of JSON for one of text, such as \u0001
	total := 0
	for _, m := range messages {
		total += weight(m)
	}
	if total*worst <= maxAnswer {
		return true
	}
	data, err := json.Marshal(messages)
	return err != nil || len(data) <= maxAnswer // invalid JSON fails elsewhere
}
