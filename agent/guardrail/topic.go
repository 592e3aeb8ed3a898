package guardrail

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Topic describes a subject to keep to. Only Name, Description and either some
// phrases in Admit or some Examples are needed; everything else sharpens what code can
// decide without a model.
//
// Phrases match whole words in any case, singular and plural alike. A phrase written
// with Vietnamese marks also matches text typed without any, when it has at least
// two syllables. A star at the end of a phrase matches any ending of its last word.
// Where several phrases fit, the longest counts, so "panama canal" in Foreign hides
// "canal" in Weak.
type Topic struct {
	// Name identifies the topic in config, logs and traces.
	Name string
	// Version changes whenever the topic decides differently; caches key by it.
	Version string
	// Description says in a sentence what belongs to the topic, by language ("vi",
	// "en"). The judge reads it.
	Description map[string]string

	// Admit are phrases that can only belong to the topic. One of them decides, unless
	// something speaks against it.
	Admit []string
	// Related are phrases that usually belong to the topic.
	Related []string
	// Weak are words with other meanings too; one alone never decides.
	Weak []string
	// Adjacent are phrases of neighbouring subjects: they count against the topic but
	// never refuse by themselves.
	Adjacent []string
	// Foreign are phrases of clearly other subjects.
	Foreign []string
	// Tasks are requests that no assistant of this topic takes, whatever the subject
	// ("write a poem").
	Tasks []string

	// Abroad are words that name the topic in languages other than Vietnamese and English:
	// they never decide, but the message is left to the judge.
	Abroad []string

	// Examples are labelled messages. From [FewestExamples] of each label on, a
	// classifier is trained from them when the guard is prepared.
	Examples []Example
	// Weights is a classifier that [Learn] trained before; it stands in for Examples.
	Weights string

	// Refusal says, by language, what the assistant can help with instead.
	Refusal map[string]string
	// Unavailable says, by language, that the check cannot be made now.
	Unavailable map[string]string
}

// check reports everything that is missing from the topic.
func (t Topic) check() error {
	var errs []error
	if strings.TrimSpace(t.Name) == "" {
		errs = append(errs, errors.New("topic has no name: give it one"))
	}
	if len(t.Description) == 0 {
		errs = append(errs, fmt.Errorf("topic %q has no description: say in a sentence what belongs to it", t.Name))
	}
	if len(t.Admit) == 0 && len(t.Examples) == 0 {
		errs = append(errs, fmt.Errorf("topic %q has neither phrases to admit nor examples: list some phrases that only belong to it, or about %d examples of each label", t.Name, WantedExamples))
	}
	return errors.Join(errs...)
}

// learns reports whether there are enough examples of both labels to learn from.
func (t Topic) learns() bool {
	in, out := t.Labels()
	return min(in, out) >= FewestExamples
}

// Labels counts the examples of the topic and those of other subjects.
func (t Topic) Labels() (in, out int) {
	for _, e := range t.Examples {
		if e.InDomain {
			in++
		}
	}
	return in, len(t.Examples) - in
}

// Everyday returns the topic with phrases of everyday subjects added as foreign, but
// for those that its own examples contain.
func Everyday(t Topic) Topic {
	t.Foreign = append(slices.Clone(t.Foreign), list(commonForeign)...)
	t.Tasks = append(slices.Clone(t.Tasks), list(commonTasks)...)
	t.Adjacent = append(slices.Clone(t.Adjacent), list(commonAside)...)
	return t
}

// withTexts returns a copy of the topic whose refusal texts are complete.
func (t Topic) withTexts() Topic {
	refusal, unavailable := map[string]string{}, map[string]string{}
	for _, lang := range []string{"vi", "en"} {
		refusal[lang] = fmt.Sprintf(defaultRefusal(lang), pick(t.Description, lang))
		unavailable[lang] = defaultUnavailable(lang)
	}
	maps.Copy(refusal, t.Refusal)
	maps.Copy(unavailable, t.Unavailable)
	t.Refusal, t.Unavailable = refusal, unavailable
	return t
}

func defaultRefusal(lang string) string {
	if lang == "vi" {
		return "Xin lỗi, mình chỉ có thể giúp về chủ đề này: %s Bạn hãy đặt một câu hỏi thuộc chủ đề này nhé."
	}
	return "Sorry, I can only help with this subject: %s Please ask me something about it."
}

func defaultUnavailable(lang string) string {
	if lang == "vi" {
		return "Hiện tại mình chưa kiểm tra được câu hỏi của bạn. Bạn vui lòng thử lại sau ít phút nhé."
	}
	return "I cannot check your question right now. Please try again in a moment."
}

// pick returns the text of a language, else the English one, else any.
func pick(texts map[string]string, lang string) string {
	for _, l := range []string{lang, "en", "vi"} {
		if texts[l] != "" {
			return texts[l]
		}
	}
	for _, text := range texts {
		return text
	}
	return ""
}
