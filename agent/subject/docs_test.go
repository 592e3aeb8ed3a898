package subject_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"molar/internal/testkit/packs"
)

// The page for reviewers contains the texts as they are shown.
func TestDental_TextsStandInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/texts.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(string(page), "\n>", "\n"), "\n ", "\n")
	dental := packs.Dental()
	for lang, voice := range dental.Voices {
		texts := map[string]string{"refusal": voice.Refusal, "unavailable": voice.Unavailable}
		maps.Copy(texts, voice.Notices)
		for name, text := range texts {
			if text == "" || !strings.Contains(plain, text) {
				t.Errorf("%s %s is not in docs/reference/texts.md as it is shown: %s", lang, name, text)
			}
		}
		if len(voice.Notices) != len(dental.Emergencies.Kinds) {
			t.Errorf("%s: %d notices for %d kinds", lang, len(voice.Notices), len(dental.Emergencies.Kinds))
		}
	}
}
