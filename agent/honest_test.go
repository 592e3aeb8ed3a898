package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/providers"
	"molar/schemas"
)

// honestAnswers returns short answers that mention no teeth: a lack of knowledge, comfort, numbers,
// questions.
func honestAnswers() []string {
	return []string{
		"I couldn't find anything reliable about that in the pages I was given.",
		"None of the sources gives a figure, so I would rather not guess.",
		"That depends on your situation, and I cannot tell from here.",
		"It usually takes between three and six weeks until everything feels normal again.",
		"Roughly 400 to 900 euros, but nothing I read names an exact price.",
		"I am not certain. Could you tell me how old you are and since when?",
		"It is completely understandable that you are nervous; many people feel exactly the same.",
		"Take a few slow breaths, bring a friend along, and tell them beforehand that you are scared.",
		"No, that is nothing to worry about at all.",
		"Yes, you can do that, but wait at least two hours first.",
		"The information that I have ends here, and I do not want to invent the rest.",
		"Once in the morning and once before you go to bed is enough.",
		"I have no data on that particular brand, I'm afraid.",
		"The two pages contradict each other, so I cannot say which one is right.",
		"You would have to call them and ask, because their prices are not published.",
		"About one in twenty people, according to the second page.",
		"Please write down what you notice each day, and we can look at it together.",
		"I don't know whether your insurer pays for it; their hotline can tell you.",
		"There was nothing on children under three in what was found.",
		"You're right, I was wrong about that before, and I apologise for it.",
		"Mình tìm mà chưa thấy nguồn nào nói rõ về điều bạn hỏi.",
		"Những trang đã xem không nêu con số cụ thể, nên mình không dám đoán.",
		"Cái này còn tùy tình trạng của bạn, từ xa mình không nói chắc được.",
		"Thường thì khoảng ba đến sáu tuần là mọi thứ trở lại bình thường.",
		"Khoảng từ hai đến năm triệu đồng, nhưng không trang nào ghi giá chính xác.",
		"Bạn cho mình biết thêm là bao nhiêu tuổi và bị từ khi nào được không?",
		"Lo lắng như vậy là chuyện rất bình thường, nhiều người cũng giống bạn.",
		"Bạn hít thở chậm vài lần, rủ người thân đi cùng và cứ nói trước là mình sợ.",
		"Không sao đâu bạn, chuyện đó không có gì đáng lo cả.",
		"Được bạn nhé, nhưng nên chờ ít nhất là hai tiếng đã.",
		"Thông tin mình có chỉ đến đó thôi, mình không muốn bịa thêm.",
		"Mỗi ngày hai lần, một lần buổi sáng và một lần trước khi ngủ là đủ.",
		"Rất tiếc là mình không có dữ liệu gì về thương hiệu này.",
		"Hai trang nói trái ngược nhau nên mình chưa biết bên nào đúng.",
		"Bạn nên gọi điện hỏi trực tiếp vì họ không công bố bảng giá.",
		"Theo trang thứ hai thì cứ hai mươi người có khoảng một người bị.",
		"Bạn ghi lại mỗi ngày thấy thế nào rồi mình cùng xem tiếp nhé.",
		"Mình không rõ bảo hiểm của bạn có chi trả không, bạn hỏi tổng đài giúp mình.",
		"Trong kết quả tìm được không có gì cho trẻ dưới ba tuổi.",
		"Bạn nói đúng, lúc nãy mình nói sai, mình xin lỗi bạn.",
	}
}

// unsourced returns the answers whose price stands in no source, which the dental topic asks for.
func unsourced(answer string) bool {
	return strings.Contains(answer, "400 to 900 euros") || strings.Contains(answer, "hai đến năm triệu đồng")
}

// watchedTurn returns a turn whose answer is watched, because the search results are not the host's
// own; with history, a history sent by the client is a further reason.
func watchedTurn(question string, history bool) (*bench, agent.Turn) {
	b := newBench()
	b.tools.add("tool-server", "web", `"Title: Teeth\nContent: Brush twice a day.\nLink: https://a.example/"`)
	turn := ask(question)
	if history {
		turn.Stateless = true
		turn.Messages = append([]schemas.Message{
			schemas.Text(schemas.RoleUser, "How is a dental implant made?"), schemas.Text(schemas.RoleAssistant, "In several steps."),
		}, turn.Messages...)
	}
	return b, turn
}

