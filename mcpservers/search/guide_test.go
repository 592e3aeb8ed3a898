package search

import (
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit/packs"
	"molar/mcpservers/knowledge"
)

// entry is a section of the guide's files.
type entry struct {
	id, title, source, link, checked, keywords, text string
}

// entries reads the sections of a language, and fails if a section is incomplete.
func entries(t *testing.T, lang string) (all []entry) {
	t.Helper()
	names, err := fs.Glob(packs.DentalGuide(), lang+"/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no guide: %v", err)
	}
	section := regexp.MustCompile(`(?m)^## (.+) \{#([a-z0-9-]+)\}\nsource: (.+) \| (https://\S+)\nchecked: (\S+)\nkeywords: (.+)\n(.+)$`)
	for _, name := range names {
		data, err := fs.ReadFile(packs.DentalGuide(), name)
		if err != nil {
			t.Fatal(err)
		}
		found := section.FindAllStringSubmatch(string(data), -1)
		if n := strings.Count(string(data), "\n## "); n != len(found) {
			t.Errorf("%s: %d of %d sections have heading, source, check, keywords and text", name, len(found), n)
		}
		for _, m := range found {
			all = append(all, entry{title: m[1], id: m[2], source: m[3], link: m[4], checked: m[5], keywords: m[6], text: m[7]})
		}
	}
	return all
}

func TestGuide_EveryTopicStandsInBothLanguages(t *testing.T) {
	ids := map[string][]string{}
	for _, lang := range []string{"vi", "en"} {
		for _, e := range entries(t, lang) {
			if slices.Contains(ids[lang], e.id) {
				t.Errorf("%s: entry %q stands twice", lang, e.id)
			}
			ids[lang] = append(ids[lang], e.id)
			checkEntry(t, lang, e)
		}
	}
	if len(ids["vi"]) < 60 || !slices.Equal(ids["vi"], ids["en"]) {
		t.Errorf("vi has %v, en has %v", ids["vi"], ids["en"])
	}
}

// checkEntry checks that an entry has the parts that answers need.
func checkEntry(t *testing.T, lang string, e entry) {
	t.Helper()
	if n := len(strings.Fields(e.text)); n < 80 || n > 160 {
		t.Errorf("%s %s has %d words, want 80 to 160", lang, e.id, n)
	}
	seeDentist := map[string][]string{
		"vi": {"nha sĩ", "bác sĩ", "đi khám", "cấp cứu"},
		"en": {"dentist", "doctor", "emergency"},
	}[lang]
	if !slices.ContainsFunc(seeDentist, func(s string) bool { return strings.Contains(strings.ToLower(e.text), s) }) {
		t.Errorf("%s %s does not say when to see a dentist", lang, e.id)
	}
	if dose := regexp.MustCompile(`(?i)\d\s*(mg|ml|mcg|g)\b`).FindString(e.text); dose != "" {
		t.Errorf("%s %s names a dose: %q", lang, e.id, dose)
	}
	if _, err := time.Parse("2006-01", e.checked); err != nil && e.checked != "no" {
		t.Errorf("%s %s: checked is %q, want a month such as 2026-11, or no", lang, e.id, e.checked)
	}
	hosts := []string{"www.nhs.uk", "www.nidcr.nih.gov", "www.mouthhealthy.org", "www.who.int", "www.cdc.gov", "medlineplus.gov", "www.fda.gov"}
	if u, err := url.Parse(e.link); err != nil || !slices.Contains(hosts, u.Host) {
		t.Errorf("%s %s: source %s is none of the public bodies", lang, e.id, e.link)
	}
}

// At most one source in ten may have an address that was not checked.
func TestGuide_SourcesWereLookedUp(t *testing.T) {
	for _, lang := range []string{"vi", "en"} {
		var open []string
		all := entries(t, lang)
		for _, e := range all {
			if e.checked == "no" {
				open = append(open, e.id)
			}
		}
		if len(open)*10 > len(all) {
			t.Errorf("%s: %d of %d sources were not looked up: %v", lang, len(open), len(all), open)
		}
	}
}

// Each entry is one passage: its whole text, with its own title and source.
func TestGuide_AnEntryIsAPassage(t *testing.T) {
	guide := openTestGuide(t)
	for _, lang := range []string{"vi", "en"} {
		for _, e := range entries(t, lang) {
			results := ask(t, guide, knowledge.Query{Text: e.title, Language: lang}, maxResults)
			i := slices.IndexFunc(results, func(r knowledge.Result) bool { return r.Place.Anchor == e.id })
			if i < 0 {
				t.Errorf("%s %s is not found by its title", lang, e.id)
				continue
			}
			if r := results[i]; r.Title != e.title+" ("+e.source+")" || r.Content != e.text || r.Link != e.link {
				t.Errorf("%s %s: got %+v", lang, e.id, r)
			}
		}
	}
}

func TestGuide_OddQueries(t *testing.T) {
	guide := openTestGuide(t)
	for _, q := range []string{"", "?!", "🦷", "\x00", `" OR * NEAR(`, "title : răng", strings.Repeat("x ", 5000), strings.Repeat("sâu răng ", 200)} {
		for _, r := range ask(t, guide, knowledge.Query{Text: q}, maxResults) {
			if r.Score <= 0 || r.Score > 1 {
				t.Errorf("%.40q: score %v", q, r.Score)
			}
		}
	}
}

func TestGuide_AnswersInTheLanguageAskedFor(t *testing.T) {
	guide := openTestGuide(t)
	for _, lang := range []string{"vi", "en"} {
		results := ask(t, guide, knowledge.Query{Text: "implant", Language: lang}, maxResults)
		if len(results) == 0 {
			t.Fatalf("nothing in %s", lang)
		}
		if isVietnamese := strings.Contains(results[0].Content, "răng"); isVietnamese != (lang == "vi") {
			t.Errorf("%s: got %q", lang, results[0].Content)
		}
	}
}

func BenchmarkGuideSearch(b *testing.B) {
	guide := openTestGuide(b)
	for _, lang := range []string{"vi", ""} {
		b.Run("lang="+lang, func(b *testing.B) {
			for b.Loop() {
				ask(b, guide, knowledge.Query{Text: "răng hàm của tôi bị sâu và đau nhức khi nhai, có cần lấy tủy không, chi phí bao nhiêu", Language: lang}, maxResults)
			}
		})
	}
}

func BenchmarkGuideIndex(b *testing.B) {
	for b.Loop() {
		ask(b, openTestGuide(b), knowledge.Query{Text: "x"}, 1)
	}
}

// A question that names an entry finds it first, however often others use its words.
func TestGuide_named(t *testing.T) {
	guide := openTestGuide(t)
	for question, want := range map[string]string{"Sâu răng là gì?": "caries", "Một ngày nên đánh răng bao nhiêu lần?": "brushing", "gãy răng": "chipped", "How often should I brush my teeth?": "brushing"} {
		if got := ask(t, guide, knowledge.Query{Text: question}, 1); len(got) == 0 || got[0].Place.Anchor != want {
			t.Errorf("%q: %+v, want %s", question, got, want)
		}
	}
}
