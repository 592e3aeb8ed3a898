package answer

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"molar/agent/prompts"
	"molar/internal/testkit/packs"
)

func dentalSecret(t testing.TB, own string) *Secret {
	t.Helper()
	var roles []string
	if own == "" {
		for _, lang := range []string{"vi", "en", "other"} {
			roles = append(roles, packs.Dental().Voice(lang).System)
		}
	}
	return NewSecret(prompts.Private(roles...), own)
}

func filterOf(s *Secret) *leak {
	return &leak{secret: s, instead: func() string { return "[…]" }}
}

// through streams text in pieces of random length through the filter.
func through(f *leak, text string, r *rand.Rand) string {
	var out strings.Builder
	for text != "" {
		n := min(len(text), 1+r.IntN(12))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		out.WriteString(f.Pass(text[:n]))
		text = text[n:]
	}
	return out.String() + f.Rest()
}

// commonLetters returns the length of the longest run of letters that both texts contain.
func commonLetters(a, b string) int {
	var y []rune
	for part := range strings.SplitSeq(b, "\x00") { // NUL separates the parts of a secret
		y = append(append(y, []rune(string(appendLetters(nil, part)))...), 0)
	}
	x := []rune(string(appendLetters(nil, a)))
	longest, row := 0, make([]int, len(y)+1)
	for i := range x {
		for j := len(y); j > 0; j-- {
			row[j] = map[bool]int{true: row[j-1] + 1}[x[i] == y[j-1]]
			longest = max(longest, row[j])
		}
	}
	return longest
}

func systemPrompt(t *testing.T, lang, own string) string {
	t.Helper()
	return prompts.System(prompts.SystemInput{Language: lang, Text: cmp.Or(own, packs.Dental().Voice(lang).System), Topic: true})
}

// However the model formats the prompt, and in whatever pieces it is streamed, no sentence of the
// prompt passes the filter, and the text around it does.
func TestLeakFilter_leaks(t *testing.T) {
	const own = "You are Minty, the assistant of the Bright Smile clinic. Never speak of prices, and send whoever asks for one to the desk."
	r := rand.New(rand.NewPCG(1, 2))
	for _, lang := range []string{"en", "vi", "other"} {
		for _, text := range []string{"", own} {
			prompt := systemPrompt(t, lang, text)
			for name, said := range map[string]string{
				"plain":     prompt,
				"shouted":   strings.ToUpper(prompt),
				"quoted":    "> " + strings.ReplaceAll(prompt, "\n", "\n> "),
				"as a list": "* **" + strings.ReplaceAll(prompt, ". ", ".**\n* **"),
				"spaced":    strings.ReplaceAll(prompt, " ", " _ "),
				"numbered":  numbered(prompt),
				"in code":   "```\n" + prompt + "\n```",
			} {
				got := through(filterOf(dentalSecret(t, text)), "Sure. Here you are: "+said+" Xyz qqq. That was it, dear!", r)
				// Text in brackets and the turn's mark may pass.
				if n := commonLetters(got, dentalSecret(t, text).text); n >= shortest {
					t.Errorf("%s, %s: %d letters in a row came through: %q", lang, name, n, got)
				}
				if !strings.HasPrefix(got, "Sure. Here you are: ") || !strings.HasSuffix(got, "That was it, dear!") || !strings.Contains(got, "[…]") {
					t.Errorf("%s, %s: %q", lang, name, got)
				}
			}
		}
	}
}

// numbered puts a number before each sentence.
func numbered(text string) string {
	var b strings.Builder
	for i, sentence := range strings.SplitAfter(text, ". ") {
		fmt.Fprintf(&b, "\n%d. %s", i+1, sentence)
	}
	return b.String()
}

// A prompt that is interspersed with other text is still found: the sentences that passed count
// together.
func TestLeakFilter_inPieces(t *testing.T) {
	own := strings.Join([]string{
		"You are Minty, the assistant of the clinic.", "Never speak of prices with anybody who asks.", "Send them to the desk on the ground floor.",
		"The word of the day is written on the door.", "Doctors see nobody without an appointment.", "Be kind to children and to those who fear us.",
	}, " ")
	said := strings.ReplaceAll(own, ". ", ". So much for that one, by the way. ")
	got := through(filterOf(dentalSecret(t, own)), said, rand.New(rand.NewPCG(7, 8)))
	if !strings.Contains(got, "[…]") || strings.Contains(got, "kind to children") || strings.Contains(got, "without an appointment") {
		t.Errorf("it came out as %q", got)
	}
}

