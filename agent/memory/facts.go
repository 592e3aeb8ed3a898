package memory

import (
	"slices"
	"strings"
	"unicode"
)

// lostSentences returns the sentences of the old text whose facts are not in the shorter one:
// names, numbers, and anything about allergies and medication. In doubt it counts a reworded fact
// as lost.
func lostSentences(old, short string) []string {
	kept := make([]words, 0, 8)
	for _, s := range sentences(short) {
		kept = append(kept, wordsOf(s))
	}
	var lost []string
	for _, s := range sentences(old) {
		if !holds(kept, wordsOf(s)) && !slices.Contains(lost, s) {
			lost = append(lost, s)
		}
	}
	return lost
}

// invents reports whether the shorter text has a number that the old one lacks.
func invents(old, short string) bool {
	known := wordsOf(old).numbers
	return slices.ContainsFunc(sentences(short), func(s string) bool { return !containsAll(known, wordsOf(s).numbers) })
}

// words are the words of a sentence that matter, in lower case.
type words struct {
	// numbers are the words with a digit in them, such as 500mg, 12/5 or 090-123.
	numbers []string
	// names are the capitalised words, except those that often begin a sentence.
	names []string
	// content are all other words except the most common ones; denials are included.
	content []string
	// medical is set if the sentence is about allergies or medication.
	medical bool
}

func (w words) all() []string { return slices.Concat(w.numbers, w.names, w.content) }

// holds reports whether the kept sentences contain a sentence's facts. A medical one must be whole
// in one sentence: "allergic" and "penicillin" far apart are no allergy. A number must share a
// sentence with a word that was in its old one.
func holds(kept []words, w words) bool {
	if w.medical {
		return slices.ContainsFunc(kept, func(k words) bool { return containsAll(k.all(), w.all()) })
	}
	for _, n := range w.numbers {
		beside := slices.Concat(w.names, w.content)
		if !slices.ContainsFunc(kept, func(k words) bool {
			return slices.Contains(k.numbers, n) && (len(beside) == 0 || containsAny(k.all(), beside))
		}) {
			return false
		}
	}
	for _, n := range w.names {
		if !slices.ContainsFunc(kept, func(k words) bool { return slices.Contains(k.all(), n) }) {
			return false
		}
	}
	return true
}

func containsAll(set, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(set, w) })
}

func containsAny(set, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(set, w) })
}

// sentences cuts a text at line ends and at ".", "!", "?" and ";" before a space. It drops list
// marks and numbers.
func sentences(text string) []string {
	var cut []string
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*• ")
		start := 0
		for i, r := range line {
			if end := i + 1; strings.ContainsRune(".!?;", r) && (end == len(line) || line[end] == ' ') && !abbreviated(line[start:end]) {
				cut = append(cut, strings.TrimSpace(line[start:end]))
				start = end
			}
		}
		cut = append(cut, strings.TrimSpace(line[start:]))
	}
	return slices.DeleteFunc(cut, func(s string) bool { return strings.Trim(s, "0123456789.)") == "" })
}

// abbreviated reports whether a text ends in an abbreviation such as "Dr." or "Bs.", not in a full
// stop.
func abbreviated(text string) bool {
	last := strings.ToLower(text[strings.LastIndexByte(text, ' ')+1:])
	return slices.Contains([]string{"dr.", "mr.", "mrs.", "ms.", "bs.", "ths.", "ts.", "no.", "tel."}, last)
}

func wordsOf(sentence string) words {
	var w words
	lower := strings.ToLower(sentence)
	w.medical = slices.ContainsFunc(medicalStems(), func(stem string) bool { return strings.Contains(lower, stem) })
	first := true
	for field := range strings.FieldsSeq(sentence) {
		plain := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if plain == "" {
			continue
		}
		word := strings.ToLower(plain)
		switch {
		case strings.ContainsFunc(plain, unicode.IsDigit):
			w.numbers = append(w.numbers, word)
		case startsUpper(plain) && word != "i" && (!first || !common(word) && !opener(word)):
			w.names = append(w.names, word)
		case !common(word):
			w.content = append(w.content, word)
		}
		// A word after a colon or a full stop has a capital anyway.
		first = strings.ContainsAny(field[len(field)-1:], ".:!?;")
	}
	return w
}

func startsUpper(word string) bool {
	for _, r := range word {
		return unicode.IsUpper(r)
	}
	return false
}

// medicalStems mark a sentence on allergies or medication, in English and Vietnamese. A stem too
// many makes a summary longer, one too few may lose a patient's warning.
func medicalStems() []string {
	return []string{
		"allerg", "anaphyla", "intoleran", "hypersensitiv", "side effect", "reaction to",
		"medic", "drug", "dose", "dosage", "tablet", "capsule", "pill", "antibiotic", "prescri", "painkill",
		"inject", "insulin", "inhaler", "blood thinner", "anticoag", "bisphosphonate", "steroid", "vaccin", "latex",
		"anaesthe", "anesthe", "aspirin", "ibuprofen", "paracetamol", "acetaminophen", "warfarin", "metformin",
		"cillin", "mycin", "cycline", "profen", "caine", "azole", "statin", "pregnan", "breastfe", "diabet",
		"dị ứng", "phản vệ", "mẫn cảm", "không dung nạp", "phản ứng với", "tác dụng phụ", "sốc",
		"thuốc", "liều", "viên", "kháng sinh", "kê đơn", "đơn thuốc", "giảm đau", "tiêm", "gây tê", "gây mê",
		"chống đông", "vắc xin", "vắc-xin", "mang thai", "có thai", "cho con bú", "tiểu đường", "đái tháo đường", "huyết áp",
	}
}

// common reports whether a word carries so little that a shorter text may drop it. Denials are not
// common.
func common(word string) bool {
	return slices.Contains([]string{
		"a", "an", "the", "and", "or", "of", "to", "in", "on", "at", "for", "with", "by", "from", "as", "is", "are", "was",
		"were", "be", "been", "has", "have", "had", "that", "this", "it", "its", "he", "she", "they", "his", "her", "their",
		"also", "said", "says", "patient", "user", "which", "who", "i", "mentioned", "assistant",
		"và", "hoặc", "của", "cho", "với", "là", "bị", "được", "đã", "đang", "có", "các", "những", "một", "này", "đó",
		"thì", "mà", "rằng", "cũng", "bệnh", "nhân", "người", "anh", "chị", "ông", "bà", "ở", "tại", "về",
	}, word)
}

// opener reports whether a word often begins a sentence, so that its capital does not make it a
// name.
func opener(word string) bool {
	return slices.Contains([]string{
		"asked", "asks", "advised", "advises", "recommended", "agreed", "explained", "answered", "wants", "wanted", "should",
		"if", "when", "while", "after", "before", "then", "there", "we", "you", "your", "no", "not", "never", "both", "all",
		"use", "visit", "see", "avoid", "pain", "summary", "next", "follow-up", "these", "those", "such",
		"hỏi", "khuyên", "nên", "cần", "nếu", "khi", "sau", "trước", "không", "chưa", "hãy", "tư", "trả", "giải", "tóm",
		"muốn", "đau", "bác", "hai", "cả", "để", "vì", "do", "hẹn", "tránh", "sẽ", "lịch", "trong", "nội",
	}, word)
}
