package grow

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"molar/agent/subject"
)

// seenFile holds the lines of emergencies that a person has seen.
const seenFile = "emergencies.jsonl"

// byPerson counts lines that a person wrote or corrected more than those of a model.
const byPerson = 3

// A Correction says what a line should be.
type Correction struct {
	Line subject.Line
	// Turn exchanges the labels: in for out, an emergency for a harmless line. A harmless line becomes
	// an emergency only by its Kind.
	Turn bool
	// Kind is the kind of emergency that the line describes, if it is not empty.
	Kind string
	// Text replaces the message, if it is not empty.
	Text string
	// Drop removes the line.
	Drop bool
}

// Sample returns so many grown lines, spread over languages, kinds and labels; the same ones every
// time as long as the lines are the same.
func Sample(dir string, n int) ([]subject.Line, error) {
	lines, err := ReadLines(filepath.Join(dir, subject.LinesFolder, grownFile))
	if err != nil {
		return nil, err
	}
	byKind := make(map[string][]subject.Line)
	var kinds []string
	for _, l := range lines {
		key := fmt.Sprint(l.Lang, l.Kind, l.InDomain != nil && *l.InDomain)
		if byKind[key] == nil {
			kinds = append(kinds, key)
		}
		byKind[key] = append(byKind[key], l)
	}
	chance := rand.New(rand.NewPCG(4, 4)) //nolint:gosec // the same lines every time
	for _, kind := range kinds {
		all := byKind[kind]
		chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	var sample []subject.Line
	for round := 0; len(sample) < min(n, len(lines)); round++ {
		for _, kind := range kinds {
			if all := byKind[kind]; round < len(all) && len(sample) < n {
				sample = append(sample, all[round])
			}
		}
	}
	return sample, nil
}

// Correct applies corrections to the grown lines.
func Correct(dir string, all []Correction) error {
	path := filepath.Join(dir, subject.LinesFolder, grownFile)
	lines, err := ReadLines(path)
	if err != nil {
		return err
	}
	return saveLines(path, corrected(lines, all))
}

// corrected returns the lines with the corrections: those of one line follow each other.
func corrected(lines []subject.Line, all []Correction) (kept []subject.Line) {
	byLine := make(map[place][]Correction)
	for _, c := range all {
		at := placeOf(c.Line)
		byLine[at] = append(byLine[at], c)
	}
	for _, l := range lines {
		its := byLine[placeOf(l)]
		if slices.ContainsFunc(its, func(c Correction) bool { return c.Drop }) {
			continue
		}
		for _, c := range its {
			l = c.of(l)
		}
		kept = append(kept, l)
	}
	return kept
}

// of returns the line with the correction.
func (c Correction) of(l subject.Line) subject.Line {
	l.Text = cmp.Or(c.Text, l.Text)
	if c.Turn && l.InDomain != nil {
		turned := !*l.InDomain
		l.InDomain = &turned
	}
	if l.Emergency != nil && (c.Turn || c.Kind != "") {
		l.Emergency = &c.Kind
	}
	l.By, l.Weight = "person", byPerson
	return l
}

// A place tells a line from the others that growing wrote: the same words follow many things.
type place struct{ group, text, key string }

func placeOf(l subject.Line) place { return place{l.Group, l.Text, key(l)} }

// Waiting returns the lines of emergencies that no person has seen.
func Waiting(dir string) ([]subject.Line, error) { return ReadLines(filepath.Join(dir, waitingFile)) }

// Accept moves lines that a person has seen to those that are learned, with the corrections.
func Accept(dir string, shown []subject.Line, all []Correction) error {
	waiting, err := Waiting(dir)
	if err != nil {
		return err
	}
	seen := make(map[place]bool)
	for _, l := range shown {
		seen[placeOf(l)] = true
	}
	var accepted, left []subject.Line
	for _, l := range waiting {
		if seen[placeOf(l)] {
			accepted = append(accepted, l)
		} else {
			left = append(left, l)
		}
	}
	if err := appendLines(filepath.Join(dir, subject.LinesFolder, seenFile), corrected(accepted, all)); err != nil {
		return err
	}
	path := filepath.Join(dir, waitingFile)
	if len(left) == 0 {
		return os.Remove(path)
	}
	return saveLines(path, left)
}