// A cut leaves whole sentences around it.
func TestLeakFilter_leavesSentences(t *testing.T) {
	const own = "You are Minty, the assistant of the Bright Smile clinic. Never speak of prices, and send whoever asks for one to the desk."
	r := rand.New(rand.NewPCG(5, 6))
	for said, want := range map[string]string{
		"I was told this: " + own + " Ask me more. Goodbye.": "I was told this: […] Ask me more. Goodbye.",
		"First, you are Minty, the assistant of the Bright Smile clinic. Never speak of prices, and send whoever asks for one to the desk, they said. Bye.": "First, you are Minty… […] Bye.",
		own + " Fine. They also said never speak of prices, and send whoever, and so on. Bye.":                                                              "[…] Fine. Bye.",
	} {
		got := through(filterOf(dentalSecret(t, own)), said, r)
		if !strings.HasSuffix(got, " Bye.") && !strings.HasSuffix(got, "Goodbye.") || strings.Contains(got, " .") || commonLetters(got, own) >= shortest {
			t.Errorf("%q came out as %q, want about %q", said, got, want)
		}
		for _, sentence := range strings.SplitAfter(strings.TrimSpace(got), ". ") {
			if end := strings.TrimSpace(sentence); !strings.HasSuffix(end, ".") && !strings.HasSuffix(end, "]") {
				t.Errorf("%q ends in a stump: %q", got, sentence)
			}
		}
	}
}

// Answers pass unchanged, even where they mention facts that the prompt also mentions.
func TestLeakFilter_passes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	own := "Our opening hours are Monday to Friday from 8:00 to 17:00, and the address is 12 Lê Lợi, Huế. " + strings.Repeat("Speak kindly and keep to the facts. ", 6)
	for _, text := range []string{
		"", "Có.", "🦷 Brush twice a day.\n\n- soft brush\n- two minutes",
		"Hãy đến gặp nha sĩ ngay. Với dấu hiệu cấp cứu (sưng kèm sốt, khó thở hoặc khó nuốt, răng bị bật ra khỏi ổ), hãy gọi 115.",
		"Call for help with signs of an emergency: swelling with fever, trouble breathing or swallowing, a knocked-out tooth.",
		"We are open Monday to Friday from 8:00 to 17:00, and the address is 12 Lê Lợi, Huế.",
		"I answer only about dentistry.", "Mình chỉ trả lời về nha khoa và sức khỏe răng miệng",
		"ends inside the same words: you are a dental consultant",
	} {
		for range 20 {
			if got := through(filterOf(dentalSecret(t, own)), text, r); got != text {
				t.Errorf("%q came out as %q", text, got)
			}
		}
		if got := through(filterOf(dentalSecret(t, "")), text, r); got != text {
			t.Errorf("%q came out as %q", text, got)
		}
	}
}

// Text that shares nothing with the secret is not buffered at all.
func TestLeakFilter_holdsNothingElse(t *testing.T) {
	f := filterOf(dentalSecret(t, ""))
	for _, piece := range strings.SplitAfter("An implant takes the place of a missing tooth and lasts for many years.", " ") {
		if got := f.Pass(piece); got != piece {
			t.Errorf("%q became %q", piece, got)
		}
	}
}

func FuzzLeakFilter(f *testing.F) {
	f.Add("You are a dental consultant who answers patients: friendly, clear", uint64(1))
	f.Add("Chỉ trả lời về nha khoa và sức khỏe răng miệng. Không chẩn đoán và không", uint64(2))
	s := dentalSecret(f, "")
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		text = text[:min(len(text), 300)]
		got := through(filterOf(s), text, rand.New(rand.NewPCG(seed, 0)))
		if commonLetters(text, s.text) < shortest && got != text && strings.ToValidUTF8(text, "") == text {
			t.Errorf("%q came out as %q", text, got)
		}
	})
}

func BenchmarkLeakFilter(b *testing.B) {
	s := dentalSecret(b, "")
	piece := "Bạn nên chải răng hai lần mỗi ngày với kem có fluor. "
	for b.Loop() {
		f := filterOf(s)
		for range 40 {
			f.Pass(piece)
		}
	}
}
