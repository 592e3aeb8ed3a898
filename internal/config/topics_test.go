package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	person, _ := topic.Labels.Person.Get("en")
	questions, _ := topic.FirstQuestions.Get("en")
	notice, _ := topic.Emergencies[0].Notice.Get("en")
	if person != "Taster" || questions[0] != "Is it ripe?" || notice != "Call for help." {
		t.Errorf("%+v", topic)
	}
	if first := topic.Description.Names()[0]; first != "vi" {
		t.Errorf("the first language of the file is %q", first)
	}
	if got := strings.Join(cfg.TopicNames(), " "); got != "dental cheese" {
		t.Errorf("names %q", got)
	}
	if diff := cmp.Diff(config.Texts{{Name: "en", Value: "Only cheese."}}, topic.Refusal); diff != "" {
		t.Errorf("refusal:\n%s", diff)
	}
}

func TestTopics_Faults(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"no language":                 {"description: {vi: phô mai, en: cheese}", "description: {}", "topics.cheese.description: want a sentence"},
		"a text without words":        {"{vi: phô mai, en: cheese}", "{vi: ' ', en: cheese}", "topics.cheese.description.vi: want a text"},
		"no code of a language":       {"{vi: phô mai, en: cheese}", "{vi: phô mai, English: cheese}", "topics.cheese.description.English: want the code of a language"},
		"a sum without a pack":        {"    on_failure: open\n    labels", "    trust: false\n    labels", "topics.cheese: trust and sha256 apply only with pack"},
		"a sum of another form":       {"dental:\n", "dental:\n    pack: ./d\n    sha256: abc\n", "topics.dental.sha256: want 64 hexadecimal digits"},
		"phrases beside a pack":       {"dental:\n", "dental:\n    pack: ./d\n    phrases: [x]\n", "topics.dental: examples, phrases and emergencies stand in the pack"},
		"two guides of a name":        {"  dental:\n", "  a-b: {pack: ./x}\n  a.b: {pack: ./x}\n  dental:\n", "topics: two topics would have the guide a_b_guide_search"},
		"a language of many":          {"{vi: phô mai, en: cheese}", "{de: Käse}", "topics.cheese.emergencies[0].notice: want what to do first in each language of the description: de is missing"},
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
