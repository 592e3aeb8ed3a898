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

// A Result is a passage that answers a question.
type Result struct {
	Title   string
	Content string
	// Link is the page that it is based on, else the URL of its file, with the heading; without a
	// URL prefix the file's path.
	Link string
	// Place is the file and line where the passage begins, Anchor its heading as a URL fragment.
	Place, Anchor string
	// Score is between 0 and 1, 1 the best.
	Score float64
}

// Search returns the passages that answer a question, best first; none if the folder does not
// cover it.
func (f *Folder) Search(ctx context.Context, q Query, limit int) ([]Result, error) {
	f.begin()
	if f.corrections != nil && q.Passage == "" {
		if p, ok := f.corrections.find(q.Text); ok { // it is the whole answer
			return []Result{{Title: p.title, Content: p.text, Link: f.link(p), Place: p.place(), Anchor: p.anchor, Score: 1}}, nil
		}
	}
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

// place returns the file of a passage, with the line if known.
func (p passage) place() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}
