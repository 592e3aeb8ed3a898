package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"molar/agent/memory"
	"molar/agent/prompts"
)

// chatter returns four kilobytes without a fact, which a summary may lose.
func chatter(lang string) string {
	line := "The patient asked about brushing and was advised to be gentle. "
	if lang == "vi" {
		line = "Bệnh nhân hỏi về cách chải răng và được khuyên nên nhẹ tay. "
	}
	return strings.TrimSpace(strings.Repeat(line, 4<<10/len(line)))
}

// condensedSummary returns the summary of a conversation whose exchanges have the given pieces, with the
// given function as the condensing model.
func condensedSummary(t *testing.T, lang string, pieces []string, condense func(context.Context, string, string) (string, error)) string {
	t.Helper()
	c := fresh(t)
	next := 0
	w, err := memory.NewWorker(memory.WorkerConfig{
		Client: c,
		Condense: func(ctx context.Context, x prompts.SummaryInput) (string, error) {
			of(t, x)
			return condense(ctx, x.Language, x.SoFar)
		},
		Summarise: func(_ context.Context, x prompts.SummaryInput) (string, error) {
			of(t, x)
			next++
			return pieces[next-1], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pieces {
		question := fmt.Sprint("q", i)
		o := begin(t, c, "chat_a", "")
		if err := c.Save(t.Context(), memory.Record{Lease: o.Lease, TurnID: question, User: question, Answer: "a", Language: lang, Assistant: "nurse"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	o := peek(t, c, "chat_a", "")
	if want := int64(2 * len(pieces)); o.Covers != want {
		t.Errorf("the summary covers %d, want %d", o.Covers, want)
	}
	return o.Summary
}

// of checks that the texts are those of the assistant, whose endpoint may be the only one that may read them.
func of(t *testing.T, x prompts.SummaryInput) {
	t.Helper()
	if x.Assistant != "nurse" {
		t.Errorf("the texts of assistant %q", x.Assistant)
	}
}

// If a model drops facts that must be kept, they are added again in their old words.
func TestWorker_CondenseKeepsFacts(t *testing.T) {
	facts := map[string][]string{
		"en": {
			"Nguyen Van An is 34 years old.",
			"She is allergic to penicillin and to latex.",
			"He takes warfarin 5mg every evening and 500 mg paracetamol when it hurts.",
			"There is no allergy to lidocaine.",
			"The appointment with Dr. Mai is on 12/05 at 14:30.",
			"Her phone number is 0905-123-456.",
		},
		"vi": {
			"Bệnh nhân Trần Thị Lan 34 tuổi.",
			"Bệnh nhân dị ứng penicillin và mủ cao su.",
			"Đang uống thuốc chống đông warfarin 5mg mỗi tối.",
			"Không dị ứng với thuốc tê lidocain.",
			"Hẹn bác sĩ Mai ngày 12/05 lúc 14:30.",
			"Số điện thoại: 0905-123-456.",
		},
	}
	for lang, lines := range facts {
		old := []string{strings.Join(lines[:3], " "), chatter(lang), strings.Join(lines[3:], "\n"), chatter(lang)}
		for name, short := range map[string]string{
			"drops all":                 "A talk on teeth.",
			"tears allergies apart":     "Allergic. Penicillin, latex, warfarin, lidocaine, Không dị ứng. Mủ cao su, lidocain.",
			"keeps the first half":      strings.Join(lines[:3], "\n"),
			"drops the denial":          "Allergy to lidocaine. Dị ứng với thuốc tê lidocain.",
			"numbers without their due": "5mg 500 34 12/05 14:30 0905-123-456.",
		} {
			t.Run(lang+" "+name, func(t *testing.T) {
				asked := ""
				got := condensedSummary(t, lang, old, func(_ context.Context, l, summary string) (string, error) {
					asked = l
					if want := strings.Join(old, "\n\n"); summary != want {
						t.Errorf("asked to condense %d bytes, want %d", len(summary), len(want))
					}
					return "\n" + onlyKnown(short, summary) + "\n", nil
				})
				if asked != lang {
					t.Errorf("asked in %q", asked)
				}
				for _, fact := range lines {
					if !strings.Contains(got, fact) {
						t.Errorf("lost: %s", fact)
					}
				}
				if len(got) > 2<<10 {
					t.Errorf("still %d bytes", len(got))
				}
			})
		}
	}
}

// onlyKnown drops the numbers that the old text lacks, so that the model invents nothing.
func onlyKnown(short, old string) string {
	var kept []string
	for word := range strings.FieldsSeq(short) {
		if !strings.ContainsAny(word, "0123456789") || strings.Contains(old, strings.Trim(word, ".")) {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

// A model's own words are accepted if they contain the facts.
func TestWorker_CondenseTakesOtherWords(t *testing.T) {
	short := "Nguyen Van An, 34 years, was told how to brush. The patient is allergic to penicillin."
	old := []string{"Nguyen Van An is 34 years old. The patient is allergic to penicillin.", chatter("en"), chatter("en")}
	got := condensedSummary(t, "en", old, func(context.Context, string, string) (string, error) { return short, nil })
	if got != short {
		t.Errorf("got %q", got)
	}
}

// A condensed text that is worse than the long one is rejected; the turn is summarised
// nevertheless.
func TestWorker_CondenseRejects(t *testing.T) {
	old := []string{chatter("en"), chatter("en")}
	long := strings.Join(old, "\n\n")
	for name, condense := range map[string]func(context.Context, string, string) (string, error){
		"nothing":            func(context.Context, string, string) (string, error) { return " \n", nil },
		"a number made up":   func(context.Context, string, string) (string, error) { return "Take 800 mg twice.", nil },
		"longer than it was": func(_ context.Context, _, s string) (string, error) { return s + " More.", nil },
		"a fault":            func(context.Context, string, string) (string, error) { return "half", errors.New("no model") },
	} {
		t.Run(name, func(t *testing.T) {
			if got := condensedSummary(t, "en", old, condense); got != long {
				t.Errorf("%d bytes, want the old %d", len(got), len(long))
			}
		})
	}
}

// A summary within its budget is left unchanged; one that could not be condensed is tried again
// only when it has grown considerably.
func TestWorker_CondensesNowAndThen(t *testing.T) {
	asked := 0
	count := func(_ context.Context, _, s string) (string, error) { asked++; return s, nil }
	small := chatter("en")[:600]
	pieces := []string{chatter("en")}
	condensedSummary(t, "en", pieces, count)
	if asked != 0 {
		t.Error("condensed within the budget")
	}
	for range 10 {
		pieces = append(pieces, small)
	}
	condensedSummary(t, "en", pieces, count)
	if asked < 2 || asked > 4 {
		t.Errorf("asked %d times over 4 KiB above the budget", asked)
	}
}
