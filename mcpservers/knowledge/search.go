package knowledge

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// A Query is a question to a folder.
type Query struct {
	Text string
	// About is what the conversation is about, for a question that leans on it ("how long does it
	// take?"): passages that speak of it come first, above all where the question says it too.
	About string
	// Language is that of the passages, where the folder keeps them apart: below folders that are
	// named "vi" and "en". Empty takes the one in which the question finds most.
	Language string
	// Passage is a heading as addresses name it: what stands under it is returned and nothing else,
	// whatever the text asks for. In a folder without it nothing is found.
	Passage string
}

// A Result is a passage that answers a question.
type Result struct {
	Title   string
	Content string
	// Link is the page that it rests on, else the address of its file, with the heading; the
	// file's path without an address.
	Link string
	// Place is the file and the line on which the passage begins, Anchor its heading as addresses
	// name it.
	Place, Anchor string
	// Score is between 0 and 1, 1 the best.
	Score float64
}

// Search returns the passages that answer a question, best first; none when the folder does
// not speak of it.
func (f *Folder) Search(ctx context.Context, q Query, limit int) ([]Result, error) {
	f.begin()
	wait := time.NewTimer(firstWait)
	defer wait.Stop()
	select {
	case <-f.ready:
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var results []Result
	for _, h := range f.current().search(q, limit) {
		name, link, sourced := strings.Cut(h.source, " | ")
		r := Result{Title: h.title, Content: h.text, Link: link, Place: h.place(), Anchor: h.anchor, Score: h.score}
		if sourced {
			r.Title += " (" + name + ")"
		} else {
			r.Link = f.link(h.passage)
		}
		results = append(results, r)
	}
	return results, nil
}

func (f *Folder) link(p passage) string {
	if f.cfg.Link == "" {
		return p.file
	}
	return f.cfg.Link + (&url.URL{Path: p.file, Fragment: p.anchor}).String()
}

// place returns the file of a passage, with the line where one is known.
func (p passage) place() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}
