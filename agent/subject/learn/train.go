package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"molar/agent/subject"
)

// Config says what to train.
type Config struct {
	// Dir is the folder of the pack. Name is the name of the topic; empty means the folder's.
	Dir, Name string
	// General holds the lines of no subject, which serve every topic; without it only the pack's own
	// lines are learned.
	General fs.FS
	// Date is noted on the card.
	Date string
}

// Train learns a topic from the lines of its pack, and writes its tables and its card into the pack.
func Train(ctx context.Context, c Config) (Card, error) {
	if c.Name == "" {
		c.Name = filepath.Base(c.Dir)
	}
	pack := os.DirFS(c.Dir)
	r, err := learnPack(ctx, pack, c.Name, c.General)
	if err != nil {
		return Card{}, fmt.Errorf("topic %q: %w", c.Name, err)
	}
	files := map[string]string{subject.MessagesTable: r.messages, subject.EmergenciesTable: r.emergencies}
	for name, content := range files {
		if content == "" {
			err = errors.Join(err, remove(filepath.Join(c.Dir, filepath.FromSlash(name))))
			continue
		}
		err = errors.Join(err, write(filepath.Join(c.Dir, filepath.FromSlash(name)), []byte(content)))
	}
	if err != nil {
		return Card{}, err
	}
	r.card.Date = c.Date
	if r.card.Sum, err = subject.Sum(pack); err != nil {
		return Card{}, err
	}
	data, err := json.MarshalIndent(r.card, "", "  ")
	if err == nil {
		err = write(filepath.Join(c.Dir, subject.CardFile), append(data, '\n'))
	}
	return r.card, err
}

// Judge learns a pack like [Train], and returns the figures of the lines that were left out each time.
// It writes nothing.
func Judge(ctx context.Context, c Config) (Card, error) {
	r, err := learnPack(ctx, os.DirFS(c.Dir), c.Name, c.General)
	return r.card, err
}

// Guard learns a topic from its examples, and returns the weights that [subject.Topic.Weights]
// takes. It proves nothing, so that code is never sure by them. general may be nil.
func Guard(t subject.Topic, general fs.FS) (weights string, err error) {
	var lines []subject.Line
	for _, e := range t.Examples {
		lang := e.Lang
		if lang == "" {
			lang, _ = subject.Guess(e.Text)
		}
		lines = append(lines, subject.Line{Text: e.Text, Lang: lang, InDomain: &e.InDomain, Kind: e.Kind, History: e.History})
	}
	g, err := readGeneral(general)
	if err != nil {
		return "", err
	}
	m, err := newMessageLearner(context.Background(), t, distinct(lines), g, nil)
	if err != nil {
		return "", err
	}
	c, _, err := m.learn(context.Background(), false)
	return c.Encode(), err
}

// result is what was learned of a pack.
type result struct {
	messages, emergencies string
	card                  Card
}

// learnPack learns everything that a pack has lines for.
func learnPack(ctx context.Context, pack fs.FS, name string, generalLines fs.FS) (r result, err error) {
	t, err := subject.ReadPack(pack, name)
	if err != nil {
		return r, err
	}
	t.Weights, t.Emergencies.Weights = "", ""
	lines, err := ReadLines(pack)
	if err != nil {
		return r, err
	}
	for i, l := range lines {
		if l.Lang == "" {
			lines[i].Lang, _ = subject.Guess(l.Text)
		}
	}
	g, err := readGeneral(generalLines)
	if err != nil {
		return r, err
	}
	told, err := answersOf(pack, t, lines)
	if err != nil {
		return r, err
	}
	r.card = newCard(name, LeftOut)
	if r.messages, err = learnMessages(ctx, t, lines, g, told, &r.card); err != nil {
		return r, err
	}
	r.emergencies, err = learnEmergencies(ctx, t, lines, g, &r.card)
	r.card.sum()
	return r, err
}

// learnMessages learns what belongs to the topic, and notes on the card how well.
func learnMessages(ctx context.Context, t subject.Topic, lines []subject.Line, g general, told []string, card *Card) (string, error) {
	var labelled []subject.Line
	for _, l := range lines {
		if l.InDomain != nil {
			labelled = append(labelled, l)
		}
	}
	labelled = distinct(labelled)
	m, err := newMessageLearner(ctx, t, labelled, g, told)
	if err != nil {
		return "", err
	}
	c, left, err := m.learn(ctx, true)
	if err != nil {
		return "", err
	}
	card.Languages, card.Thresholds, card.General = c.Languages, thresholdsOf(c.Sure), len(m.lines)-m.own
	for _, l := range labelled {
		card.Lines[kindOf(l)]++
	}
	for i, l := range m.lines {
		if i >= m.own {
			l.Kind = generalKind
		}
		if l.Kind != term {
			card.add(l, left[i].verdict)
		}
	}
	return c.Encode(), nil
}

// generalKind is the kind on a card of the lines of no subject, which are left out like a topic's own.
const generalKind = "of no subject"

func kindOf(l subject.Line) string {
	label := "out"
	if *l.InDomain {
		label = "in"
	}
	return strings.TrimSpace(label + " " + l.Kind)
}

// answersOf returns parts of answers of the topic: of its guide and its notices, of the
// answers in the histories of lines, and of the file of answers.
func answersOf(pack fs.FS, t subject.Topic, lines []subject.Line) ([]string, error) {
	var out []string
	err := fs.WalkDir(pack, subject.GuideFolder, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == subject.GuideFolder {
			return nil
		}
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		data, err := fs.ReadFile(pack, name)
		if err != nil {
			return err
		}
		for _, entry := range strings.Split(string(data), "\n## ")[1:] {
			lines := strings.Split(strings.TrimSpace(entry), "\n")
			out = append(out, sentences(lines[len(lines)-1])...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, lang := range t.Languages {
		for _, kind := range t.Emergencies.Kinds {
			out = append(out, sentences(t.Voices[lang].Notices[kind.Name])...)
		}
	}
	seen := make(map[string]bool)
	for _, l := range lines {
		for _, e := range l.History {
			if !seen[e.Answer] {
				seen[e.Answer] = true
				out = append(out, sentences(e.Answer)...)
			}
		}
	}
	data, err := fs.ReadFile(pack, path.Join(subject.LinesFolder, answersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	for _, s := range subject.Sections(string(data)) {
		out = append(out, s.Lines...)
	}
	return out, err
}

// sentences returns a text as a whole, its halves, and each sentence with the one before it.
func sentences(whole string) []string {
	if strings.TrimSpace(whole) == "" {
		return nil
	}
	parts := strings.SplitAfter(whole, ". ")
	out := []string{whole}
	for i, part := range parts {
		if out = append(out, part); i > 0 {
			out = append(out, parts[i-1]+part)
		}
	}
	return out
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a pack is no secret
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
