package search

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/agent/subject"
	"molar/internal/testkit/packs"
	"molar/internal/text"
	"molar/mcpservers/knowledge"
)

// openNotes opens the notes of the gardening example.
func openNotes(t testing.TB) *knowledge.Folder {
	t.Helper()
	f, err := knowledge.Open(knowledge.Config{Name: "garden_notes", Files: knowledge.Dir("../../examples/gardening/notes")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	for range 600 { // on a busy machine the first questions do not wait for all that the folder learns
		if s := f.Status(); s.Files > 0 && s.Done == s.Files {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return f
}

func openTestGuide(t testing.TB) *knowledge.Folder {
	t.Helper()
	f, err := knowledge.Open(knowledge.Config{Name: "guide", Files: packs.DentalGuide(), Path: "the guide", Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	for range 600 { // on a busy machine the first questions do not wait for all that the folder learns
		if s := f.Status(); s.Files > 0 && s.Done == s.Files {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return f
}

func testLines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// ask returns the results of a folder; each question is independent, and its language is not
// given.
func ask(t testing.TB, f *knowledge.Folder, q knowledge.Query, limit int) []knowledge.Result {
	t.Helper()
	results, err := f.Search(t.Context(), q, limit)
	if err != nil {
		t.Fatal(err)
	}
	return results.Results
}

// All folders are measured by the same figure: the share of questions that find the right passage
// of their language among the first three. testdata/README.md describes the origin of each file.
func TestRecall(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it asks some four hundred questions, one after the other")
	}
	guide, notes := openTestGuide(t), openNotes(t)
	for _, tt := range []struct {
		file      string
		folder    *knowledge.Folder
		questions int
		least     float64
	}{
		{"fresh3.tsv", guide, 40, 0.9},
		{"questions.tsv", guide, 100, 0.9},
		{"unseen.tsv", guide, 30, 0.9},
		{"fresh.tsv", guide, 100, 0.85},
		{"fresh2.tsv", guide, 50, 0.85}, // indirect wording and slang
		{"fresh5.tsv", guide, 30, 0.9},
		{"fresh6.tsv", guide, 30, 0.9},
		{"gardening.tsv", notes, 10, 0.9},
	} {
		t.Run(tt.file, func(t *testing.T) {
			asked, right := map[string]int{}, map[string]int{}
			note := func(slice, lang, wanted, question string) {
				asked[slice]++
				if found(t, tt.folder, lang, wanted, question) {
					right[slice]++
				}
			}
			for _, line := range testLines(t, tt.file) {
				f := strings.Split(line, "\t")
				note(f[0], f[0], f[1], f[2])
				if f[0] == "vi" {
					note("vi without marks", f[0], f[1], text.Fold(f[2]))
				}
			}
			for _, slice := range []string{"vi", "vi without marks", "en"} {
				share := float64(right[slice]) / float64(asked[slice])
				t.Logf("%s: %d of %d (%.3f)", slice, right[slice], asked[slice], share)
				if asked[slice] < tt.questions || share < tt.least {
					t.Errorf("%s: %.3f of %d questions, want at least %.2f of at least %d", slice, share, asked[slice], tt.least, tt.questions)
				}
			}
		})
	}
}

// found reports whether one of the wanted passages, named by its heading or anchor, is among the
// first three.
func found(t *testing.T, f *knowledge.Folder, lang, wanted, question string) bool {
	t.Helper()
	results := ask(t, f, knowledge.Query{Text: question}, 3)
	var got []string
	for _, r := range results {
		got = append(got, r.Place.File+" "+r.Title)
		for want := range strings.SplitSeq(wanted, ",") {
			if strings.HasPrefix(r.Place.File, lang+"/") && (r.Place.Anchor == want || strings.Contains(r.Title, want)) {
				return true
			}
		}
	}
	t.Logf("%q: got %v, want one of %s/%s among them", question, got, lang, wanted)
	return false
}

// Most questions that a folder does not cover find nothing, without a list of foreign subjects.
func TestRejection(t *testing.T) {
	guide, notes := openTestGuide(t), openNotes(t)
	for _, tt := range []struct {
		what   string
		files  []string
		folder *knowledge.Folder
		most   float64 // the share that finds a passage
	}{
		{"of other things", []string{"outside.txt", "fresh3_outside.txt"}, guide, 0.2},
		{"of teeth, but not covered", []string{"uncovered.txt", "fresh_outside.txt", "fresh2_outside.txt", "fresh4_outside.txt", "fresh5_outside.txt", "fresh6_outside.txt"}, guide, 0.35},
		{"of other things than plants", []string{"gardening_outside.txt", "uncovered.txt", "fresh4_outside.txt"}, notes, 0.05},
	} {
		t.Run(tt.what, func(t *testing.T) {
			var lines []string
			for _, name := range tt.files {
				lines = append(lines, testLines(t, name)...)
			}
			through := slices.DeleteFunc(slices.Clone(lines), func(question string) bool {
				results := ask(t, tt.folder, knowledge.Query{Text: question}, 1)
				if len(results) > 0 {
					t.Logf("%q: got %q (%.2f)", question, results[0].Title, results[0].Score)
				}
				return len(results) > 0
			})
			t.Logf("%d of %d fall through", len(through), len(lines))
			if answered := len(lines) - len(through); float64(answered) > tt.most*float64(len(lines)) {
				t.Errorf("%d of %d questions were answered, want at most %.0f %%", answered, len(lines), tt.most*100)
			}
		})
	}
}

// The figure for a person: the guardrail, here by its code alone, refuses before the guide is
// searched. Of the questions that the guide does not cover, few find passages.
func TestRejection_BehindTheGuardrail(t *testing.T) {
	guide := openTestGuide(t)
	guard, err := subject.NewGuard(subject.GuardConfig{Topic: packs.Dental()})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*outside.txt")
	if err != nil {
		t.Fatal(err)
	}
	asked, answered := 0, 0
	for _, name := range append(files, "testdata/uncovered.txt") {
		name = filepath.Base(name)
		if name == "gardening_outside.txt" {
			continue
		}
		lines, through := testLines(t, name), 0
		for _, question := range lines {
			if !guard.Decide(t.Context(), subject.Question{Text: question}, nil).Pass || len(ask(t, guide, knowledge.Query{Text: question}, 1)) == 0 {
				through++
				continue
			}
			t.Logf("%s is answered: %q", name, question)
		}
		t.Logf("%s: %d of %d get nothing of the guide", name, through, len(lines))
		asked, answered = asked+len(lines), answered+len(lines)-through
	}
	if most := asked / 10; asked < 320 || answered > most {
		t.Errorf("%d of %d questions were answered, want at most %d", answered, asked, most)
	}
}
