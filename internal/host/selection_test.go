package host_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"molar/internal/host"
	"molar/schemas"
)

// The same question again, in another order and with other endings, within half an hour and one conversation,
// says that the answer before did not help. A further question does not, nor another person's.
func TestAskedTwice(t *testing.T) {
	t.Parallel()
	type asked struct {
		minute   int
		place    string // the owner and the conversation
		question string
		outcome  schemas.Outcome
	}
	again := func(first, second string) []asked {
		return []asked{{0, "ann c1", first, schemas.OutcomeDone}, {1, "ann c1", second, schemas.OutcomeDone}}
	}
	const reset, reworded = "How do I reset the payroll password?", "The payroll password: reset it how?"
	for _, tt := range []struct {
		name  string
		turns []asked
		want  string
	}{
		{"the same text", again("Parking?", "parking?"), "0"},
		{"other order and endings", again(reset, reworded), "0"},
		{"without marks", again("Răng khôn mọc lệch", "rang khon moc lech"), "0"},
		{"three times", append(again(reset, reworded), asked{2, "ann c1", "payroll password reset", schemas.OutcomeNotFound}), "0 1"},
		{"past a refused question", []asked{{0, "ann c1", reset, schemas.OutcomeDone}, {1, "ann c1", "", schemas.OutcomeRefused}, {2, "ann c1", reworded, schemas.OutcomeDone}}, "0"},
		{"one common word", again("Where can I park?", "What is a park?"), ""},
		{"a follow-up", again("How often should I brush my teeth?", "And for children?"), ""},
		{"one thing in place of another", again("What does a ceramic crown cost?", "What does a metal crown cost?"), ""},
		{"other numbers", again("Can you add 2 and 3?", "Can you add 10 and 20?"), ""},
		{"narrower", again("What is the wifi password?", "What is the wifi password of the guest network?"), ""},
		{"another one between", append(again(reset, "When is lunch served?"), asked{2, "ann c1", reworded, schemas.OutcomeDone}), ""},
		{"much later", []asked{{0, "ann c1", reset, schemas.OutcomeDone}, {31, "ann c1", reworded, schemas.OutcomeDone}}, ""},
		{"another conversation", []asked{{0, "ann c1", reset, schemas.OutcomeDone}, {1, "ann c2", reworded, schemas.OutcomeDone}}, ""},
		{"another person", []asked{{0, "ann c1", reset, schemas.OutcomeDone}, {1, "bob c1", reworded, schemas.OutcomeDone}}, ""},
		{"after a failure", []asked{{0, "ann c1", reset, schemas.OutcomeFailed}, {1, "ann c1", reset, schemas.OutcomeDone}}, ""},
		{"longer than lists show", again(strings.Repeat("very ", 60)+reset, strings.Repeat("very ", 60)+reset), ""},
	} {
		var turns []schemas.ListedTurn
		for i, a := range tt.turns {
			turn := schemas.ListedTurn{ID: fmt.Sprint(i), Outcome: a.outcome, At: time.Date(2026, 11, 2, 9, a.minute, 0, 0, time.UTC)}
			turn.Owner, turn.ConversationID, _ = strings.Cut(a.place, " ")
			if a.question != "" {
				turn.Question = &a.question
			}
			turns = append([]schemas.ListedTurn{turn}, turns...)
		}
		var got []string
		for _, turn := range host.AskedTwice(turns) {
			got = append([]string{turn.ID}, got...)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: turns %q, want %q", tt.name, text, tt.want)
		}
	}
}
