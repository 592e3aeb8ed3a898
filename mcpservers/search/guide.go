package search

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed guide
var guideFiles embed.FS

// An entry is one topic of the guide in one language.
type entry struct {
	id, title  string
	text       string
	keys       []string // names of it and words that mark it
	asked      []string // short ways in which patients ask for it
	source     string   // who published the facts
	sourceLink string
	checked    string // the month in which the source's address was looked up, or "no"
	urgent     bool   // it says what to do in an emergency
}

// A guide answers queries from the embedded entries. The index of a language is
// built at its first query.
type guide struct {
	vi, en func() (*index, error)

	mu     sync.Mutex
	opened []*index // to be closed
}

func newGuide() *guide {
	g := &guide{}
	open := func(lang string) func() (*index, error) {
		return sync.OnceValues(func() (*index, error) { return g.open(lang) })
	}
	g.vi, g.en = open("vi"), open("en")
	return g
}

func (g *guide) open(lang string) (*index, error) {
	ix, err := openGuide(lang)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = append(g.opened, ix)
	return ix, nil
}

// close ends the databases of the languages that were asked for.
func (g *guide) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, ix := range g.opened {
		errs = append(errs, ix.fts.Close())
	}
	g.opened = nil
	return errors.Join(errs...)
}

// openGuide reads and indexes the entries of one language.
func openGuide(lang string) (*index, error) {
	topics, err := readGuide(lang)
	if err != nil {
		return nil, fmt.Errorf("read the dental guide (%s): %w", lang, err)
	}
	return newIndex(context.Background(), lang, topics)
}

// search returns the entries that answer a query, best first; none when the query
// is not about anything in the guide. An empty lang takes the language in which the
// query hits. In an emergency those that are for it come first, and one always does.
func (g *guide) search(ctx context.Context, query, lang string, urgent bool) ([]Result, error) {
	find := g.find
	if urgent {
		find = g.findUrgent
	}
	ix, hits, err := find(ctx, query, lang, maxResults)
	var results []Result
	for _, h := range hits {
		e := ix.entries[h.entry]
		results = append(results, Result{
			Title:   e.title + " (" + e.source + ")",
			Content: e.text,
			Link:    e.sourceLink,
			Score:   h.score,
		})
	}
	return results, err
}

// find looks in one language, or in the one in which the query hits better.
func (g *guide) find(ctx context.Context, query, lang string, limit int) (best *index, hits []hit, err error) {
	for _, l := range []struct {
		name string
		open func() (*index, error)
	}{{"vi", g.vi}, {"en", g.en}} {
		if lang != "" && lang != l.name {
			continue
		}
		ix, err := l.open()
		if err != nil {
			return nil, nil, err
		}
		found, err := ix.find(ctx, query, limit)
		if err != nil {
			return nil, nil, err
		}
		if len(found) > 0 && (len(hits) == 0 || found[0].score > hits[0].score) {
			best, hits = ix, found
		}
	}
	return best, hits, nil
}

// urgentFrom is how many hits are looked through for those that are for an emergency.
const urgentFrom = 30

// findUrgent is find with the entries for emergencies in front: those that hold words of the
// query, however few, else the one that says what an emergency is.
func (g *guide) findUrgent(ctx context.Context, query, lang string, limit int) (*index, []hit, error) {
	ix, hits, err := g.find(ctx, query, lang, urgentFrom)
	if ix == nil && err == nil {
		if ix, err = g.vi(); lang == "en" {
			ix, err = g.en()
		}
	}
	if err != nil {
		return nil, nil, err
	}
	_, known := ix.wanted(ix.expand(ix.terms(query)))
	near, err := ix.fts.Find(ctx, known, urgentFrom)
	if err != nil {
		return nil, nil, err
	}
	var first []hit
	for _, h := range near {
		if ix.entries[h.Doc].urgent {
			first = append(first, hit{entry: h.Doc, score: 1})
		}
	}
	if len(first) == 0 {
		first = []hit{{entry: slices.IndexFunc(ix.entries, func(e entry) bool { return e.urgent }), score: 1}}
	}
	first = first[:min(len(first), urgentShown)]
	for _, h := range hits {
		if !slices.ContainsFunc(first, func(f hit) bool { return f.entry == h.entry }) {
			first = append(first, h)
		}
	}
	return ix, first[:min(len(first), limit)], nil
}

// urgentShown is how many entries for emergencies come first.
const urgentShown = 2

// topics are what the guide says in one language.
type topics struct {
	entries []entry
	// subject are words that show that a question is about the mouth, elsewhere those
	// that show that it is about what no entry speaks of, such as a shark's teeth or a
	// dentist's wages.
	subject, elsewhere []string
	// synonyms are lists of words that patients use for one thing.
	synonyms [][]string
	// forms are irregular forms of words, trade words of the subject that look idle
	// without their marks (đau, sâu, nhổ, ...).
	forms map[string]string
	trade []string
}

// readGuide reads the files of a language: lists of words, and Markdown with one
// section an entry.
func readGuide(lang string) (t topics, err error) {
	names, err := fs.Glob(guideFiles, "guide/"+lang+"/*")
	if err != nil {
		return topics{}, err
	}
	for _, name := range names {
		data, err := guideFiles.ReadFile(name)
		if err != nil {
			return topics{}, err
		}
		switch path.Base(name) {
		case "subject.txt":
			t.subject = split(string(data))
		case "elsewhere.txt":
			t.elsewhere = split(string(data))
		case "trade.txt":
			t.trade = split(string(data))
		case "forms.txt":
			t.forms = make(map[string]string)
			for line := range strings.Lines(string(data)) {
				base, forms, _ := strings.Cut(line, ":")
				for _, form := range split(forms) {
					t.forms[form] = base
				}
			}
		case "synonyms.txt":
			for line := range strings.Lines(string(data)) {
				t.synonyms = append(t.synonyms, split(line))
			}
		default:
			entries, err := parseGuide(string(data))
			if err != nil {
				return topics{}, fmt.Errorf("%s: %w", name, err)
			}
			for i := range entries {
				entries[i].urgent = path.Base(name) == "urgent.md"
			}
			t.entries = append(t.entries, entries...)
		}
	}
	return t, nil
}

// parseGuide reads entries: "## id | title", "source: name | link",
// "checked: month", "keys: …", "asked: …", text. Keys and asked are for the index alone.
func parseGuide(markdown string) (entries []entry, err error) {
	lines := bufio.NewScanner(strings.NewReader(markdown))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			id, title, _ := strings.Cut(heading, " | ")
			entries = append(entries, entry{id: id, title: title})
		} else if len(entries) > 0 {
			entries[len(entries)-1].take(line)
		}
	}
	for _, e := range entries {
		if e.id == "" || e.title == "" || e.text == "" || e.source == "" || e.checked == "" || !strings.HasPrefix(e.sourceLink, "https://") || len(e.keys) == 0 || len(e.asked) == 0 {
			return nil, fmt.Errorf("entry %q lacks its title, text, keys, asked, source or check", e.id)
		}
	}
	return entries, lines.Err()
}

// take reads one line of an entry's section.
func (e *entry) take(line string) {
	name, value, _ := strings.Cut(line, ": ")
	switch name {
	case "source":
		e.source, e.sourceLink, _ = strings.Cut(value, " | ")
	case "checked":
		e.checked = value
	case "keys":
		e.keys = split(value)
	case "asked":
		e.asked = split(value)
	default:
		e.text = strings.TrimSpace(e.text + " " + line)
	}
}

func split(line string) []string {
	var items []string
	for item := range strings.SplitSeq(line, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
