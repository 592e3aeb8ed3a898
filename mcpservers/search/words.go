package search

import (
	"slices"
	"strings"

	"molar/internal/text"
)

// A term is what the index holds: a word or a pair of neighbours, folded, and once
// more as written when it has marks, so that a query with the same marks hits
// twice.
type term struct {
	text         string
	pair, marked bool
	// written is the term with its marks, when text is the same without them.
	written string
}

// A vocabulary turns text of one language into terms.
type vocabulary struct {
	stem   func(string) string
	marked bool // words have marks, which people leave out
	// stop are words that carry no meaning of their own: as written, and folded for
	// queries without marks.
	stop, stopFolded map[string]bool
	// never are those that make no pair either.
	never map[string]bool
}

func newVocabulary(lang string, t topics) *vocabulary {
	v := &vocabulary{stop: make(map[string]bool), stopFolded: make(map[string]bool), never: make(map[string]bool)}
	for w := range strings.FieldsSeq(neverPaired) {
		v.never[w] = true
	}
	words := stopEnglish
	v.stem = func(w string) string {
		if base := t.forms[w]; base != "" {
			return base
		}
		return text.Stem(w)
	}
	if lang == "vi" {
		v.stem, v.marked, words = func(w string) string { return w }, true, stopVietnamese
	}
	for _, t := range tokenize(words) {
		v.stop[t.raw], v.stopFolded[t.folded] = true, true
	}
	for _, w := range t.trade {
		delete(v.stopFolded, w)
	}
	return v
}

// terms returns the words that carry meaning, and the pairs of neighbours with at
// least one of them. A pair says more than a word: a Vietnamese syllable is often only
// half of one, and small words tell "no teeth" and "tooth out" apart.
//
// A Vietnamese text without any marks is read as one whose writer left them out: a
// word in it may be any of those that fold to it, so that it says nothing alone when
// an idle one does, but may still be half of any pair ("nha chu").
func (v *vocabulary) terms(line string) []term {
	var terms []term
	add := func(folded, raw string, pair bool) {
		if raw == folded {
			terms = append(terms, term{text: folded, pair: pair})
		} else {
			terms = append(terms, term{text: folded, pair: pair, written: raw}, term{text: raw, pair: pair, marked: true})
		}
	}
	tokens := tokenize(line)
	stop := v.stop
	unmarked := v.marked && !slices.ContainsFunc(tokens, func(t token) bool { return !t.bare() })
	if unmarked {
		stop = v.stopFolded
	}
	for i, t := range tokens {
		idle := stop[t.raw]
		if !idle && len(t.folded) > 1 {
			add(v.stem(t.folded), v.written(t), false)
		}
		if i == 0 {
			continue
		}
		p := tokens[i-1]
		if unmarked || (!idle || !stop[p.raw]) && !v.never[p.raw] && !v.never[t.raw] {
			add(v.stem(p.folded)+"_"+v.stem(t.folded), v.written(p)+"_"+v.written(t), true)
		}
	}
	return terms
}

// written is a word with its marks, if it has any.
func (v *vocabulary) written(t token) string {
	if t.bare() {
		return v.stem(t.folded)
	}
	return t.raw
}

func texts(terms []term) []string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = t.text
	}
	return all
}

const stopEnglish = `
	a an and are as at be been by can cant could did didnt do does doesnt dont doing for from get gets got getting gotten has hasnt had have havent having
	how however i if im ive id ill in into is isnt it its just may me might must my mine myself no nor not of off on onto or our ours ought out over own per
	she shes he hes his her hers him should so some such that thats the their them then there theres these they theyre this those to too until up upon us very
	was wasnt we well were what whats when where which while who whom whose why will with within without wont would you your yours am also any anyone
	anything about above across again against ago all almost already although always another around away back because before behind being below
	beside besides between both but came come comes coming during each either else enough etc even ever every everyone everything few first get give
	given go goes going gone good great happen happens here house im instead keep keeps kept know known last later least less let lets like likely little
	look looks lot lots made make makes making many maybe mean means more most much need needs never new next nothing now often ok okay once one ones only
	other others otherwise part perhaps please possible probably put quite rather really right said same say says see seem seems seen several since
	someone something sometimes somewhere still stop stopped stops take taken takes tell than thank thanks thing things think thought though through thus today
	tonight together took toward towards tried try trying two under unless use used uses using usual usually via want wanted wants way ways went
	whatever whenever whether whole yes yet yesterday tomorrow week weeks day days month months year years time times old start started starts
	help feel feels feeling find found long longer bit bad better best big huge ask asked work works people person wife husband friend guy lady
	affect affects affected ruin damage does always since ago case sort kind question advice advise recommend recommended explain describe mention
	five six three four ten eight seven nine half`

// neverPaired are small words of English that only join others.
const neverPaired = `a an the my your his her hers our their its i im ive id ill you he hes she shes it we they this that these those me him them us
	is are am was were be been being do does did doesnt dont has have had having can could will would should may might must shall
	and or but so if then than as to of at for from with by about there here what how why when where which who very really just also some any`

const stopVietnamese = `
	bác thưa ko dc đc bs mn hok hông hong hổng ntn nhìu cx vs ms bt ạ à á ai anh ấy bạn bằng bao bây bên bị bởi bữa các cái càng cần chẳng cháu chắc chiếc cho chị chồng chú chứ chưa chuyện có con còn cô cơ của cùng cũng cứ
	dạ dạng dù đã đang đâu đây đấy để đến đi đó được đừng em gì giờ giúp giùm giống hả hay hãy hễ hết hoài hoặc hôm hỏi hơn họ không khi kể khá khác kia
	lại lắm làm là lần lên loại lúc luôn mà mấy mình mẹ mọi một mỗi mới muốn mua nay này nào nên nếu ngày nghe nhà nhé nhưng như nhiều nhất nhỉ nọ nói nó nữa
	ông ơi ở phải qua quá ra rằng rất rồi sao sau sẽ so suốt tại tầm tháng thấy thật thằng thành theo thế thì thôi thường tính tin tới tôi tớ tối trên trong trước trời tuần tuổi
	tui từ tự tức từng và vào vài vẫn vậy về vì việc với vợ vừa xem xin xong ý yếu năm hôm nay lâu bao lâu sáng chiều kiểu đều
	cách chỗ nơi người ta biết bảo hai ba bốn sáu bảy tám chín mười vâng nhờ đỡ cả bỗng sự những do khoảng trường hợp`
