package emergency

import "strings"

// shownKinds is how many kinds a notice explains at most: it has to be read in haste.
const shownKinds = 2

// Notice is the text for the kinds, as Markdown: where to call, and what to do first.
// lang is "vi" or, for anything else, English. It is empty without kinds.
func Notice(kinds []Kind, lang string) string {
	if len(kinds) == 0 {
		return ""
	}
	texts := noticesOf(lang)
	lines := []string{texts.call}
	for _, k := range kinds[:min(len(kinds), shownKinds)] {
		lines = append(lines, texts.first[k])
	}
	return strings.Join(lines, "\n\n")
}

// notices are the fixed texts of a language.
type notices struct {
	call  string
	first map[Kind]string
}

// The advice is first aid as public health services give it (NHS, "Knocked-out
// tooth", "Dental abscess"; American Dental Association, "Dental Emergencies").
func noticesOf(lang string) notices {
	if lang == "vi" {
		return notices{
			call: "**Đây có thể là trường hợp cấp cứu. Ở Việt Nam hãy gọi 115 (nơi khác: số cấp cứu tại chỗ) hoặc đến ngay khoa cấp cứu gần nhất; đừng chờ câu trả lời bên dưới.**",
			first: map[Kind]string{
				Airway:     "Khó thở, khó nuốt hoặc sưng lan xuống cổ hay lên mắt có thể nguy hiểm đến tính mạng: gọi 115 ngay, ngồi thẳng, không ăn uống gì.",
				Bleeding:   "Chảy máu nhiều: ngồi thẳng, hơi cúi đầu, cắn chặt gạc hoặc khăn sạch liên tục 15–20 phút, không súc miệng. Máu vẫn chảy, chảy ồ ạt hoặc thấy choáng: gọi 115 ngay.",
				Injury:     "Chấn thương hàm hoặc mặt: giữ yên hàm, chườm lạnh, không tự nắn. Bất tỉnh, nôn, khó thở hoặc chảy máu nhiều: gọi 115 ngay.",
				KnockedOut: "Răng vĩnh viễn bị bật ra: cầm vào thân răng, đừng chạm chân răng; nếu bẩn thì rửa nhẹ vài giây, đặt lại vào ổ răng rồi cắn giữ bằng khăn, hoặc ngâm trong sữa; đến nha sĩ ngay, tốt nhất trong 30–60 phút. Răng sữa thì không đặt lại.",
				Infection:  "Sưng kèm sốt có thể là nhiễm trùng đang lan: cần được khám ngay hôm nay tại bệnh viện hoặc nha sĩ trực cấp cứu. Nếu khó thở, khó nuốt, khó há miệng hoặc sưng lan xuống cổ hay lên mắt: gọi 115 ngay.",
			},
		}
	}
	return notices{
		call: "**This may be an emergency. Call 115 in Vietnam, or your local emergency number, or go to the nearest emergency department now; do not wait for the answer below.**",
		first: map[Kind]string{
			Airway:     "Trouble breathing or swallowing, or swelling that spreads to the neck or an eye, can be life-threatening: call now, sit upright, and do not eat or drink.",
			Bleeding:   "Heavy bleeding: sit upright, lean forward a little and bite firmly on clean gauze or cloth for 15 to 20 minutes without a break; do not rinse. If it goes on, pours, or you feel faint, call now.",
			Injury:     "Injured jaw or face: keep the jaw still, cool it, and do not try to set it. After a loss of consciousness, with vomiting, trouble breathing or heavy bleeding, call now.",
			KnockedOut: "Knocked-out permanent tooth: hold it by the crown, never the root; if dirty, rinse it briefly, put it back into its socket and bite on a cloth, or keep it in milk; see a dentist at once, best within 30 to 60 minutes. Never put a baby tooth back.",
			Infection:  "Swelling with fever can be an infection that spreads: be seen today, at a hospital or by an emergency dentist. With trouble breathing, swallowing or opening the mouth, or swelling that reaches the neck or an eye, call now.",
		},
	}
}
