package subject_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"molar/agent/subject"
)

// followUps depend on the conversation, whatever its subject.
func followUps() []string {
	return []string{
		"And for children?", "What about old people?", "And at night?", "Còn trẻ em thì sao?", "Vậy còn người già?",
		"Nói rõ hơn cách thứ hai", "Giải thích kỹ hơn đi", "Mình nên chọn loại nào?", "Loại nào tốt nhất?",
		"Bước đầu tiên làm thế nào?", "Bao lâu thì khỏi?", "Có cần đi khám không?", "Trẻ em có dùng được không?",
		"Which one is best?", "Give me an example", "What should I buy?", "Explain the second method in more detail",
		"Mấy ngày thì hết?", "How long does that take?", "Can children do it?", "Tell me more",
		"phai kieng bao lau vay ban", "Is the cheaper brand just as good?", "What if I can't afford it?",
	}
}

func aboutConversation() []string {
	return []string{
		"answer in English please", "what did I ask first?", "make it shorter please", "nói ngắn gọn hơn", "dịch sang tiếng Anh",
		"noi lai don gian hon", "tóm tắt lại giúp em", "câu đầu tiên em hỏi là gì", "can you say that again in simpler words",
		"Sorry, can you answer in English please?", "summarise our conversation so far", "",
	}
}

func TestNeeds_FromGeneralSignsAlone(t *testing.T) {
	for want, texts := range map[subject.Needs][]string{
		subject.FollowUp:  followUps(),
		subject.AboutTalk: aboutConversation(),
		subject.Shift:     {"What about tulips?", "thế còn xe đạp thì sao", "and for tomatoes?"},
		subject.StandsAlone: {
			"How often should I water tomatoes?", "My printer broke, how do I fix it?", "Cây chanh bị vàng lá phải làm sao?",
			"xe đạp điện loại nào tốt",
		},
	} {
		for _, text := range texts {
			if got := subject.NeedsOf(text, false); got != want {
				t.Errorf("%q needs %q, want %q", text, got, want)
			}
		}
	}
}

// Conversations often begin with one or two words to search for: at the beginning only greetings,
// and texts that are certainly no search, count as small talk.
func TestNeeds_AtTheBeginning(t *testing.T) {
	for text, want := range map[string]subject.Needs{
		"sick leave": subject.StandsAlone, "expense form": subject.StandsAlone, "tomato blight": subject.StandsAlone,
		"công tác phí": subject.StandsAlone, "How often should I water tomatoes?": subject.StandsAlone,
		"hello": subject.AboutTalk, "chào bạn": subject.AboutTalk, "what can you do?": subject.AboutTalk, "bạn là ai": subject.AboutTalk,
		"": subject.AboutTalk, "What about tulips?": subject.Shift,
	} {
		if got := subject.NeedsOf(text, true); got != want {
			t.Errorf("%q needs %q, want %q", text, got, want)
		}
	}
}

// The same applies to names of the topic.
func TestNeeds_ATopicAtTheBeginning(t *testing.T) {
	g := guard(t, subject.GuardConfig{Topic: subject.Topic{
		Name: "plants", Voices: described("plants"), Phrases: subject.Phrases{Names: []string{"tree", "blight", "rệp"}},
	}})
	for text, want := range map[string]subject.Needs{
		"lemon tree": subject.StandsAlone, "tomato blight": subject.StandsAlone, "rệp sáp": subject.StandsAlone,
		"who made you": subject.AboutTalk, "hello": subject.AboutTalk, "answer in English please": subject.AboutTalk,
	} {
		if got := g.Needs(text, true); got != want {
			t.Errorf("%q needs %q, want %q", text, got, want)
		}
	}
}

func TestNeeds_OfATopic(t *testing.T) {
	g := dental(t)
	for want, texts := range map[subject.Needs][]string{
		subject.FollowUp:    followUps(),
		subject.AboutTalk:   append(aboutConversation(), "hello", "cảm ơn bác sĩ"),
		subject.Shift:       {"What about implants?", "còn răng khôn thì sao?"},
		subject.StandsAlone: {"Why do teeth hurt?", "tai sao rang bi dau", "Răng sứ loại nào bền nhất?", "How do I clean partial dentures?"},
	} {
		for _, text := range texts {
			if got := g.Quick(text).Needs; got != want {
				t.Errorf("%q needs %q, want %q", text, got, want)
			}
			if got := g.Decide(t.Context(), afterExchange(question(text, "en")), says("YES")).Needs; got != want {
				t.Errorf("%q needs %q behind an exchange, want %q", text, got, want)
			}
		}
	}
}

// A question about the conversation itself passes after an exchange, without a judge.
func TestNeeds_TalkPassesBehindAnExchange(t *testing.T) {
	for _, text := range aboutConversation() {
		if v := dental(t).Decide(t.Context(), afterExchange(question(text, "en")), says("NO")); !v.Pass || !v.Sure {
			t.Errorf("%q: got %+v", text, v)
		}
	}
}

func TestNeeds_SubjectAndQuery(t *testing.T) {
	g, about := dental(t), ""
	for i, turn := range []struct{ question, query string }{
		{"And for children?", "And for children?"},
		{"How often should I brush my teeth?", "How often should I brush my teeth?"},
		{"And for children?", "How often should I brush my teeth? And for children?"},
		{"answer in English please", "answer in English please"},
		{"And at night?", "How often should I brush my teeth? And at night?"},
		{"What about dentures?", "How often should I brush my teeth? What about dentures?"},
		{"How long does that take?", "How often should I brush my teeth? What about dentures? How long does that take?"},
		{"Răng khôn là gì?", "Răng khôn là gì?"},
		{"có đau không", "Răng khôn là gì? có đau không"},
	} {
		needs := g.Needs(turn.question, i == 0)
		if got := strings.TrimSpace(needs.About(about) + " " + turn.question); got != turn.query {
			t.Errorf("searched for %q, want %q", got, turn.query)
		}
		about = needs.Subject(turn.question, about)
	}
	long := subject.StandsAlone.Subject(strings.Repeat("răng ", 1000), "")
	if n := len([]rune(long)); n > 240 {
		t.Errorf("a subject of %d characters", n)
	}
}

// Follow-ups and messages about the conversation, written by an independent writer after dental
// questions, in both languages. None of them was trained on. Questions on the topic stand alone.
func TestNeeds_LinesOfAStranger(t *testing.T) {
	data, err := os.ReadFile("../../topics/general/held/followups.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	g := dental(t)
	all, right := make(map[string]int), make(map[string]int)
	count := func(what string, ok bool, line string) {
		if all[what]++; ok {
			right[what]++
			return
		}
		t.Logf("wrong: %s: %q", what, line)
	}
	for line := range strings.Lines(string(data)) {
		var l struct {
			Earlier     []string
			Text, Needs string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		needs := g.Needs(l.Text, false)
		if l.Needs == "subject" {
			count("follow-ups", needs.FollowsUp(), l.Text)
		} else {
			count("about the talk", needs == subject.AboutTalk, l.Text)
		}
		count("questions", g.Needs(l.Earlier[0], true) == subject.StandsAlone, l.Earlier[0])
	}
	for what, least := range map[string]float64{"follow-ups": 0.85, "about the talk": 0.85, "questions": 0.95} {
		share := float64(right[what]) / float64(all[what])
		t.Logf("%s: %d of %d", what, right[what], all[what])
		if share < least {
			t.Errorf("%s: %.2f are read rightly, want at least %.2f", what, share, least)
		}
	}
}
