package knowledge_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"molar/mcpservers/knowledge"
)

func titles(results []knowledge.Result) string {
	var all []string
	for _, r := range results {
		all = append(all, r.Title)
	}
	return strings.Join(all, "; ")
}

// company is a folder of a company: each file says a few sentences on its own subject.
func company() fstest.MapFS {
	files := make(fstest.MapFS)
	for name, text := range map[string]string{
		"opening-hours": "# When we are open\n\nEach branch opens at eight and closes at six, on Saturdays at noon.",
		"leave":         "# Annual leave\n\nEveryone has 25 days of paid leave. Ask the manager two weeks before.",
		"expenses":      "# Expenses\n\nHand in the receipts of a journey within a month, with the form of the finance team.",
		"parking":       "# Parking\n\nThe garage has places for bicycles and for cars with a permit.",
		"network":       "# Wireless network\n\nCall `setUpNetwork` once, or set `OFFICE_PROXY_HOST` for the proxy. Visitors get a code at the desk.",
		"evening":       "# Even numbers\n\nRooms with even numbers are on the left, those with odd numbers on the right.",
	} {
		files[name+".md"] = md(text)
	}
	return files
}

// A plural, a name of a place that nobody wrote down, another word of the same family or an everyday word for
// the same thing does not hide a passage.
func TestFolder_FindsOtherForms(t *testing.T) {
	f := open(t, company(), "")
	for question, want := range map[string]string{
		"what are the opening hours of the branches":  "When we are open",
		"opening hours in Hải Châu":                   "When we are open",
		"opening hours of the Springfield branch":     "When we are open",
		"how do I get a permit for my bike":           "Parking",
		"annual holidays":                             "Annual leave",
		"set up the network":                          "Wireless network",
		"office proxy host":                           "Wireless network",
		"expense":                                     "Expenses",
		"Which colours does the national flag show?":  "",
		"the news this evening":                       "",
		"Who wrote the hymn of the Springfield choir": "",
	} {
		if got := first(t, f, question); got.Title != want {
			t.Errorf("%q: got %q, want %q", question, got.Title, want)
		}
	}
}

// If no passage answers, those that come nearest are offered as uncertain, but none without a word of the
// question.
func TestFolder_Perhaps(t *testing.T) {
	f := open(t, company(), "")
	for question, want := range map[string]string{
		"which bicycles win races in the mountains of France": "Parking",
		"wheelbarrows and volcanoes":                          "",
		"?!":                                                  "",
	} {
		found, err := f.Search(t.Context(), knowledge.Query{Text: question}, 5)
		if err != nil || len(found.Results) > 0 {
			t.Errorf("%q: got %q, %v, want nothing sure", question, titles(found.Results), err)
		}
		if got := titles(found.Perhaps); !strings.HasPrefix(got, want) || want == "" && got != "" || len(found.Perhaps) > 3 {
			t.Errorf("%q: got %q perhaps, want %q", question, got, want)
		}
	}
}

// Other wordings of a question find what it does not; one that finds nothing changes nothing.
func TestFolder_Others(t *testing.T) {
	f := open(t, company(), "")
	for _, tt := range []struct {
		text   string
		others []string
		want   string
	}{
		{"khi nào thì nghỉ được", []string{"annual leave days"}, "Annual leave"},
		{"annual leave days", []string{"volcanoes of Peru", "?!"}, "Annual leave"},
		{"annual leave days", []string{"how many days of annual leave", "garage for cars"}, "Annual leave"},
		{"volcanoes", []string{"wheelbarrows"}, ""},
	} {
		found, err := f.Search(t.Context(), knowledge.Query{Text: tt.text, Others: tt.others}, 5)
		if got := titles(found.Results); err != nil || !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%q %q: got %q, %v, want %q first", tt.text, tt.others, got, err, tt.want)
		}
	}
}

// The first results are of several pages, though one page holds the words most often.
func TestFolder_SpreadsOverPages(t *testing.T) {
	files := company()
	long := "# Proxy\n"
	for i := range 5 {
		long += fmt.Sprintf("\n## Proxy %d\n\nThe proxy listens on port %d.\n", i, i)
	}
	files["proxy.md"] = md(long)
	files["ports.md"] = md("# Ports\n\nThe port of the proxy is open for everyone in the office.\n")
	found, err := open(t, files, "").Search(t.Context(), knowledge.Query{Text: "port of the proxy"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]bool)
	for _, r := range found.Results[:min(3, len(found.Results))] {
		pages[r.Place.File] = true
	}
	if len(pages) < 2 {
		t.Errorf("the first three are all of %v", pages)
	}
}

// Whoever runs a folder may say what share of a question suffices.
func TestFolder_Threshold(t *testing.T) {
	for least, want := range map[float64]bool{0: true, 1: false} {
		f, err := knowledge.Open(knowledge.Config{Name: "company", Files: company(), Path: "company", Threshold: &least})
		if err != nil {
			t.Fatal(err)
		}
		found, err := f.Search(t.Context(), knowledge.Query{Text: "which bicycles win races in the mountains of France"}, 5)
		f.Close()
		if err != nil || len(found.Results) > 0 != want {
			t.Errorf("with %v: got %q, %v", least, titles(found.Results), err)
		}
	}
}

// A folder in a language of which nothing is known is searched by its own frequencies.
func TestFolder_AnyLanguage(t *testing.T) {
	files := fstest.MapFS{
		"de/urlaub.md":  md("# Urlaub\n\nWer Urlaub nehmen will, der fragt zwei Wochen vorher die Leitung. Es sind 25 Tage im Jahr.\n"),
		"de/parken.md":  md("# Parken\n\nWer mit dem Auto kommt, der braucht eine Plakette für die Garage.\n"),
		"de/spesen.md":  md("# Spesen\n\nWer eine Reise macht, der gibt die Belege in der Buchhaltung ab.\n"),
		"de/öffnung.md": md("# Öffnungszeiten\n\nDie Filiale öffnet um acht und schließt um sechs Uhr.\n"),
		"küche.md":      md("# Küche\n\nWer die Küche benutzt, der räumt das Geschirr in die Spülmaschine.\n"),
	}
	f, err := knowledge.Open(knowledge.Config{Name: "firma", Files: files, Path: "firma", Languages: []string{"de"}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for question, want := range map[string]string{
		"wie viele Tage Urlaub habe ich im Jahr":     "Urlaub",
		"wo gebe ich die Belege der Reise ab":        "Spesen",
		"wer räumt das Geschirr in die Spülmaschine": "Küche",
		"wer gewinnt die Meisterschaft im Fußball":   "",
	} {
		if got := first(t, f, question); got.Title != want {
			t.Errorf("%q: got %q, want %q", question, got.Title, want)
		}
	}
}
