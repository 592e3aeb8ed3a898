package offline

import (
	"regexp"
	"strings"
	"sync"

	"molar/internal/text"
)

var (
	wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}\p{N}\p{Mn}]+`) })
	humps    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`) })
)

// keysOf returns the keys of the meaningful words of an identifier or a text, those for a subject or
// an action: "getFamilyDetails", "get_family-details", "Get the details of a family".
func keysOf(s string) []string {
	var keys []string
	for _, w := range wordForm().FindAllString(humps().ReplaceAllString(s, "$1$3 $2$4"), -1) {
		if key := keyOf(w); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// keyOf folds and stems a word. Verbs for one action share a key; the key of a function word is "".
func keyOf(word string) string {
	folded := text.Fold(word)
	if key, ok := special()[folded]; ok {
		return key
	}
	return text.Stem(folded)
}

// verbs are common in the names of tools, in both languages: each line has the key of an action and
// the words for it. The first three actions only read.
const verbs = `
!find: find search lookup query tim
!get: get show read fetch view open xem doc
!list: list
!create: create add make tao them
!update: update edit change set sua
!delete: delete remove xoa
!cancel: cancel huy
!send: send gui
!write: write ghi
!move: move rename chuyen
!run: run execute chay`

// functionWords are the words of both languages that carry no subject.
const functionWords = `
a an the this that these those some any all my your our his her its their i me you he she it we they us them
is are was were be been am do does did can could will would shall should may might must have has had
what which who whom whose where when why how there here near to of in on at for from with by about into as
and or but if not no please now just called named give tell want need like know let s m re ll ve
cho toi tui minh ban anh chi em voi hay giup ho muon can biet nhe la gi nao dau sao ai bao nhieu the nay do kia
cac nhung mot nhung cua va hoac o tai trong ve tu den duoc co khong thi ma`

// special maps verbs to their keys, and function words to "".
var special = sync.OnceValue(func() map[string]string {
	known := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(verbs)) {
		key, words, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(words) {
			known[w], known[w+"s"], known[w+"es"] = key, key, key
		}
	}
	for w := range strings.FieldsSeq(functionWords) {
		known[w] = ""
	}
	return known
})

func isVerb(key string) bool { return strings.HasPrefix(key, "!") }

// changes reports whether the key is a verb that changes something.
func changes(verb string) bool {
	return isVerb(verb) && verb != "!find" && verb != "!get" && verb != "!list"
}

// isVietnamese reports whether s has letters that few other languages have.
func isVietnamese(s string) bool {
	return strings.ContainsAny(strings.ToLower(s), "ăđơưấầẩẫậắằẳẵặếềểễệốồổỗộớờởỡợứừửữựảẻỉỏủỷạẹịọụỵẽĩũỹ")
}
