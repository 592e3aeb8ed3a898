package web_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"molar/agent/answer"
	"molar/schemas"
)

// sourced answers with three sources: two passages of one document and a page of the web that the answer links to.
func sourced() script {
	place := func(line int, heading, anchor string) *schemas.Place {
		return &schemas.Place{Folder: "handbook", File: "rules/leave.md", Line: line, Heading: heading, Anchor: anchor}
	}
	sources := []schemas.Source{
		{Title: "Leave - Annual leave", URL: "https://docs.example.com/rules/leave.md#annual-leave", Place: place(9, "Annual leave", "annual-leave")},
		{Title: "Leave - Sick leave", Place: place(20, "Sick leave", "sick-leave")},
		{Title: "A page", URL: "https://a.example/x"},
	}
	said := "You have 30 days.\n\n" + answer.Markdown("Sources:", "en", sources)
	ev := done()
	ev.Done.Sources = sources
	return play(nil, start(), text(said), answer.Event{Kind: answer.KindSources, Sources: sources}, ev)
}

// A person asks, sees where the answer stands, opens that place, and finds the passage marked there.
func TestChatPage_OpensASource(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "vi"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			cfg := knowing(t, theHandbook())
			cfg.Agent = sourced()
			j := openPages(t, language, cfg)
			j.do(chromedp.Navigate(j.url + "/"))
			j.ask("How many days of leave do I have?")
			const links = `[...document.querySelectorAll(".sources a")]`
			j.sees(idle, links+`.length === 2`) // the answer itself links to the pages
			if got := eval[string](j, links+`.map((a) => a.textContent).join("; ")`); got != "Leave - Annual leave rules/leave.md; Leave - Sick leave rules/leave.md" {
				t.Errorf("the sources are %q", got)
			}
			if got := eval[string](j, `document.querySelector(".prose").textContent`); !strings.Contains(got, "Leave - Sick leave (rules/leave.md)") {
				t.Errorf("the answer says %q", got)
			}
			j.shot("answer-" + language)
			address := eval[string](j, links+`[1].getAttribute("href")`)
			j.do(chromedp.Navigate(j.url + address))
			j.sees(`document.querySelectorAll(".part").length === 3`, `document.querySelector(".found").textContent.includes("Tell your manager in the morning")`,
				`document.activeElement === document.querySelector(".found")`, `document.querySelectorAll(".found").length === 1`)
			if top := eval[float64](j, `document.querySelector(".found").getBoundingClientRect().top`); top < 0 || top > 400 {
				t.Errorf("the passage is at %v px of the window", top)
			}
			want := map[string]string{"en": "The passage of the source", "vi": "Đoạn của nguồn"}[language]
			j.sees(`document.querySelector(".found .here").textContent === "`+want+`"`, `document.getElementById("said").textContent === "`+want+`"`, `document.title === "Leave · Molar"`)
			// Text is shown as it is, code and tables are readable, and the original can be opened.
			j.sees(`document.querySelector(".part p").innerText === "Leave is paid.\n  It keeps  its spaces."`,
				`document.querySelector(".part .code").textContent === "fmt.Println(1)\n\nreturn"`,
				`document.querySelector(".part table thead th:nth-child(2)").textContent === "days" && document.querySelectorAll(".part tbody tr").length === 2`,
				`document.querySelector("#where a").href === "https://docs.example.com/rules/leave.md#sick-leave"`)
			// Another passage of the same document.
			eval[any](j, `location.hash = "#annual-leave"`)
			j.sees(`document.querySelector(".found").textContent.includes("Everybody has 30 days")`, `document.querySelectorAll(".found").length === 1`)
			j.shot("source-" + language)
		})
	}
}

