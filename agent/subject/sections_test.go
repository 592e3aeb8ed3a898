package subject_test

import (
	"reflect"
	"strings"
	"testing"

	"molar/agent/subject"
	"molar/internal/testkit/packs"
)

// Every text of the built-in topic exists in both languages.
func TestDental(t *testing.T) {
	dental := packs.Dental()
	if err := dental.Check(); err != nil {
		t.Fatal(err)
	}
	for _, lang := range []string{"vi", "en"} {
		v := dental.Voices[lang]
		for value, name := range map[string]string{v.Description: "description", v.System: "system", v.Refusal: "refusal", v.Unavailable: "unavailable"} {
			if value == "" {
				t.Errorf("%s: no %s", lang, name)
			}
		}
		for i, labels := 0, reflect.ValueOf(v.Labels); i < labels.NumField(); i++ {
			if labels.Field(i).String() == "" {
				t.Errorf("%s: no label %s", lang, labels.Type().Field(i).Name)
			}
		}
		if len(v.FirstQuestions) < 3 {
			t.Errorf("%s: first questions %q", lang, v.FirstQuestions)
		}
		for _, k := range dental.Emergencies.Kinds {
			if v.Notices[k.Name] == "" {
				t.Errorf("%s: no notice of %q", lang, k.Name)
			}
		}
	}
	if !strings.Contains(dental.Voices["en"].System, "\n\nRules:\n- ") {
		t.Errorf("the paragraphs are lost: %q", dental.Voices["en"].System)
	}
	if p := dental.Phrases; min(len(p.Names), len(p.Abroad)) == 0 {
		t.Error("phrases are missing")
	}
}

// A custom topic has general default texts, without mention of patients.
func TestVoice_Defaults(t *testing.T) {
	own := subject.Topic{Name: "gardening", Voices: map[string]subject.Voice{
		"vi": {Description: "làm vườn.", Labels: subject.Labels{Person: "Người làm vườn"}}, "en": {Description: "gardens."},
	}}
	vi, en := own.Voice("vi"), own.Voice("fr")
	if !strings.Contains(en.Refusal, "gardens.") || en.Unavailable == "" || en.Labels != subject.Plain("en") {
		t.Errorf("%+v", en)
	}
	if vi.Labels.Person != "Người làm vườn" || vi.Labels.Assistant != "Trợ lý" || !strings.Contains(vi.Refusal, "làm vườn.") {
		t.Errorf("%+v", vi)
	}
}

func TestCheck_UnknownSign(t *testing.T) {
	own := subject.Topic{Name: "x", Voices: map[string]subject.Voice{"en": {Description: "x"}}, Phrases: subject.Phrases{Names: []string{"x"}}}
	own.Emergencies = subject.Simple([]subject.Sign{{Name: "fall", Phrases: []string{"fell"}}})
	if err := own.Check(); err != nil {
		t.Error(err)
	}
	own.Emergencies.Kinds[0].Sets[0][0] = "fell"
	if err := own.Check(); err == nil || !strings.Contains(err.Error(), `no sign "fell"`) {
		t.Errorf("got %v", err)
	}
}

// The references of a kind, to what follows its notice, must exist and be consistent.
func TestCheck_WhatFollowsANotice(t *testing.T) {
	for name, tt := range map[string]struct {
		kind subject.Kind
		want string
	}{
		"a sign":             {subject.Kind{Name: "fall", Instead: map[string]string{"trip": "fall"}}, `no sign "trip"`},
		"a kind to mean":     {subject.Kind{Name: "fall", Instead: map[string]string{"fall": "stumble"}}, `no kind "stumble"`},
		"a kind beside it":   {subject.Kind{Name: "fall", With: map[string]string{"burn": "burns"}}, `no kind "burn"`},
		"a passage too much": {subject.Kind{Name: "fall", Ends: true, Passage: "falls"}, `passage "falls" never follows`},
	} {
		own := subject.Topic{Name: "x", Voices: map[string]subject.Voice{"en": {Description: "x"}}, Phrases: subject.Phrases{Names: []string{"x"}}}
		own.Emergencies = subject.Emergencies{Kinds: []subject.Kind{tt.kind}, Signs: []subject.Sign{{Name: "fall", Phrases: []string{"fell"}}}}
		if err := own.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}
