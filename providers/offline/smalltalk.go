package offline

import (
	"slices"
	"strings"

	"molar/internal/text"
)

// A courtesy is a kind of small talk, by phrases that "|" separates, and the reply to it.
type courtesy struct{ phrases, vi, en string }

// courtesies returns the small talk that needs no tool, with folded phrases. The first one whose
// phrase a message contains counts.
func courtesies() []courtesy {
	return []courtesy{
		{
			"cam on|thanks|tks|thank you|thx",
			"Không có gì ạ! Bạn cần hỏi thêm gì thì cứ nhắn nhé.", "You're welcome! Ask me whenever something else comes up.",
		},
		{
			"are you a bot|are you a robot|are you real|are you human|are you a person|are you a machine|are you an ai|bot ha|la bot|la robot|la may a|la may ha|nguoi hay may|nguoi that|co phai bac si|cua bac si|tu bac si|bac si viet|by a doctor|by a dentist|from a doctor|from a dentist|phai bac si khong|are you a doctor|are you a dentist|a real doctor|a real dentist",
			"Mình là trợ lý tự động, không phải người thật. Bạn cần hỏi gì thì cứ nhắn nhé.", "I am an automatic assistant, not a person. Ask me what you would like to know.",
		},
		{"tam biet|bye|goodbye|see you|hen gap lai", "Tạm biệt bạn, chúc bạn một ngày tốt lành!", "Goodbye, and have a good day!"},
		{
			"useless|not helpful|unhelpful|bad answer|wrong answer|that is wrong|thats wrong|not what i asked|did not help|didnt help|vo dung|vo ich|khong dung cai|vong vo|chung chung|chan qua|te qua|khong giup gi|tra loi sai|sai roi|khong dung y|do qua",
			"Xin lỗi vì câu trả lời chưa giúp được bạn. Bạn cho mình biết rõ hơn điều bạn cần nhé?", "I am sorry that this did not help. Could you tell me more about what you need?",
		},
		{
			"in english|in vietnamese|to english|to vietnamese|bang tieng|sang tieng|tieng anh di|tieng viet di|noi tieng anh|noi tieng viet",
			"Mình trả lời theo ngôn ngữ của câu hỏi: bạn cứ hỏi bằng tiếng Việt hoặc tiếng Anh nhé. Mình chỉ trích nội dung có sẵn nên chưa dịch lại được câu đã trả lời.",
			"I answer in the language of the question: just ask in English or Vietnamese. I can only quote what is written, so I cannot translate what I have said.",
		},
		{
			"shorter|too long|bullet points|in a table|one sentence|simpler|summarise|summarize|ngan gon|ngan hon|ngan thoi|noi ngan|dai dong|dai qua|gach dau dong|thanh bang|mot cau thoi|1 cau thoi|tom tat|de hieu hon",
			"Mình chỉ trích nguyên văn nội dung có sẵn nên chưa viết lại theo ý bạn được. Bạn hỏi riêng từng ý, mình sẽ tìm phần ngắn hơn nhé.",
			"I can only quote what is written, so I cannot put it in another form. Ask about one point of it, and I will look for that part.",
		},
		{"ban lam duoc gi|ban giup duoc gi|ban co the lam gi|ban co the giup gi|ban la ai|may la ai|ai lam ra|ai tao ra|who made you|what can you do|who are you|how can you help", "", ""},
		{"xin chao|chao|hello|hi|hey|good morning|good afternoon|good evening|alo", "Chào bạn! Mình có thể giúp gì cho bạn?", "Hello! How can I help you?"},
	}
}

// fixedTexts returns the fixed answers that quote nothing.
func fixedTexts() []string {
	texts := []string{lostEnglish, lostVietnamese, noMoreEnglish, noMoreVietnamese, newEnglish, newVietnamese}
	for _, c := range courtesies() {
		texts = append(texts, c.vi, c.en)
	}
	return texts
}

// nods are the words of messages that only acknowledge an answer and ask for nothing.
const nods = " ok okay oke oki okie okela alright fine right got it i see understood sure yes no yeah yep da vang u uh um a ah roi duoc hieu nhe nha nhen ban bs em minh ad "

// The reply to a nod.
const (
	nodEnglish    = "All right. Ask me whenever something else comes up."
	nodVietnamese = "Vâng ạ. Bạn cần hỏi thêm gì thì cứ nhắn nhé."
)

// smallTalkWords is the length of the longest courtesy, in words: a longer message asks for more.
const smallTalkWords = 8

// smallTalk answers a greeting, thanks, a goodbye, or the question what this assistant can do. about
// describes the assistant's purpose.
func smallTalk(question, about string, vietnamese, tools bool) (string, bool) {
	words := wordForm().FindAllString(text.Fold(question), -1)
	if len(words) == 0 || len(words) > smallTalkWords {
		return "", false
	}
	line := " " + strings.Join(words, " ") + " "
	all := courtesies()
	i := slices.IndexFunc(all, func(c courtesy) bool {
		return slices.ContainsFunc(strings.Split(c.phrases, "|"), func(p string) bool { return strings.Contains(line, " "+p+" ") })
	})
	switch {
	case i < 0 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(nods, " "+w+" ") }):
		return pick(vietnamese, nodVietnamese, nodEnglish), true
	case i < 0:
		return "", false
	case all[i].en != "":
		return pick(vietnamese, all[i].vi, all[i].en), true
	case about == "" && !tools:
		return "", false
	case about == "":
		return pick(vietnamese, "Mình tra cứu bằng các công cụ được nối vào và trích lại những gì chúng trả về. Bạn cần tìm gì?",
			"I look things up with the tools that are attached here, and quote what they return. What are you looking for?"), true
	}
	about = strings.TrimSuffix(strings.TrimSpace(about), ".")
	return pick(vietnamese, "Mình có thể giúp bạn về: "+about+". Bạn muốn hỏi gì?", "I can help you with this: "+about+". What would you like to know?"), true
}