// As much of a long document is loaded as its passage needs, and the rest when the reader asks.
func TestReader_LongDocument(t *testing.T) {
	t.Parallel()
	k := theHandbook()
	k.pieces = 1
	k.docs["handbook/table.xlsx"] = schemas.Document{Folder: "handbook", File: "table.xlsx", Title: "Table", Parts: []schemas.DocumentPart{
		{Place: schemas.Place{Folder: "handbook", File: "table.xlsx", Sheet: "2026 A!", Line: 2}, Text: "a: 1"},
		{Place: schemas.Place{Folder: "handbook", File: "table.xlsx", Sheet: "2026 A!", Line: 40}, Text: "a: 2"},
		{Place: schemas.Place{Folder: "handbook", File: "table.xlsx", Sheet: "other", Line: 2}, Text: "a: 3"},
	}}
	j := openPages(t, "en", knowing(t, k))
	j.do(chromedp.Navigate(j.url + "/knowledge/handbook/rules/leave.md#annual-leave"))
	j.sees(`document.querySelector(".found")`, `document.querySelectorAll(".part").length === 2`)
	j.do(chromedp.Click("#further button"))
	j.sees(`document.querySelectorAll(".part").length === 3`, `!document.querySelector("#further button")`)
	j.do(chromedp.Navigate(j.url + schemas.Place{Folder: "handbook", File: "table.xlsx", Sheet: "2026 A!", Line: 40}.Address()))
	j.sees(`document.querySelector(".found").textContent.includes("a: 2")`, `document.querySelector("h2.mark").textContent === "2026 A!"`, `document.querySelector(".row-number").textContent === "Row 2"`)
	eval[any](j, `location.hash = "#2026%20A!!39"`) // within the rows of the first part
	j.sees(`document.querySelector(".found").textContent.includes("a: 1")`)
	eval[any](j, `location.hash = "#none"`)
	j.sees(`document.querySelector("#gone .note")`, `!document.querySelector(".found")`, `document.querySelectorAll(".part").length === 3`)
}

// Of several passages of one page the address names one, as long as the document has not changed.
func TestReader_PassageOfAPage(t *testing.T) {
	t.Parallel()
	k := theHandbook()
	place := func(page, part int) schemas.Place {
		return schemas.Place{Folder: "handbook", File: "book.pdf", Page: page, Part: part}
	}
	k.docs["handbook/book.pdf"] = schemas.Document{Folder: "handbook", File: "book.pdf", Title: "Book", Parts: []schemas.DocumentPart{
		{Place: place(4, 1), Text: "implants"}, {Place: place(4, 2), Text: "accidents"}, {Place: place(5, 3), Text: "children"},
	}}
	j := openPages(t, "en", knowing(t, k))
	const found = `[...document.querySelectorAll(".found")].map((p) => p.textContent.replace("The passage of the source", "")).join(" ")`
	for at, want := range map[schemas.Place]string{place(4, 2): "accidents", place(4, 0): "implants accidents", place(5, 2): "children"} {
		j.do(chromedp.Navigate("about:blank"), chromedp.Navigate(j.url+at.Address()))
		j.sees(found + ` === "` + want + `"`)
	}
}

// The tools page shows what is read of each folder and what is not, and follows one that is being read.
func TestToolsPage_Knowledge(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	k := theHandbook()
	j := openPages(t, "en", knowing(t, &slowKnowledge{k, &mu}))
	j.do(chromedp.Navigate(j.url + "/tools"))
	const cards = `[...document.querySelectorAll("#knowledge article")]`
	j.sees(cards+`.length === 2`, cards+`[0].textContent.includes("The rules of the office.")`, cards+`[0].textContent.includes("2 files are not read")`,
		cards+`[0].textContent.includes("old/scan.pdf: a scan: it has no text")`, cards+`[0].textContent.includes("40 of 40 passages · bge-m3 (ollama)")`,
		cards+`[0].textContent.includes("0.42 · from its own texts")`, cards+`[1].textContent.includes("reading, 1 of 2 files")`)
	eval[any](j, cards+`[0].querySelector("summary").click()`)
	mu.Lock()
	k.status[1].Done = 2
	mu.Unlock()
	j.sees(cards+`[1].textContent.includes("2 files")`, cards+`[0].querySelector("details").open`)
}

// A slowKnowledge is one whose status a test changes while it is read.
type slowKnowledge struct {
	*someKnowledge
	mu *sync.Mutex
}

func (s *slowKnowledge) Status(ctx context.Context) ([]schemas.KnowledgeStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.someKnowledge.Status(ctx)
	return slices.Clone(all), err
}
