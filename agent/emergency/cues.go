package emergency

// A cue is a sort of words that tell whether a sign is meant as being there now.
type cue int

const (
	// denial turns what follows into its contrary; between are the words that may
	// stand between the two.
	denial cue = iota
	between
	// whether and questionEnd stand around what is asked; particle may follow.
	whether
	questionEnd
	particle
	// supposed comes before what is only imagined or possible.
	supposed
	// general marks questions about the subject, unless they name a person.
	general
	person
	// past and over say that it is not so any more; present says that it is.
	past
	over
	present
)

func cues() map[cue]string {
	return map[cue]string{
		denial: `
			không|ko|k|=hông|=hổng|chẳng|=chả|chưa|hết|khỏi|=đỡ|kg|khong
			no|not|without|never|neither|nor|don't|dont|doesn't|didn't|haven't|hasn't|isn't|wasn't|aren't|free|denies`,
		between: `
			bị|có|còn|hề|thấy|cảm|giác|gì|hay|hoặc|cũng|phải|sưng|đau|sốt|nhức|mủ|và|cao|nhẹ|dấu|hiệu|tình|trạng|triệu|chứng|nào|là|khó|thở|nuốt|chảy|máu
			a|an|any|the|have|has|had|having|been|got|get|getting|really|very|much|high|sign|signs|symptom|symptoms|of|or|and|pain|swelling|swollen|fever|running|also|feel|feeling|even|more|longer|to|trouble|breathing|bleeding|heavy`,
		whether:     `có|bị|gây|còn`,
		questionEnd: `không|ko|k|hông|hong|hem|hok|chưa|kg|khong`,
		particle:    `ạ|vậy|nhỉ|ta|bác|bs|nha|bạn|thế|a|bac|em|mọi|ah|à|anh|chị|cô`,
		supposed: `
			nếu|=giả|=nhỡ|tránh|ngừa|ngăn
			trường hợp
			có thể|khả
			có gây|làm
			gây ra|nên|sốt|sưng|khó|chảy
			dẫn đến|tới
			nguy cơ
			biến chứng
			khi nào
			=liệu
			dấu hiệu của|nhận|cho
			=sợ|=lo|=ngại bị|sẽ|là|chảy|khó|sưng|sốt|gãy
			if|prevent|preventing|avoid|avoiding|unless|imagine|suppose|supposing|hypothetically|afraid|worried|scared|risk|risks
			in case
			what happens when
			can|could|may|might|would|does|do * cause|causes|lead|give|result|make|get
			will i|it|he|she|they|there
			can|could|may|might|will|would|should|do|does i|you|it|they|patients|people|someone|kids|children * get|have|develop|expect|experience|start|bleed|swell
			causes|caused|leads to|swelling|fever|bleeding
			how do|does|can dentists|doctors|you`,
		general: `
			là gì
			thế nào là
			tại|vì sao
			nguyên nhân
			dấu hiệu
			triệu chứng
			phân biệt
			bao lâu
			bao nhiêu
			người|trẻ|bệnh nhân ta|em|nào|bị
			bảo hiểm
			chi phí|giá
			có nguy hiểm
			bình thường
			what is|are|does|causes|counts
			why
			which
			how long|often|common|much|likely
			in general
			difference
			how to store|keep|prevent|avoid|treat|know|tell|recognize|recognise|handle
			sign|signs|symptom|symptoms
			normal|common
			definition
			insurance
			cost|costs|price
			dangerous|serious
			people|patients|anyone|someone|dentists|doctors`,
		person: `
			tôi|tui|=tớ|mình|em|con|cháu|=bé|mẹ|bố|ba|vợ|chồng|bạn|ông|bà|anh|=chị
			i|i'm|im|i've|my|me|mine|he|she|his|her|him|our|we|son|daughter|wife|husband|kid's|child's`,
		past: `
			năm ngoái|trước|kia|xưa
			hồi nhỏ|bé|xưa|trước|đó|còn|cấp
			lúc nhỏ|bé
			ngày xưa|trước|bé|nhỏ
			trước đây|kia
			tháng|tuần trước|rồi
			từng|tiền
			cách đây * năm|tháng|tuần
			năm|tháng|tuần trước
			last year|month|week|summer|winter
			year|years|month|months|week|weeks ago
			when i|he|she was|were
			as a child|kid|teenager|boy|girl
			in the past
			used to
			once had
			history of
			in 19|20
			previously
			childhood`,
		over: `
			đã|thì hết|khỏi|ngừng|cầm|đỡ|ngưng
			hết|khỏi|đỡ|cầm|ngừng|ngưng rồi|hẳn|lâu
			cầm được rồi
			went|gone|goes away|down
			is|are|has|have|was gone|stopped|resolved|better|over
			no longer
			not|isn't anymore`,
		present: `
			bây|bay giờ|gio
			giờ|hiện|đang|vừa|hiện|nãy|liền|ngay
			hôm|sáng|chiều|tối|trưa|đêm nay|qua
			mới bị|té|ngã|xong
			phút|tiếng|giờ trước|rồi|qua|nay
			cách đây * phút|tiếng|giờ
			now|just|currently|today|tonight|yesterday|immediately
			this|last morning|evening|afternoon|night
			right away
			minute|minutes|hour|hours ago
			at the moment
			emergency|help|urgent|urgently`,
	}
}
