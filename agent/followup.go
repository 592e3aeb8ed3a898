package agent

import (
	"slices"
	"strings"
	"unicode"

	"molar/schemas"
)

const (
	// A question longer than this names what it is about, whatever its words.
	followUpWords = 14
	// One of so few words is a part of a sentence.
	partWords = 3
	// maxSubject bounds what of an earlier question goes before a follow-up, in
	// characters: a search takes no more than some hundred.
	maxSubject = 240
)

// query is what to search for: the question, completed from the conversation's last
// question that stands alone when it does not itself.
func (r *run) query() string {
	var asked []string
	for _, m := range append(slices.Clone(r.opening.Recent), r.opening.Messages...) {
		if m.Role == schemas.RoleUser {
			asked = append(asked, m.Content)
		}
	}
	return completed(r.asked, asked)
}

// completed puts the subject before a follow-up: the last earlier question that
// stands alone, else the last.
func completed(question string, earlier []string) string {
	if len(earlier) == 0 || standsAlone(question) {
		return question
	}
	subject := earlier[len(earlier)-1]
	for _, e := range slices.Backward(earlier) {
		if standsAlone(e) {
			subject = e
			break
		}
	}
	if runes := []rune(subject); len(runes) > maxSubject {
		subject = string(runes[:maxSubject])
	}
	return strings.TrimSpace(subject) + " " + question
}

// standsAlone says whether a question tells by itself what it is about: it does not
// open like a follow-up, points at nothing that was said before, and names more than
// an aspect such as the price.
func standsAlone(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '\''
	})
	if len(words) > followUpWords {
		return true
	}
	if len(words) <= partWords {
		return false
	}
	line := " " + strings.Join(words, " ") + " "
	if begins(line, followUpOpenings) || holds(line, followUpPointers) {
		return false
	}
	rest := line
	for phrase := range strings.SplitSeq(aspects, ",") {
		rest = strings.ReplaceAll(rest, " "+strings.TrimSpace(phrase)+" ", "  ")
	}
	idle := strings.Fields(idleWords)
	return slices.ContainsFunc(strings.Fields(rest), func(w string) bool { return !slices.Contains(idle, w) })
}

func begins(line, phrases string) bool {
	return slices.ContainsFunc(strings.Split(phrases, ","), func(p string) bool {
		return strings.HasPrefix(line, " "+strings.TrimSpace(p)+" ")
	})
}

func holds(line, phrases string) bool {
	return slices.ContainsFunc(strings.Split(phrases, ","), func(p string) bool {
		return strings.Contains(line, " "+strings.TrimSpace(p)+" ")
	})
}

// The words of a follow-up, with and without marks, as people type both.
const (
	followUpOpenings = `còn, thế còn, the con, vậy còn, vay con, thế, vậy, vay, rồi, nhưng, nhung, thế thì, the thi, vậy thì, vay thi, ngoài ra, ngoai ra, đối với, doi voi, nếu thế, neu the,
		what about, how about, and, but, then, also, or, what if, even, besides, otherwise, why not`
	followUpPointers = `nó, cái đó, cai do, cái này, cai nay, việc đó, viec do, việc này, viec nay, chuyện đó, chuyen do, như vậy, nhu vay, như thế, nhu the, điều đó, dieu do, điều này, dieu nay, lúc đó, luc do, sau đó, sau do, cách này, cach nay, cách đó, cach do, loại đó, loai do, loại này, loai nay, thủ thuật này, thu thuat nay, thì sao, thi sao, cái kia, cai kia,
		it, its, it's, this, that, that's, those, these, they, them, the same, the other, that one, this one, the first one, the second one, afterwards, beforehand, instead`
	aspects = `chi phí, chi phi, giá, gia, giá cả, tiền, tien, bao nhiêu tiền, bao nhieu tien, bao nhiêu, bao nhieu, bao lâu, bao lau, đau, dau, lành, lanh, nguyên nhân, nguyen nhan, triệu chứng, trieu chung, dấu hiệu, dau hieu, cách chữa, cach chua, chữa, chua, điều trị, dieu tri, phòng ngừa, phong ngua, phòng tránh, phong tranh, nguy hiểm, nguy hiem, tác dụng phụ, tac dung phu, thời gian, thoi gian, hậu quả, hau qua, lợi ích, loi ich, tác hại, tac hai, quy trình, quy trinh, các bước, cac buoc, đắt, dat, rẻ, re, an toàn, an toan, bảo hiểm, bao hiem, kiêng gì, kieng gi, kiêng, ăn gì, an gi, trẻ em, tre em, người lớn, nguoi lon, người già, nguoi gia, phụ nữ mang thai, phu nu mang thai, bà bầu, ba bau,
		cost, costs, price, pain, painful, hurt, symptoms, signs, cause, causes, treatment, treated, treat, prevent, prevention, dangerous, safe, heal, healing, expensive, cheap, insurance, covered, side effects, risks, alternatives, options, steps, procedure, recovery, kids, children, adults, pregnant women, old people, at home, at night`
	idleWords = `có co không khong là la gì gi thì thi mà ma và va hay hoặc hoac bị bi được duoc phải phai cần can nên nen khi nào nao sao tại tai vì vi thế the làm lam như nhu mấy may lần lan một mot ngày ngay tuần tuan tháng thang năm nam bác bac sĩ si em tôi toi mình minh con cháu chau ạ a à vậy vay rồi roi nữa nua để de đi di đến den lâu lau nhiều nhieu hơn hon nhất nhat lắm lam quá qua khoảng khoang hết het mất mat ra vào vao cho với voi của cua những nhung cách cach
		a an the is are was be been do does did can could should would will may might must i my me we you your to of in on at by from how what when where who why which long much many often soon really very more most less any some there have has had need take takes get go if again usually normally about before after during per day days week weeks month months year years please tell or and with while so then also but for exactly`
)
