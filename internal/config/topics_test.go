package config_test

import (
	"strings"
	"testing"

	"molar/internal/config"
)

const cheese = `
assistants: {a: {topic: cheese}}
topics:
  cheese:
    description: {vi: phô mai, en: cheese}
    examples: {in: [Is brie soft?], out: [Who won?]}
    phrases: ["cheddar*"]
    refusal: {en: Only cheese.}
    on_failure: open
    labels: {person: {en: Taster, vi: Người nếm}}
    first_questions: {en: [Is it ripe?]}
    emergencies: [{kind: choking, phrases: [choking on * cheese], notice: {vi: Gọi cấp cứu., en: Call for help.}}]
  dental:
    refusal: {en: Only teeth.}
    on_failure: open
`

func TestTopics(t *testing.T) {
	cfg := mustLoad(t, cheese)
	topic, ok := cfg.Topics.Get("cheese")
	if !ok || topic.OnFailure != config.GuardOpen || topic.Examples.In[0] != "Is brie soft?" {
		t.Errorf("%+v", topic)
	}
	if topic.Labels.Person.EN != "Taster" || topic.FirstQuestions.EN[0] != "Is it ripe?" || topic.Emergencies[0].Notice.EN != "Call for help." {
		t.Errorf("%+v", topic)
	}
	if got := strings.Join(cfg.TopicNames(), " "); got != "dental cheese" {
		t.Errorf("names %q", got)
	}
	if texts := topic.Refusal.ByLanguage(); len(texts) != 1 || texts["en"] != "Only cheese." {
		t.Errorf("refusal %v", texts)
	}
}

func TestTopics_Faults(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"one language":                {"{vi: phô mai, en: cheese}", "{en: cheese}", "topics.cheese.description: want a sentence"},
		"nothing":                     {`examples: {in: [Is brie soft?], out: [Who won?]}`, `examples: {in: [Is brie soft?]}`, ""},
		"no examples":                 {"    examples: {in: [Is brie soft?], out: [Who won?]}\n    phrases: [\"cheddar*\"]\n", "", "topics.cheese: want examples of both labels"},
		"both labels":                 {"Who won?", "Is brie soft?", "has both labels"},
		"policy":                      {"en: Only cheese.}\n    on_failure: open", "en: Only cheese.}\n    on_failure: maybe", "topics.cheese.on_failure: want closed or open"},
		"a blank":                     {`["cheddar*"]`, `[" "]`, "topics.cheese.phrases[0]: want a text"},
		"a name":                      {"  cheese:\n", "  Cheese!:\n", "want a name of small letters"},
		"the built-in":                {"dental:\n", "dental:\n    phrases: [x]\n", `topics.dental: "dental" is built in`},
		"a kind":                      {"kind: choking", "kind: ' '", "topics.cheese.emergencies[0].kind: want a name"},
		"no phrase of a kind":         {"[choking on * cheese]", "['*']", "topics.cheese.emergencies[0].phrases: want phrases"},
		"no notice":                   {", en: Call for help.", "", "topics.cheese.emergencies[0].notice: want what to do"},
		"a passage behind nothing":    {"kind: choking,", "kind: choking, passage: choking, only_notice: true,", "topics.cheese.emergencies[0].passage: never follows"},
		"emergencies of the built-in": {"dental:\n", "dental:\n    emergencies: [{kind: x, phrases: [y], notice: {vi: a, en: b}}]\n", `topics.dental: "dental" is built in`},
		"unknown topic":               {"topic: cheese", "topic: chese", "assistants.a.topic: want dental or cheese, or leave it out for any subject, did you mean"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, strings.Replace(cheese, tc.from, tc.to, 1))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
