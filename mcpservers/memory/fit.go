package memory

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"molar/schemas"
)

const (
	// maxPage is the largest page of messages, pageBytes about how long its texts may be
	// together, in bytes.
	maxPage, pageBytes = 1000, 512 << 10
	// maxAnswer is how long the messages of one answer may be as JSON: clients take no
	// answer above 4 MiB, as the port takes no request.
	maxAnswer = 3 << 20
	// envelope is about what JSON puts around a message, in bytes.
	envelope = 200
	// shortestCut ends the shortening of texts; what does not fit then is left out.
	shortestCut = 1 << 10
)

func weight(m schemas.StoredMessage) int { return len(m.Content) + len(m.Calls) + envelope }

// fitting is how many of the first messages are at most so many bytes long together,
// at least one if there is one.
func fitting(messages []schemas.StoredMessage, most int) int {
	for i, m := range messages {
		if most -= weight(m); most < 0 {
			return max(i, 1)
		}
	}
	return len(messages)
}

// oldest are the first exchanges that are at most so many bytes long together, at least
// one.
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

// shortened cuts the longest texts until the messages fit into one answer, and drops
// calls that are as long. It reports whether it did. The whole text stays in the store,
// and is read page by page.
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
			messages[i].Content = cut(messages[i].Content, limit)
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
	return err != nil || len(data) <= maxAnswer // what is no JSON is another one's fault
}

// cut is the start of a text, at most so many bytes of it, with a mark.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + " […]"
}
