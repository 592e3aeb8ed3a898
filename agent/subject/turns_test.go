package subject_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"molar/agent/subject"
)

// nextMessages is an exchange on a topic, and possible next messages: on the topic, and off it.
type nextMessages struct {
	Topic, Question, Answer string
	On, Off                 []string
}

func readTurns(t *testing.T) []nextMessages {
	t.Helper()
	data, err := os.ReadFile("testdata/turns.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []nextMessages
	for line := range strings.Lines(string(data)) {
		var x nextMessages
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, x)
	}
	return all
}

// turnGuards returns the guards of a learned topic, of one with phrases and of one with examples.
func turnGuards(t *testing.T) map[string]*subject.Guard {
	return map[string]*subject.Guard{
		"dental": dental(t),
		"bees": guard(t, subject.GuardConfig{Topic: subject.Topic{
			Name: "bees", Voices: described("keeping bees"),
			Phrases: subject.Phrases{Names: []string{"bee", "beekeep*", "hive", "honey", "nuôi ong", "tổ ong", "đàn ong", "mật ong"}},
		}}),
		"gardening": guard(t, subject.GuardConfig{Topic: subject.Topic{Name: "gardening", Voices: described("gardens and plants"), Examples: gardening()}}),
	}
}

// The next messages, in people's own words: one that turns to another subject never passes as
// sure, and is refused if the judge rejects it; one that continues is answered, with and without
// a judge.
func TestGuard_TurnsOfATalk(t *testing.T) {
	guards := turnGuards(t)
	on, off, answered, guessed, let, sure, passed := 0, 0, 0, 0, 0, 0, 0
	for _, x := range readTurns(t) {
		g := guards[x.Topic]
		decide := func(text string, judge subject.Judge) subject.Verdict {
			lang := map[bool]string{true: "vi", false: "en"}[foldMarks(x.Question) != strings.ToLower(x.Question)]
			return g.Decide(t.Context(), subject.Question{Text: text, Lang: lang, Last: &subject.Exchange{Question: x.Question, Answer: x.Answer}}, judge)
		}
		for _, text := range x.On {
			on++
			if v := decide(text, says("YES")); v.Pass {
				answered++
			} else {
				t.Logf("%s: refused with a judge that would pass it: %q: %+v", x.Topic, text, v)
			}
			if v := decide(text, nil); v.Pass {
				guessed++
			} else {
				t.Logf("%s: refused without a judge: %q: %+v", x.Topic, text, v)
			}
		}
		for _, text := range x.Off {
			off++
			v := decide(text, nil)
			if v.Pass {
				let++
			}
			if v.Pass && v.Sure {
				sure++
				t.Logf("%s: passes surely: %q: %+v", x.Topic, text, v)
			}
			if v := decide(text, says("NO")); v.Pass {
				passed++
			}
		}
	}
	t.Logf("of %d that go on %d are answered with a judge and %d without; of %d that turn away %d pass surely, %d with a judge, %d on a guess without", on, answered, guessed, off, sure, passed, let-sure)
	if on != 60 || off != 60 {
		t.Fatalf("%d that go on, %d that turn away", on, off)
	}
	if answered < 58 || guessed < 55 {
		t.Errorf("%d are answered with a judge, %d without", answered, guessed)
	}
	if sure > 0 || passed > 0 {
		t.Errorf("%d pass surely, %d pass a judge who refuses them", sure, passed)
	}
}

// The judge sees the last exchange with a follow-up.
func TestGuard_JudgeSeesTheExchange(t *testing.T) {
	asked := ""
	q := question("and what would it cost to insure my van?", "en")
	q.Last = &subject.Exchange{Question: "How often should I inspect a hive?", Answer: "Every ten days in spring."}
	v := turnGuards(t)["bees"].Decide(t.Context(), q, func(_ context.Context, ask subject.Ask) (string, error) {
		asked = ask.User
		return "NO", nil
	})
	if v.Pass || v.By != "model" || !strings.Contains(asked, q.Last.Question) || !strings.Contains(asked, q.Last.Answer) {
		t.Errorf("%+v, asked %q", v, asked)
	}
}
