package knowledge_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"molar/mcpservers/knowledge"
)

// A correction answers its question, in other words of the same meaning too, alone and before passages
// that say more of it. It answers no other question.
func TestFolder_CorrectionsComeFirst(t *testing.T) {
	files := fstest.MapFS{
		"password.md": md("# Reset the password of the payroll system\n\nThe payroll system: reset the password, reset the payroll password, password of payroll.\n"),
		"vi/mo.md":    md("# Giờ mở cửa\n\nGiờ mở cửa của phòng khám: mở cửa theo giờ.\n"),
		knowledge.CorrectionFile("How do I reset the password of the payroll system?"): md("---\nturn: t1\n---\n\n# How do I reset the password of the payroll system?\n\nAt the desk on floor 3.\n\n## By hand\n\nBring your card.\n"),
		knowledge.CorrectionFile("Giờ mở cửa?"):                                        md("# Giờ mở cửa?\n\nTừ 8 giờ đến 17 giờ.\n"),
	}
	for name, corrections := range map[string]bool{"with corrections": true, "without": false} {
		f, err := knowledge.Open(knowledge.Config{Name: "desk", Files: files, Path: "desk", Corrections: corrections})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		for question, want := range map[string]string{
			"How do I reset the password of the payroll system?": "At the desk on floor 3.\n\n## By hand\n\nBring your card.",
			"how can I reset my payroll system password":         "At the desk on floor 3.\n\n## By hand\n\nBring your card.",
			"Giờ mở cửa?": "Từ 8 giờ đến 17 giờ.",
			"mo cua":      "Từ 8 giờ đến 17 giờ.",
			"giờ mở của":  "",
			"How do I reset the password of the holiday system?":     "",
			"How do I reset the password of the payroll system now3": "",
			"?": "",
		} {
			results, err := f.Search(t.Context(), knowledge.Query{Text: question, About: "the office"}, 5)
			if err != nil {
				t.Fatal(err)
			}
			alone := len(results.Results) == 1 && results.Results[0].Score == 1 && results.Results[0].Content == want
			if is := want != "" && corrections; alone != is {
				t.Errorf("%s: %q: %+v, want it alone: %v", name, question, results, is)
			}
		}
	}
}

// A correction that is written, replaced or removed counts at the next question.
func TestFolder_CorrectionsAtOnce(t *testing.T) {
	dir := t.TempDir()
	f, err := knowledge.Open(knowledge.Config{Name: "desk", Files: knowledge.Dir(dir), Path: dir, Corrections: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	const question = "Where is the printer?"
	path := filepath.Join(dir, knowledge.CorrectionFile(question))
	if diff := cmp.Diff("", first(t, f, question).Content); diff != "" {
		t.Error(diff)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{"On floor 1.", "On floor 2.", "On floor 3."} {
		if err := os.WriteFile(path+".new", []byte("# "+question+"\n\n"+answer+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if got := first(t, f, "Where is my printer").Content; got != answer {
			t.Errorf("got %q, want %q", got, answer)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := first(t, f, question).Content; got != "" {
		t.Errorf("after its removal: %q", got)
	}
}

func TestContentWords(t *testing.T) {
	for question, want := range map[string][]string{
		"How do I reset the payroll passwords, and my password?": {"password", "payroll", "reset"},
		"": nil,
	} {
		if diff := cmp.Diff(want, knowledge.ContentWords(question)); diff != "" {
			t.Errorf("%q: %s", question, diff)
		}
	}
}
