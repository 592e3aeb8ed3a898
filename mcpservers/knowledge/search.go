package knowledge

import (
	"context"
	"net/url"
	"strings"

	"molar/schemas"
)

// A Query is a question to a folder.
type Query struct {
	Text string
	// Others are the same question in other words, such as those of the documents, three at most.
	Others []string
	// About is the conversation's subject, for a question that depends on it ("how long does it
	// take?"): passages that mention it come first, especially if the question mentions it too.
	About string
	// Language is the language of the passages, if the folder separates them into folders "vi"
	// and "en". Empty picks the one with the best matches.
	Language string
	// Passage is a heading as a URL fragment: only its passages are returned, whatever the text.
	// A folder without it returns nothing.
	Passage string
}

// wordings returns the ways in which the question is put, each with its subject.
func (q Query) wordings() []string {
	first := q.Text
	if q.About != "" {
		first = q.About + ": " + q.Text
	}
	return append([]string{first}, q.Others[:min(len(q.Others), maxOthers)]...)
}

// A Result is a passage that answers a question.
type Result struct {
	Title   string
	Content string
	// Link is the page that it is based on, else the URL of its file, with the heading; without a
	// URL prefix the file's path.
	Link string
	// Place is where the passage begins.
	Place schemas.Place
	// Score is between 0 and 1, 1 the best.
	Score float64
}

// Found is what a search found.
type Found struct {
	// Results are the passages that answer the question, best first; none if the folder does not cover it.
	Results []Result
	// Doubtful is set if the results may well be the wrong ones: the question's words stand in texts, not in
	// titles, and not many together. Other words may find better ones.
	Doubtful bool
	// Perhaps are the best passages if there are no results: each holds too little of the question.
	Perhaps []Result
	// Note says that words alone were compared, if the folder is to be searched by meaning too. Why is for the
	// operator: it is in the folder's status.
	Note string
}

// wordsAlone is the same each time, so that a recorded result is too.
const wordsAlone = "words alone were compared; a search by meaning is not possible at present"

// Search returns the passages that answer a question.
func (f *Folder) Search(ctx context.Context, q Query, limit int) (Found, error) {
	if f.corrections != nil && q.Passage == "" {
		if p, ok := f.corrections.find(q.Text); ok { // it is the whole answer
			return Found{Results: []Result{{Title: p.title, Content: p.text, Link: f.link(p), Place: f.place(p), Score: 1}}}, nil
		}
	}
	if err := f.wait(ctx); err != nil {
		return Found{}, err
	}
	var by meant
	note, in := "", f.current()
	if f.meaning != nil && q.Passage == "" {
		by = f.meaning.question(ctx, q.wordings(), in)
		if by.m == nil {
			note = wordsAlone
		}
	}
	sure, unsure, doubtful := in.search(q, limit, by)
	return Found{Results: f.results(sure), Doubtful: doubtful, Perhaps: f.results(unsure), Note: note}, nil
}

func (f *Folder) results(hits []hit) (results []Result) {
	for _, h := range hits {
		name, link, sourced := strings.Cut(h.source, " | ")
		r := Result{Title: h.title, Content: h.text, Link: link, Place: f.place(h.passage), Score: h.score}
		if sourced {
			r.Title += " (" + name + ")"
		} else {
			r.Link = f.link(h.passage)
		}
		results = append(results, r)
	}
	return results
}

func (f *Folder) link(p passage) string {
	if f.cfg.Link == "" {
		return p.file
	}
	fragment := p.anchor
	if p.page > 0 { // a browser opens a PDF there
		fragment = f.place(p).Fragment()
	}
	return f.cfg.Link + (&url.URL{Path: p.file, Fragment: fragment}).String()
}

// place returns where a passage stands.
func (f *Folder) place(p passage) schemas.Place {
	return schemas.Place{Folder: f.cfg.Name, File: p.file, Page: p.page, Sheet: p.sheet, Line: p.line, Last: p.last, Part: p.part, Heading: p.heading, Anchor: p.anchor}
}
