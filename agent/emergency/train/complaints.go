package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"molar/agent/language"
)

// asComplaint is what a made complaint counts, of which there are so many.
const asComplaint = 0.2

// complain makes the plainest messages that a clinic gets: who has what pain, where, and how much,
// and who is on the way. None of them is an emergency, and writers who are asked for messages leave
// them out. Every choice for the last place meets every one for the place before it once.
func complain(chance *rand.Rand, lang string) []line {
	var out []line
	for _, places := range plaints(lang) {
		last, next := places[len(places)-1], places[len(places)-2]
		for i := range len(last) * len(next) {
			words := []string{next[i%len(next)], last[i/len(next)]}
			for _, choices := range slices.Backward(places[:len(places)-2]) {
				words = append([]string{choices[chance.IntN(len(choices))]}, words...)
			}
			out = append(out, line{text: strings.Join(strings.Fields(strings.Join(words, " ")), " "), lang: lang})
		}
	}
	return out
}

// plaints are the orders of such messages, each a list of choices for each place.
func plaints(lang string) [][][]string {
	if lang == language.Vietnamese {
		who := []string{"", "", "em", "tôi", "mình", "con tôi", "cháu", "bé nhà em", "mẹ em", "em bị", "tôi bị", "con em bị", "cháu kêu", "bác sĩ ơi em bị"}
		what := []string{"đau", "nhức", "ê", "buốt", "đau nhức", "ê buốt", "tê", "mỏi", "khó chịu"}
		where := []string{
			"răng", "răng hàm", "răng hàm dưới", "răng hàm trên", "răng khôn", "răng cửa", "răng số 6", "hàm", "hàm dưới", "quai hàm", "nướu",
			"lợi", "chân răng", "miệng", "lưỡi", "môi", "răng sâu", "răng niềng", "chỗ nhổ răng", "chỗ trám",
		}
		much := []string{"", "", "quá", "lắm", "nhiều", "ghê", "mấy hôm nay", "từ tối qua", "âm ỉ", "về đêm", "khi nhai", "không ngủ được", "ạ", "phải làm sao"}
		return [][][]string{{who, where, what, much}, {who, what, where, much}, {where, {"của em", "của tôi", "em", "", "của bé"}, what, much}, {
			{"", "ok", "dạ", "vâng", "cảm ơn,"},
			{"em", "tôi", "mình", "con"},
			{"đang đi", "đi", "tới", "sẽ qua"},
			{"nha sĩ", "phòng khám", "khám răng", "chỗ bác sĩ"},
			{"", "đây", "liền", "ngay", "mai", "chiều nay"},
		}}
	}
	whose := []string{"my", "my", "my son's", "my wife's", "my mum's", "his", "one"}
	where := []string{
		"tooth", "back tooth", "wisdom tooth", "front tooth", "molar", "lower left tooth", "upper right tooth", "gum", "jaw", "lower jaw", "tongue", "lip", "filling", "crown",
		"bottom teeth",
	}
	much := []string{"", "", "a lot", "so much", "really badly", "since yesterday", "for days", "at night", "when I chew", "again", "and I can't sleep", "what should I do"}
	return [][][]string{
		{whose, where, {"hurts", "aches", "is sore", "throbs", "is throbbing", "is killing me", "is sensitive", "is numb", "is tender"}, much},
		{{"", "bad", "terrible", "sharp", "dull", "I have", "she has"}, where, {"pain", "ache", "trouble"}, much},
		{
			{"", "ok", "thanks,", "alright,"},
			{"going", "on my way", "heading", "we are driving", "I will come"},
			{"to the dentist", "to the clinic", "to you", "there"},
			{"", "now", "right now", "tomorrow", "this afternoon"},
		},
	}
}
