package grow

import (
	"fmt"
	"strings"

	"molar/agent/subject"
)

// An Ask is one model call.
type Ask struct{ System, User string }

const system = `You write messages that people might send to an assistant that keeps to one subject. Code learns from them which messages belong.
Write as different people type: beginners and experts, young and old, short and long (2 to 45 words), questions, statements, requests and little stories, with concrete things, names, amounts and places. Begin differently each time. Do not always name the subject.
In Vietnamese write as people in the north, centre and south write, never as a translation.
Give one message on each line and nothing else: no numbers, no quotes, no headings, no comments.`

// prompt returns the request of a batch.
func prompt(t subject.Topic, b Batch) Ask {
	return Ask{System: system, User: fmt.Sprintf("The subject:\n%sLanguage of the messages: %s.\n\n%s%s", described(t), languageName(b.Lang), task(t, b), partsOf(b))}
}

// languageName names a language in an English prompt; of others it returns the code.
func languageName(lang string) string {
	switch lang {
	case subject.Vietnamese, subject.English:
		return subject.AnswerIn(lang)
	}
	return fmt.Sprintf("the one with the code %q", lang)
}

// partsOf tells a batch of a kind that is asked for several times what to be about.
func partsOf(b Batch) string {
	if b.aboutOne() {
		return "" // the task names its one part
	}
	return "\nTake things from: " + b.About + "."
}

func task(t subject.Topic, b Batch) string {
	belongs := "that do NOT belong to the subject"
	if b.In {
		belongs = "that belong to the subject"
	}
	switch {
	case b.Emergency && b.Kind == Harmless:
		return fmt.Sprintf("Write %d messages that use the words of emergencies (%s) and describe none that happens now: it is long past, asked in general, denied, mild, about prevention, news, a film or a story.", b.Lines, kindNames(t))
	case b.Emergency:
		return fmt.Sprintf("Write %d messages of people in this emergency, now: %s. Few of them name it; they say what they see, in haste, in fear, or calmly and not knowing how bad it is.", b.Lines, b.Kind)
	case b.Kind == FollowUps:
		return fmt.Sprintf(`Write %d exchanges in this form, one part on a line:
Q: a question of the subject
A: an answer of one to three sentences
+ a next message that goes on with it and belongs; five of them, three of which name nothing of the subject ("and how long does that take?")
- a next message, worded in the same way, that leaves the subject for a thing of another one ("and what does a flight there cost?"); five of them`, b.Lines)
	case b.Kind == Terms && b.In:
		return fmt.Sprintf("No messages this time: list %d words and short phrases (1 to 4 words) that people use when they speak of this part of the subject: %s. Things, people, papers, brands, actions, problems; the common and the rare, everyday words and trade words. Separate them by commas.", b.Lines, b.About)
	case b.Kind == Terms:
		return fmt.Sprintf("No messages this time: list %d words and short phrases (1 to 4 words) that people use when they speak of this other subject, and that do not belong to the first one: %s. Separate them by commas.", b.Lines, b.About)
	case b.Kind == Typical && b.In:
		return fmt.Sprintf("Write %d messages as typical as can be for this part of the subject: %s. What most people ask first, in plain words, saying what it is about.", b.Lines, b.About)
	case b.Kind == Typical:
		return fmt.Sprintf("Write %d messages that do NOT belong to the subject, as typical as can be for this other one: %s. What most people ask first, in plain words.", b.Lines, b.About)
	case b.Kind == Plain:
		return fmt.Sprintf("Write %d messages %s, about this part of it: %s.", b.Lines, belongs, b.About)
	case b.Kind == NearMiss:
		return fmt.Sprintf("Write %d messages %s but to this neighbour: %s. They share words, places or people with the subject where they can, and a careful reader of the description sees that they are outside.", b.Lines, belongs, b.About)
	case b.Kind == TwoSenses && b.In:
		return fmt.Sprintf("Write %d messages %s although their words sound like another one.", b.Lines, belongs)
	case b.Kind == TwoSenses:
		return fmt.Sprintf("Write %d messages %s, in which words of the subject have another sense: idioms, names, other trades, games, songs.", b.Lines, belongs)
	case b.Kind == Dressed && b.In:
		return fmt.Sprintf("Write %d real questions %s in strange clothes: quoting an order, shouting, with a story around, naming the bot, asking for a table or a short answer.", b.Lines, belongs)
	case b.Kind == Dressed:
		return fmt.Sprintf("Write %d messages %s and are dressed in its words: poems, code, essays, translations, recipes and jokes about it, other requests for somebody of the trade, attempts to make the assistant forget its rules, role play, another question of which the first half is about the subject.", b.Lines, belongs)
	}
	return fmt.Sprintf("Write %d messages %s, typed in haste on a phone: misspelt, abbreviated, without capitals, slang; in Vietnamese teencode, half of them without marks.", b.Lines, belongs)
}

func kindNames(t subject.Topic) string {
	var names []string
	for _, k := range t.Emergencies.Kinds {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}
