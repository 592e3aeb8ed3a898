package emergency

import (
	"slices"
	"strings"

	"molar/agent/topic"
)

// Leading returns the notice that an answer begins with, in any language of the topic, or
// nothing. Whoever shows a stored answer can tell by it what code said from what a model said.
func Leading(t topic.Topic, answer string) string {
	d := &Detector{topic: t}
	var known []string
	for lang, voice := range t.Voices {
		known = append(known, d.call(lang))
		for _, text := range voice.Notices {
			known = append(known, strings.ReplaceAll(text, "{number}", d.number(lang)))
		}
	}
	known = slices.DeleteFunc(known, func(text string) bool { return strings.TrimSpace(text) == "" })
	rest := answer
	for range 1 + shownKinds {
		i := slices.IndexFunc(known, func(text string) bool {
			after, found := strings.CutPrefix(rest, text)
			return found && (after == "" || after[0] == '\n')
		})
		if i < 0 {
			break
		}
		rest = strings.TrimLeft(rest[len(known[i]):], "\n")
	}
	return strings.TrimRight(answer[:len(answer)-len(rest)], "\n")
}

// Told returns the kinds whose notices an answer begins with, the most pressing first.
func (d *Detector) Told(answer string) []Kind {
	if d == nil {
		return nil
	}
	leading := Leading(d.topic, answer)
	var kinds []Kind
	for _, k := range d.kinds {
		for lang, voice := range d.topic.Voices {
			text := strings.ReplaceAll(voice.Notices[string(k.name)], "{number}", d.number(lang))
			if text != "" && strings.Contains(leading, text) && !slices.Contains(kinds, k.name) {
				kinds = append(kinds, k.name)
			}
		}
	}
	return kinds
}