// No honest answer is cut or replaced: with a judge that reads it together with its question,
// with one that fails or does not answer, and without one.
func TestWatch_honestAnswers(t *testing.T) {
	judges := map[string]func(*bench){
		"a judge":                      func(*bench) {},
		"a judge that fails":           func(b *bench) { b.model.judge = breaks("") },
		"a judge that cannot be read":  func(b *bench) { b.model.judge = says("perhaps") },
		"a judge that says both":       func(b *bench) { b.model.judge = says("There is no other subject in it: YES") },
		"a judge that does not answer": func(b *bench) { b.route.Provider = hanging{b.model} },
		"no model":                     func(b *bench) { b.route.Offline = true },
	}
	for name, prepare := range judges {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lost, longest := 0, time.Duration(0)
				b, _ := watchedTurn("", false)
				prepare(b)
				b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}})
				for _, history := range []bool{false, true} {
					for _, question := range []string{"How often should I brush my teeth to avoid cavities?", "Sâu răng là gì?"} {
						for _, answer := range honestAnswers() {
							b.model.scripts = []script{says(strings.SplitAfter(answer, " ")...)}
							_, turn := watchedTurn(question, history)
							began := time.Now()
							p := b.play(t, turn)
							longest = max(longest, time.Since(began))
							whole := strings.HasPrefix(p.text, answer)
							if unsourced(answer) && !b.route.Offline {
								whole = strings.Contains(p.text, "[…]")
							}
							if p.err != nil || p.done.Refused || !whole || p.done.Finish != providers.FinishStop {
								lost++
								t.Errorf("%q, history %v: %q becomes %q, %v", question, history, answer, p.text, p.err)
							}
						}
					}
				}
				asked := 0
				for _, pass := range b.model.passes() {
					if pass == providers.PassGuardrail {
						asked++
					}
				}
				t.Logf("%d of %d are lost; the judge was asked %d times, the longest turn took %s", lost, 4*len(honestAnswers()), asked, longest)
			})
		})
	}
}

// An answer that turns to another subject is cut once the judge rejects it, in the language of
// the question; the text before it stays. If the judge accepts it, it is shown to its end.
func TestWatch_straysAreCut(t *testing.T) {
	const good = "Brush your teeth twice a day with fluoride toothpaste and clean between them each evening with floss or a small brush. See your dentist once a year, and sooner when a tooth hurts, is loose, or when the gum around it bleeds. "
	for name, stray := range map[string]string{
		"a recipe": "For the goulash, fry two onions in lard, add the diced beef and some paprika, then let it simmer with red wine and stock for two hours. Season it with salt, caraway and marjoram, and serve it with noodles or potatoes.",
		"code":     "To reverse a linked list in Python, keep three pointers. In each loop save the next node, turn the pointer of the current node around, and move on by one. The function returns the last node, which is the new head of the list.",
		"politics": "The prime minister should resign after this election, since the parties of his coalition lost their majority in parliament. The opposition now demands a vote of no confidence, and the president may dissolve the assembly before the summer.",
		"a story":  "Ngày xưa có một chàng hoàng tử sống trong lâu đài trên đỉnh núi. Một hôm chàng cưỡi ngựa xuống làng, gặp cô gái chăn cừu và đem lòng yêu mến. Vua cha nổi giận, đuổi chàng ra khỏi vương quốc cùng thanh gươm cũ.",
		"football": offTopicText,
	} {
		for _, tt := range []struct{ question, note string }{
			{"How often should I brush my teeth to avoid cavities?", "left this assistant's subject"},
			{"Sâu răng là gì?", "ra ngoài chủ đề"},
		} {
			for _, before := range []string{"", good} {
				for _, verdict := range []string{"NO", "YES"} {
					b, turn := watchedTurn(tt.question, false)
					b.model.scripts = []script{says(strings.SplitAfter(before+stray+" "+stray, " ")...)}
					b.model.judge = says(verdict)
					p := b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}}).play(t, turn)
					if p.err != nil || p.done.Refused || !p.done.Saved || len(b.memory.saved) != 1 {
						t.Fatalf("%s: %q %+v %v", name, p.text, p.done, p.err)
					}
					whole, noted := strings.Contains(p.text, stray+" "+stray), strings.Contains(p.text, tt.note)
					if cut := verdict == "NO"; whole == cut || noted != cut || (p.done.Finish == providers.FinishContentFilter) != cut || !strings.HasPrefix(p.text, before[:min(len(before), 190)]) {
						t.Errorf("%s behind %d characters, the judge says %s: %q", name, len(before), verdict, p.text)
					}
					saved := b.memory.saved[0]
					if saved.User != tt.question || verdict == "NO" && (!strings.HasPrefix(saved.Answer, before[:min(len(before), 190)]) || !strings.Contains(saved.Answer, tt.note) || strings.Contains(saved.Answer, stray)) {
						t.Errorf("%s: saved %+v", name, saved)
					}
				}
			}
		}
	}
}

