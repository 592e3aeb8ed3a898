package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/subject"
	"molar/internal/testkit/packs"
	"molar/providers"
	"molar/schemas"
)

const emergencyEN = "My tooth is infected and I have trouble breathing. Which dentist should I see?"

func dental() schemas.Assistant {
	return schemas.Assistant{Topic: "dental", Search: []string{"guide"}}
}

func dentalBench(scripts ...script) *bench {
	b := newBench(scripts...)
	b.tools.add("tool-server", "guide", `"Title: Abscess\nContent: See a dentist.\nLink: https://a.example/abscess"`)
	b.tools.tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"about":{"type":"string"},"passage":{"type":"string"}}}`)
	return b
}

// The notice is the first text of the answer: it is sent after the verdict and before the search,
// and is saved with the answer.
func TestRun_emergency(t *testing.T) {
	b := dentalBench(says("See a dentist.")).with(t, dental())
	p := b.play(t, ask(emergencyEN))
	if p.err != nil || !strings.HasPrefix(p.text, "**This may be an emergency. Call 115 in Vietnam") {
		t.Fatalf("%q %v", p.text, p.err)
	}
	if !strings.Contains(p.text, "\n\nSee a dentist.\n\nSources:") {
		t.Errorf("the answer is not set apart: %q", p.text)
	}
	if want := "start text tool_call tool_result text text sources done"; p.kinds() != want {
		t.Errorf("events %q, want %q", p.kinds(), want)
	}
	if want := []string{"airway"}; !slices.Equal(p.done.Emergency, want) {
		t.Errorf("the turn is done with the emergency %q, want %q", p.done.Emergency, want)
	}
	if rec := b.memory.saved[0]; rec.Answer != p.text {
		t.Errorf("saved %q", rec.Answer)
	}
	question := b.model.requests[0].Messages[0].FullText()
	if !strings.Contains(question, "has been shown this emergency notice already") {
		t.Errorf("the model is not told: %s", question)
	}
}

// An assistant without a search, or whose search fails, still answers an emergency.
func TestRun_emergency_withoutASearch(t *testing.T) {
	for name, spoil := range map[string]func(*bench){
		"it fails":          func(b *bench) { delete(b.tools.results, "guide") },
		"it is not there":   func(b *bench) { b.tools.tools = nil },
		"the host lacks it": func(b *bench) { b.tools.tools, b.lacking = nil, map[string]string{"guide": "set the key"} },
	} {
		b := dentalBench(says("See a dentist."))
		spoil(b)
		p := b.with(t, dental()).play(t, ask(emergencyEN))
		if p.err != nil || !p.done.Saved || !strings.HasSuffix(p.text, "See a dentist.") || !strings.HasPrefix(p.text, "**This may") || len(p.done.Warnings) != 1 {
			t.Errorf("%s: %q, done %+v, %v", name, p.text, p.done, p.err)
		}
	}
}

func TestRun_emergency_inTheLanguageOfThePerson(t *testing.T) {
	for _, question := range []string{"Răng sâu làm má em sưng to và sốt cao", "rang khon sung to, em bi sot cao va dau rang lam"} {
		b := dentalBench(says("Đi khám ngay.")).with(t, dental())
		if p := b.play(t, ask(question)); !strings.HasPrefix(p.text, "**Sưng kèm sốt có thể là nhiễm trùng") {
			t.Errorf("%q: %q %v", question, p.text, p.err)
		}
	}
}

// If a later step fails, the notice has been shown, and the answer is stored as interrupted.
func TestRun_emergency_survivesWhatFails(t *testing.T) {
	tests := map[string]struct {
		b *bench
	}{
		"model":           {dentalBench(breaks(""))},
		"model, half way": {dentalBench(breaks("See"))},
		"silent model":    {dentalBench(says(""))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := tt.b.with(t, dental())
			p := b.play(t, ask(emergencyEN))
			if p.err == nil || p.done != nil {
				t.Fatalf("the turn did not fail: %q", p.text)
			}
			if name == "silent model" && providers.KindOf(p.err) != providers.KindIncomplete {
				t.Errorf("error %v", p.err)
			}
			if !strings.Contains(p.text, "This may be an emergency") {
				t.Fatalf("shown: %q", p.text)
			}
			if len(b.memory.saved) != 1 || b.memory.saved[0].Status != schemas.StatusInterrupted || b.memory.saved[0].Answer != p.text {
				t.Errorf("saved %+v", b.memory.saved)
			}
		})
	}
}

// An emergency passes the guardrail whatever else the message contains: no word list and no judge
// may refuse a person who needs help. The message is stored.
func TestRun_emergency_alwaysPasses(t *testing.T) {
	for name, question := range map[string]string{
		"an everyday word that code refuses": "I fell off a horse and my front tooth is in my hand",
		"another subject beside it, in vi":   "em bị gãy răng cửa do tai nạn xe máy, máu chảy nhiều quá",
		"a judge would say no":               "I suddenly have trouble breathing, what is this one about?",
	} {
		b := dentalBench(says("Press a cloth on the gum and see a dentist now."))
		b.model.judge = says("NO")
		p := b.with(t, dental()).play(t, ask(question))
		if p.err != nil || p.done.Refused || !p.done.Saved || len(b.memory.saved) != 1 || b.memory.saved[0].Status != "" {
			t.Errorf("%s: %q, done %+v, saved %+v, %v", name, p.text, p.done, b.memory.saved, p.err)
			continue
		}
		if !strings.HasPrefix(p.text, "**") || !strings.Contains(p.text, "see a dentist now") || strings.Contains(p.text, "Sorry") {
			t.Errorf("%s: %q", name, p.text)
		}
		if v := b.recorder.last.Verdict; v == nil || !v.Pass || v.By != "emergency" {
			t.Errorf("%s: verdict %+v", name, v)
		}
	}
}

const offTopicText = "Football has eleven players on each side. Goals are scored by kicking the ball between the posts. The world cup is played every four years, and the next match of the league begins on Sunday in the big stadium."

// The answer is still watched: the part that the judge finds off the subject is cut. No refusal
// follows the notice, which is stored.
func TestRun_emergency_watched(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		b := dentalBench(says(offTopicText)).with(t, dental())
		b.model.judge = says("NO")
		turn := ask(emergencyEN)
		if asJSON {
			turn.Schema = providers.AnyObject()
			b.model.scripts = []script{says(`{"advice":"` + offTopicText + `"}`)}
		}
		p := b.play(t, turn)
		if p.err != nil || p.done == nil || p.done.Refused || !p.done.Saved || p.done.Finish != providers.FinishContentFilter {
			t.Fatalf("JSON %v: %q, done %+v, %v", asJSON, p.text, p.done, p.err)
		}
		if strings.Contains(p.text, "Football") || strings.Contains(p.text, "Sorry") || asJSON != (p.text == "") {
			t.Errorf("JSON %v: %q", asJSON, p.text)
		}
		if len(b.memory.saved) != 1 || !strings.HasPrefix(b.memory.saved[0].Answer, "**This may be an emergency") {
			t.Errorf("JSON %v: saved %+v", asJSON, b.memory.saved)
		}
	}
}

// A turn that continues with the results of the client's tools is still treated as that
// emergency.
func TestRun_emergency_watchedAfterAPause(t *testing.T) {
	b := dentalBench(calls("", "lookup", "{}"), says(offTopicText))
	b.model.judge = says("NO")
	b.pauses = fakePauses{}
	b.with(t, dental())
	turn := ask(emergencyEN)
	turn.ClientTools = []schemas.ToolInfo{{Name: "lookup", InputSchema: []byte(`{"type":"object"}`)}}
	if p := b.play(t, turn); p.err != nil || len(p.done.Calls) != 1 {
		t.Fatalf("%+v %v", p.done, p.err)
	}
	turn.Results = []schemas.ToolResult{{ID: "call-lookup", ToolName: "lookup", Output: []byte(`"x"`)}}
	p := b.play(t, turn)
	if p.err != nil || strings.Contains(p.text, "Goals") || !strings.Contains(p.text, "left this assistant's subject") || p.done.Refused || len(b.memory.saved) != 2 {
		t.Fatalf("%q %+v %v", p.text, p.done, p.err)
	}
	if got := b.memory.saved[1].Answer; !strings.HasPrefix(got, "**This may be an emergency") {
		t.Errorf("saved %q", got)
	}
}

// After an emergency nobody is refused on a guess: what may lean on it is answered, whatever a judge
// would say. A message that code refuses by itself gets the emergency advice again, and no refusal.
func TestRun_emergency_isToldAgainInsteadOfARefusal(t *testing.T) {
	for question, want := range map[string]string{"which hospital": "x", "Who won the football world cup?": "115"} {
		for _, sent := range []bool{false, true} {
			b := dentalBench(says("x"))
			b.model.judge = says("NO")
			turn := ask(question)
			if sent {
				turn.Stateless = true
				turn.Messages = append([]schemas.Message{
					schemas.Text(schemas.RoleUser, emergencyEN), schemas.Text(schemas.RoleAssistant, "Go now."),
				}, turn.Messages...)
			} else {
				b.memory.opening.Messages = []schemas.StoredMessage{
					{Seq: 1, Role: schemas.RoleUser, Content: emergencyEN}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Go now."},
				}
			}
			p := b.with(t, dental()).play(t, turn)
			if p.err != nil || !strings.Contains(p.text, want) || strings.Contains(p.text, "dental assistant") || strings.Contains(p.text, "nha khoa nên") {
				t.Errorf("%q, sent %v: %q %+v %v", question, sent, p.text, p.done, p.err)
			}
		}
	}
}

// Code alone does not refuse a follow-up of an emergency, as only the judge reads both messages.
func TestRun_emergency_isFollowed(t *testing.T) {
	b := dentalBench(says("At the next clinic."))
	b.model.judge = says("NO")
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: emergencyEN}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Go now."},
	}
	if p := b.with(t, dental()).play(t, ask("em nên đi khám ở đâu bây giờ")); p.err != nil || p.done.Refused || !strings.HasPrefix(p.text, "At the next clinic.") {
		t.Errorf("%q %+v %v", p.text, p.done, p.err)
	}
}

func TestRun_emergency_doesNotOpenTheNextTurn(t *testing.T) {
	b := dentalBench(says("x"))
	b.model.judge = says("NO")
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: emergencyEN}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Go now."},
	}
	if p := b.with(t, dental()).play(t, ask("Who won the football world cup?")); p.err != nil || !p.done.Refused {
		t.Errorf("%q %+v %v", p.text, p.done, p.err)
	}
}

func TestRun_emergency_notWithoutOne(t *testing.T) {
	b := dentalBench(says("answer"), says("answer")).with(t, dental())
	if p := b.play(t, ask("How often should I brush my teeth? I have no fever.")); strings.Contains(p.text, "emergency") {
		t.Errorf("%q", p.text)
	}
	b = newBench(says("answer")).with(t, schemas.Assistant{})
	if p := b.play(t, ask(emergencyEN)); p.text != "answer" {
		t.Errorf("an assistant without the topic says %q", p.text)
	}
}

// The fever in this question and the swelling in the previous one count together.
func TestRun_emergency_withTheQuestionBefore(t *testing.T) {
	b := dentalBench(says("answer"))
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "My gum is swollen around a tooth"}, {Seq: 2, Role: schemas.RoleAssistant, Content: "Rinse."},
	}
	if p := b.with(t, dental()).play(t, ask("and now I have a fever of 39 with that toothache")); !strings.HasPrefix(p.text, "**Swelling with fever") {
		t.Errorf("%q %v", p.text, p.err)
	}
}

// A client that asks for JSON gets JSON, and the notice separately.
func TestRun_emergency_JSON(t *testing.T) {
	b := dentalBench(says(`{"advice":"See a dentist today about the infected tooth."}`)).with(t, dental())
	turn := ask(emergencyEN)
	turn.Schema = providers.AnyObject()
	p := b.play(t, turn)
	if !strings.HasPrefix(p.text, `{"advice"`) || len(p.done.Warnings) != 1 || !strings.Contains(p.done.Warnings[0], "emergency") {
		t.Errorf("%q %v", p.text, p.done.Warnings)
	}
}

// After an emergency, a message is not refused on a guess; one that is clearly about another
// subject is.
func TestRun_afterAnEmergency(t *testing.T) {
	for question, refused := range map[string]bool{"I feel fine though": false, "Who won the football world cup in 2014?": true} {
		b := dentalBench(says("Go there all the same.")).with(t, dental())
		b.model.judge = says("NO")
		b.memory.opening.Messages = []schemas.StoredMessage{
			{Role: schemas.RoleUser, Content: "I took 16 paracetamol today because of my tooth"},
			{Role: schemas.RoleAssistant, Content: "Go to an emergency department."},
		}
		if p := b.play(t, ask(question)); p.err != nil || p.done.Refused != refused {
			t.Errorf("%q: refused %v, want %v: %q, %v", question, p.done.Refused, refused, p.text, p.err)
		}
	}
}

// The advice that replaces a refusal fits the latest message: a broken piece is still a piece.
func TestRun_emergency_toldAgainIsWhatIsMeant(t *testing.T) {
	b := dentalBench(says("x"))
	b.model.judge = says("NO")
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "My tooth was knocked out, root and all"},
		{Seq: 2, Role: schemas.RoleAssistant, Content: subject.Notice(packs.Dental(), []string{"knocked-out tooth"}, "en")},
	}
	p := b.with(t, dental()).play(t, ask("Write a Python program that counts the broken pieces of a chess game"))
	if p.err != nil || strings.Contains(p.text, "put it back into its socket") || !strings.Contains(p.text, "never goes into the socket") {
		t.Errorf("%q %+v %v", p.text, p.done, p.err)
	}
}

// The model's answer to a question that code would have refused is watched.
func TestRun_afterAnEmergency_theAnswerIsWatched(t *testing.T) {
	b := dentalBench(says(offTopicText))
	b.tools.tools[0].Annotations.OpenWorldHint = new(false) // its results are the host's own, and no reason to watch
	b.with(t, dental())
	b.model.judge = says("NO")
	b.memory.opening.Messages = []schemas.StoredMessage{
		{Role: schemas.RoleUser, Content: "My tooth was knocked out, root and all"}, {Role: schemas.RoleAssistant, Content: "Put it back."},
	}
	p := b.play(t, ask("and which laptop should I buy then?"))
	if p.err != nil || p.done.Refused || strings.Contains(p.text, "Goals") || !strings.Contains(p.text, "left this assistant's subject") {
		t.Errorf("%q %+v %v", p.text, p.done, p.err)
	}
}

// Help in an emergency is often not dentistry: an answer that code only guesses to be off the
// subject is shown.
func TestRun_emergency_answerIsNotWithheld(t *testing.T) {
	for question, answer := range map[string]string{
		"My lips are swelling after the amoxicillin from the dentist":       "Call an ambulance now. Use an adrenaline pen in the outer thigh if you have one, lie down with the legs raised, and do not eat or drink.",
		"I took 20 paracetamol today because of my toothache":               "Go to hospital even if you feel well, because the liver is harmed before there are signs. Take the packets with you and do not make yourself vomit.",
		"em uống 20 viên paracetamol vì đau răng quá":                       "Đến khoa cấp cứu ngay dù thấy khỏe, vì gan tổn thương trước khi có dấu hiệu. Mang theo vỏ thuốc, đừng cố móc họng cho nôn.",
		"chest pain going into my jaw and left arm, is it my wisdom tooth?": "Sit down and do not walk around. Let somebody call an ambulance, and chew an aspirin if you are not allergic to it.",
	} {
		b := dentalBench(says(answer)).with(t, dental())
		if p := b.play(t, ask(question)); p.err != nil || !strings.Contains(p.text, answer) {
			t.Errorf("%q: %q, done %+v, %v", question, p.text, p.done, p.err)
		}
	}
}

// Without a model nothing can relate the next message to the notice. A follow-up therefore gets
// the notice again, however long ago the emergency began; thanks do not. A refused question gets
// it too: code cannot tell another subject from "which hospital".
func TestRun_afterAnEmergency_offline(t *testing.T) {
	const notice = "**This may be an emergency."
	first := dentalBench(says("Go now.")).with(t, dental()).play(t, ask("I took 16 paracetamol today because of my tooth"))
	for question, again := range map[string]bool{
		"But I feel fine": true, "who do I call?": true, "thanks": false, "Who won the football world cup in 2014?": true,
	} {
		b := dentalBench(says("Go there all the same."))
		b.route.Offline = true
		b.memory.opening.Messages = []schemas.StoredMessage{
			{Role: schemas.RoleUser, Content: "so what do I do"}, {Role: schemas.RoleAssistant, Content: first.text},
		}
		p := b.with(t, dental()).play(t, ask(question))
		if p.err != nil || strings.HasPrefix(p.text, notice) != again || p.done.Refused != strings.Contains(question, "football") {
			t.Errorf("%q: %q, %+v, %v", question, p.text, p.done, p.err)
		}
	}
}

// The notice of self-harm is the whole answer, in any form: no search, model or tool is called,
// and it is stored like any answer.
func TestRun_emergency_endsWithItsNotice(t *testing.T) {
	const harm = "tooth pain so bad I want to kill myself"
	for name, change := range map[string]func(*bench, *agent.Turn){
		"with a model": func(*bench, *agent.Turn) {},
		"offline":      func(b *bench, _ *agent.Turn) { b.route.Offline = true },
		"JSON":         func(_ *bench, turn *agent.Turn) { turn.Schema = providers.AnyObject() },
		"a client's tools": func(_ *bench, turn *agent.Turn) {
			turn.ClientTools = []schemas.ToolInfo{{Name: "lookup", InputSchema: []byte(`{"type":"object"}`)}}
		},
		"a sent history":    func(_ *bench, turn *agent.Turn) { turn.Stateless = true },
		"no search to call": func(b *bench, _ *agent.Turn) { b.tools.tools = nil },
		"and too many pills": func(_ *bench, turn *agent.Turn) {
			turn.Messages = ask("I swallowed 30 paracetamol because I want to die").Messages
		},
	} {
		b := dentalBench(says("no"))
		turn := ask(harm)
		change(b, &turn)
		p := b.with(t, dental()).play(t, turn)
		if p.err != nil || p.done == nil || p.done.Finish != providers.FinishStop || p.done.Refused || !slices.Contains(p.done.Emergency, "self-harm") {
			t.Errorf("%s: %q, done %+v, %v", name, p.text, p.done, p.err)
			continue
		}
		if !strings.HasPrefix(p.text, "**You matter") || !strings.HasSuffix(p.text, "get this help together.") || strings.Contains(p.text, "liver") || len(p.done.Warnings) > 0 {
			t.Errorf("%s: %q, warned %q", name, p.text, p.done.Warnings)
		}
		if p.kinds() != "start text done" || len(b.model.requests) > 0 || len(b.tools.called) > 0 {
			t.Errorf("%s: events %q, %d model calls, called %q", name, p.kinds(), len(b.model.requests), b.tools.called)
		}
		if !b.agent.EndsTurn(p.text) || b.agent.EndsTurn("See a dentist.") {
			t.Errorf("%s: the answer is not known to be whole", name)
		}
		if !turn.Stateless && (len(b.memory.saved) != 1 || b.memory.saved[0].Answer != p.text || b.memory.saved[0].Subject != "") {
			t.Errorf("%s: saved %+v", name, b.memory.saved)
		}
	}
}

// The kind of emergency decides what is looked up: the passage that the topic names for it, from
// a tool that returns passages, or nothing.
func TestRun_emergency_looksUpItsPassage(t *testing.T) {
	for _, tt := range []struct{ question, passage string }{
		{"I took 20 paracetamol today because of my toothache", "overdose"},
		{"my toddler drank half a bottle of mouthwash", "poison"},
		{"I have hives all over and trouble breathing since the injection", "allergy"},
		{"My tooth is infected and I have trouble breathing", "airway"},
		{"chest pain going into my jaw and left arm, is it my wisdom tooth?", ""},
	} {
		b := dentalBench(says("Go now.")).with(t, dental())
		p := b.play(t, ask(tt.question))
		var want []string
		if tt.passage != "" {
			want = []string{`guide {"passage":"` + tt.passage + `","query":"` + tt.question + `"}`}
		}
		if !slices.Equal(b.tools.called, want) || !strings.Contains(p.text, "Go now.") {
			t.Errorf("%q: called %q, want %q: %q, %v", tt.question, b.tools.called, want, p.text, p.err)
		}
		if shown := b.model.requests[0].Messages[0].FullText(); strings.Contains(shown, "Nothing was found") {
			t.Errorf("%q: the model is told that nothing was found: %s", tt.question, shown)
		}
	}
}

// A search by words alone is not called in an emergency. Without a model the answer is then the
// notice alone, with no "I found nothing" after it.
func TestRun_emergency_withoutAPassage(t *testing.T) {
	for name, question := range map[string]string{
		"of a kind without one":      "chest pain going into my jaw and left arm, is it my wisdom tooth?",
		"in a search without it":     "I took 20 paracetamol today because of my toothache",
		"of a kind that is led back": "trouble breathing since I took 20 paracetamol",
	} {
		b := newBench(says("I found nothing that I could quote."))
		b.tools.add("tool-server", "guide", `"Title: Abscess\nContent: See a dentist."`)
		b.route.Offline = true
		p := b.with(t, dental()).play(t, ask(question))
		if p.err != nil || !strings.HasPrefix(p.text, "**This may be an emergency") || strings.Contains(p.text, "nothing that I") || len(b.tools.called) > 0 || !p.done.Saved {
			t.Errorf("%s: %q, called %q, %+v, %v", name, p.text, b.tools.called, p.done, p.err)
		}
	}
}
