package emergency

import (
	"cmp"
	"strings"
)

// shownKinds is how many kinds a notice explains at most: it has to be read in haste.
const shownKinds = 2

// Notice is the text for the kinds, as Markdown: where to call, and what to do first.
// The most pressing kind decides whether the call comes first. lang is "vi" or, for
// anything else, English. It is empty without kinds.
func (d *Detector) Notice(kinds []Kind, lang string) string {
	if d == nil || len(kinds) == 0 {
		return ""
	}
	kinds = kinds[:min(len(kinds), shownKinds)]
	notices := d.topic.Voice(lang).Notices
	var lines []string
	if !d.isAlone(kinds[0]) {
		lines = append(lines, d.call(lang))
	}
	for _, k := range kinds {
		if text := notices[string(k)]; text != "" {
			lines = append(lines, strings.ReplaceAll(text, "{number}", d.number(lang)))
		}
	}
	return strings.Join(lines, "\n\n")
}

// isAlone reports a kind whose notice says itself whom to call.
func (d *Detector) isAlone(k Kind) bool {
	for _, kind := range d.topic.Emergencies.Kinds {
		if kind.Name == string(k) {
			return kind.Alone
		}
	}
	return false
}

// number is what to call.
func (d *Detector) number(lang string) string {
	if lang == "vi" {
		return cmp.Or(d.topic.Emergencies.Number, "115")
	}
	return cmp.Or(d.topic.Emergencies.Number, "115 (in Vietnam) or your local emergency number")
}

// call says where to call.
func (d *Detector) call(lang string) string {
	where := d.topic.Emergencies.Number
	if lang == "vi" {
		if where == "" {
			where = "115 ở Việt Nam (nơi khác: số cấp cứu tại chỗ)"
		}
		return "**Đây có thể là trường hợp cấp cứu. Hãy gọi " + where + " hoặc đến ngay khoa cấp cứu gần nhất; đừng chờ câu trả lời bên dưới.**"
	}
	if where == "" {
		where = "115 in Vietnam, or your local emergency number,"
	}
	return "**This may be an emergency. Call " + where + " or go to the nearest emergency department now; do not wait for the answer below.**"
}
