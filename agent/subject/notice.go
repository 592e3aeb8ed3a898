package subject

import (
	"cmp"
	"slices"
	"strings"
)

// shownKinds is how many kinds a notice explains at most: it is read in haste.
const shownKinds = 2

// Deciding returns the one of kinds, in the order of [Detector.Find], that decides what follows their
// notice: one whose notice ends the turn, else the first, with its passage for the combination.
func Deciding(t Topic, kinds []string) (deciding Kind) {
	for i, name := range kinds {
		kind, _ := t.Emergencies.Kind(name)
		if kind.Ends {
			return kind
		}
		if i == 0 {
			deciding = kind
		}
	}
	for _, name := range kinds {
		if passage := deciding.With[name]; passage != "" {
			deciding.Passage = passage
			break
		}
	}
	return deciding
}

// Notice returns the text for the kinds, in the order of [Detector.Find], as Markdown: where to call,
// and what to do first. It explains the first ones, the most pressing of them at its beginning: that
// one decides whether the call comes first. A kind that ends the turn hides the others, such as the
// effects of too many pills. A language without texts means the topic's first one. It is empty
// without kinds.
func Notice(t Topic, kinds []string, lang string) string {
	if deciding := Deciding(t, kinds); deciding.Ends {
		kinds = []string{deciding.Name}
	}
	if len(kinds) == 0 {
		return ""
	}
	kinds = slices.Clone(kinds[:min(len(kinds), shownKinds)])
	slices.SortFunc(kinds, func(a, b string) int { return t.Emergencies.rank(a) - t.Emergencies.rank(b) })
	var lines []string
	if pressing, _ := t.Emergencies.Kind(kinds[0]); !pressing.Alone {
		lines = append(lines, call(t, lang))
	}
	for _, name := range kinds {
		if text := notice(t, name, lang); text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n\n")
}

// Leading returns the notice that an answer begins with, in any language of the topic, or "", and
// its kinds. It separates code's text from a model's in a stored answer.
func Leading(t Topic, answer string) (leading string, kinds []string) {
	known := make(map[string]string) // kind by text; empty for the texts of where to call
	for lang := range t.Voices {
		known[call(t, lang)] = ""
		for _, k := range t.Emergencies.Kinds {
			known[notice(t, k.Name, lang)] = k.Name
		}
	}
	delete(known, "")
	rest := answer
	for range 1 + shownKinds {
		for text, kind := range known {
			if after, found := strings.CutPrefix(rest, text); found && (after == "" || after[0] == '\n') {
				rest = strings.TrimLeft(after, "\n")
				kinds = append(kinds, kind)
				break
			}
		}
	}
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "" })
	return strings.TrimRight(answer[:len(answer)-len(rest)], "\n"), kinds
}

// notice returns what to do in one kind of emergency.
func notice(t Topic, kind, lang string) string {
	number := "115 (in Vietnam) or your local emergency number"
	if t.spoken(lang) == Vietnamese {
		number = "115"
	}
	voice := t.Voice(lang)
	set := strings.NewReplacer("{number}", cmp.Or(t.Emergencies.Number, number), crisis, cmp.Or(t.Emergencies.CrisisLine, voice.CrisisLine))
	return set.Replace(voice.Notices[kind])
}

// crisis stands for the crisis line in a notice.
const crisis = "{crisis}"

// call returns where to call.
func call(t Topic, lang string) string {
	text, where := t.Voice(lang).Call, "115 in Vietnam, or your local emergency number,"
	if t.spoken(lang) == Vietnamese {
		text = cmp.Or(text, "**Đây có thể là trường hợp cấp cứu. Hãy gọi {number} hoặc đến ngay khoa cấp cứu gần nhất; đừng chờ câu trả lời bên dưới.**")
		where = "115 ở Việt Nam (nơi khác: số cấp cứu tại chỗ)"
	}
	text = cmp.Or(text, "**This may be an emergency. Call {number} or go to the nearest emergency department now; do not wait for the answer below.**")
	return strings.ReplaceAll(text, "{number}", cmp.Or(t.Emergencies.Number, where))
}
