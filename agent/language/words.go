package language

import (
	"strings"
)

// The lists hold folded words. A word that both languages write alike stands in
// neither list or in both, where the two scores cancel.

// isVietnamese knows common Vietnamese syllables as people type them without marks,
// and their usual abbreviations.
func isVietnamese(word string) bool {
	switch word {
	case "ban", "anh", "chi", "ba", "con", "do", "sau", "truoc", "da", "nha", "a", "the", "lon", "nho",
		"vui", "dau", "khoi", "tot", "may", "bang", "dung", "can", "cai", "chiec", "gio", "nuoc",
		"loi", "trang", "benh", "viem", "dieu", "tri", "phong", "kham", "khoa", "tre", "chay", "mau",
		"su", "cay", "ghep", "chinh", "lac", "ho", "sua", "tien", "gia", "thuoc", "uong", "viet",
		"nam", "hinh", "gioi", "thieu", "tuoi", "thang", "tuan", "gan", "xa", "o", "duong", "thu",
		"cong", "phi", "ket", "trieu", "nguyen", "nhan", "phuong", "phap", "toan", "nghia", "tieng",
		"khoe", "chao", "cam", "on", "k", "kg", "ntn", "bn", "mk", "mik", "hk", "hok", "bs", "nk":
		return true
	}
	return isVietnameseGrammar(word)
}

// isVietnameseGrammar knows the words that carry a Vietnamese sentence whatever
// its nouns are.
func isVietnameseGrammar(word string) bool {
	switch word {
	case "toi", "minh", "chung", "bac", "em", "chau", "ong", "khong", "ko", "hong", "duoc", "dc",
		"cua", "va", "la", "thi", "ma", "nhung", "cac", "mot", "nay", "kia", "day", "nao", "gi", "sao",
		"bao", "nhieu", "lau", "khi", "nen", "phai", "cho", "voi", "ve", "tu", "den", "trong", "ngoai",
		"tren", "duoi", "bi", "dang", "se", "moi", "cung", "rat", "qua", "lam", "muon", "hoi", "biet",
		"giup", "co", "hay", "roi", "van", "chua", "neu", "vi", "tai", "nhe", "oi", "ah", "di", "ra",
		"vao", "lai", "het", "luon", "nhu", "vay", "cach", "nguoi", "ngay", "hien", "mac", "it", "nua",
		"thoi", "xin", "lieu", "theo", "thay", "hon", "nhat", "lan", "hoac":
		return true
	}
	return false
}

// isEnglish knows the words that carry an English sentence whatever its
// nouns are.
func isEnglish(word string) bool {
	switch word {
	case "the", "of", "and", "is", "are", "was", "were", "be", "been", "what", "how", "why", "when",
		"where", "who", "which", "do", "does", "did", "can", "could", "should", "would", "will",
		"shall", "may", "might", "must", "my", "your", "his", "her", "our", "their", "i", "you", "he",
		"she", "we", "they", "it", "this", "that", "these", "those", "there", "here", "to", "in", "on",
		"at", "for", "from", "with", "without", "about", "after", "before", "during", "between",
		"into", "if", "or", "but", "not", "any", "some", "much", "many", "more", "most", "less",
		"very", "too", "also", "just", "than", "then", "because", "so", "as", "an", "a", "me", "us",
		"them", "have", "has", "had", "need", "want", "get", "tell", "help", "please", "thanks",
		"thank", "hello", "hi", "yes", "am", "im", "dont", "cant", "isnt", "doesnt", "its", "whats",
		"means", "mean":
		return true
	}
	return false
}

// isSyllable reports whether the folded word could be one Vietnamese syllable
// without its marks. Many short English words could ("can", "long", "hot"), so it
// is a hint, not a verdict.
func isSyllable(word string) bool {
	const vowels, most = "aeiouy", 3
	rime := strings.TrimLeftFunc(word, func(r rune) bool { return !strings.ContainsRune(vowels, r) })
	coda := strings.TrimLeft(rime, vowels)
	n := len(rime) - len(coda)
	return n > 0 && n <= most && isOnset(strings.TrimSuffix(word, rime)) && isCoda(coda)
}

// isOnset knows the consonants that a Vietnamese syllable can begin with.
func isOnset(s string) bool {
	switch s {
	case "", "ngh", "ng", "nh", "ch", "gh", "kh", "ph", "q", "th", "tr", "b", "c", "d", "g", "h",
		"k", "l", "m", "n", "p", "r", "s", "t", "v", "x":
		return true
	}
	return false
}

// isCoda knows what it can end with behind its vowels.
func isCoda(s string) bool {
	switch s {
	case "", "c", "ch", "m", "n", "ng", "nh", "p", "t":
		return true
	}
	return false
}