// The judge reads the question and the doubtful part together, fenced as data. If it gives no
// answer it is not called again.
func TestWatch_asksTogether(t *testing.T) {
	for _, fails := range []bool{false, true} {
		b, turn := watchedTurn("How often should I brush my teeth to avoid cavities?", true)
		b.model.scripts = []script{says(strings.SplitAfter(strings.Repeat(offTopicText+" ", 4), " ")...)}
		if fails {
			b.model.judge = breaks("")
		}
		if p := b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}}).play(t, turn); p.err != nil || p.done.Finish != providers.FinishStop {
			t.Fatalf("%q %+v %v", p.text, p.done, p.err)
		}
		asked := 0
		for _, req := range b.model.requests {
			if req.Pass != providers.PassGuardrail {
				continue
			}
			asked++
			text := req.Messages[0].FullText()
			for _, want := range []string{"to avoid cavities?", "How is a dental implant made?", "Football has eleven", "<<data answer"} {
				if asked == 1 && !strings.Contains(text, want) {
					t.Errorf("the judge does not read %q: %s", want, text)
				}
			}
		}
		if fails && asked != 1 || !fails && asked < 2 {
			t.Errorf("fails %v: asked %d times", fails, asked)
		}
	}
}

// A turn that is stopped during the judge's call ends as stopped.
func TestWatch_stoppedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, turn := watchedTurn("How often should I brush my teeth to avoid cavities?", false)
		b.model.scripts = []script{says(offTopicText)}
		b.route.Provider = hanging{b.model}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var last error
		for _, err := range b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}}).agent.Run(ctx, turn) {
			last = err
		}
		if last == nil || len(b.memory.saved) != 1 || b.memory.saved[0].Status != schemas.StatusInterrupted {
			t.Errorf("%v, saved %+v", last, b.memory.saved)
		}
	})
}

// Quotations are not watched: neither without a model, nor when a quoting provider answers in
// place of a model.
func TestWatch_quotationsAreNotWatched(t *testing.T) {
	instead := func(_ providers.Request, yield func(providers.Chunk, error) bool) {
		_ = yield(providers.Chunk{Switched: &providers.Switch{Provider: "offline", Why: "the model is gone", Quotes: true}}, nil) &&
			yield(providers.Chunk{Text: offTopicText}, nil) && yield(providers.Chunk{Finish: providers.FinishStop}, nil)
	}
	for name, spoken := range map[string]script{"offline": says(offTopicText), "offline instead of a model": instead} {
		b, turn := watchedTurn("How often should I brush my teeth to avoid cavities?", true)
		b.model.scripts, b.route.Offline = []script{spoken}, name == "offline"
		b.model.judge = says("NO")
		if p := b.with(t, schemas.Assistant{Topic: "dental", Search: []string{"web"}}).play(t, turn); p.err != nil || !strings.HasPrefix(p.text, offTopicText) || p.done.Finish != providers.FinishStop {
			t.Errorf("%s: %q %+v %v", name, p.text, p.done, p.err)
		}
	}
}
