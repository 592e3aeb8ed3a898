package learn

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"molar/agent/subject"
)

// The files of the folder [subject.LinesFolder] that are no labelled lines in JSON.
const (
	// OwnFile holds lines that a person writes by hand, in the sections "in" and "out".
	OwnFile = "own.txt"
	// answersFile holds parts of answers, in the section "of the topic".
	answersFile = "answers.txt"
)

// unclear marks a line on which two readers may differ whether it is an emergency: it teaches
// neither.
const unclear = "unclear"

const (
	// byHand is the weight of a line that a person wrote by hand.
	byHand = 3
	// mostWeight is the largest weight of a line.
	mostWeight = 100
	// mostLines bounds what is learned from or measured by, and mostBytes a file of it.
	mostLines = 200_000
	mostBytes = 64 << 20
)

// ReadLines reads the lines that a pack is learned from: of all files *.jsonl below its folder of
// lines, and those in [OwnFile].
func ReadLines(pack fs.FS) ([]subject.Line, error) {
	var all []subject.Line
	err := fs.WalkDir(pack, subject.LinesFolder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == subject.LinesFolder:
			return nil
		case err != nil || entry.IsDir():
			return err
		case path.Base(name) == OwnFile:
			lines, err := readOwn(pack, name)
			all = append(all, lines...)
			return err
		case path.Ext(name) != ".jsonl":
			return nil
		}
		lines, err := readFile(pack, name)
		all = append(all, lines...)
		return err
	})
	if err == nil && len(all) > mostLines {
		err = fmt.Errorf("%s holds %d lines: at most %d can be learned from", subject.LinesFolder, len(all), mostLines)
	}
	return all, err
}

// ReadHeld reads the lines that a pack is only measured by: of all files *.jsonl in its folder of
// lines that are held back. A pack may have none.
func ReadHeld(pack fs.FS) ([]subject.Line, error) {
	names, err := fs.Glob(pack, path.Join(subject.HeldFolder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	return ReadFiles(pack, names...)
}

// ReadFiles reads some files of labelled lines.
func ReadFiles(files fs.FS, names ...string) ([]subject.Line, error) {
	var all []subject.Line
	for _, name := range names {
		lines, err := readFile(files, name)
		if err != nil {
			return nil, err
		}
		if all = append(all, lines...); len(all) > mostLines {
			return nil, fmt.Errorf("%s: with it there are more than %d lines: keep fewer", name, mostLines)
		}
	}
	return all, nil
}

// readFile reads a file of labelled lines. It follows no link: a pack may be a stranger's.
func readFile(pack fs.FS, name string) ([]subject.Line, error) {
	info, err := fs.Lstat(pack, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: put the file itself there", name)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%s is larger than %d MiB: write fewer lines into it", name, mostBytes>>20)
	}
	data, err := fs.ReadFile(pack, name)
	if err != nil {
		return nil, err
	}
	var all []subject.Line
	return all, subject.Lines(name, string(data), func(l subject.Line) error {
		switch {
		case strings.TrimSpace(l.Text) == "":
			return errors.New(`"text" is missing`)
		case l.InDomain == nil && l.Emergency == nil:
			return errors.New(`the line has no label: give it "in_domain" or "emergency"`)
		case !(l.Weight >= 0 && l.Weight <= mostWeight):
			return fmt.Errorf(`"weight" is %v: want a number up to %d`, l.Weight, mostWeight)
		}
		all = append(all, l)
		return nil
	})
}

func readOwn(pack fs.FS, name string) ([]subject.Line, error) {
	data, err := fs.ReadFile(pack, name)
	if err != nil {
		return nil, err
	}
	var all []subject.Line
	for _, s := range subject.Sections(string(data)) {
		in := s.Name == "in"
		if !in && s.Name != "out" {
			return nil, fmt.Errorf("%s: the section %q is unknown: use \"# in\" and \"# out\"", name, s.Name)
		}
		for _, text := range s.Lines {
			lang, _ := subject.Guess(text)
			all = append(all, subject.Line{Text: text, Lang: lang, InDomain: &in, Weight: byHand, By: OwnFile})
		}
	}
	return all, nil
}

// general are the lines of no subject, which serve every topic.
type general struct {
	// others are messages of other subjects, and follow-ups that leave one; pleasantries belong to
	// every topic.
	others, pleasantries []subject.Line
	// dressed are wrappings of messages, by language and use.
	dressed map[string][]string
	// answers are parts of answers on other subjects.
	answers []string
	// frames make a message of a person in need harmless, by language.
	frames map[string][]string
}

// asTask is the weight of a task that no topic has.
const asTask = 0.5

// readGeneral reads the folder topics/general. Without one nothing general is learned.
func readGeneral(files fs.FS) (general, error) {
	g := general{frames: make(map[string][]string), dressed: make(map[string][]string)}
	if files == nil {
		return g, nil
	}
	lines, err := ReadFiles(files, "others.jsonl", "followups.jsonl", "greetings.jsonl")
	if err != nil {
		return g, err
	}
	for _, l := range lines {
		if *l.InDomain {
			g.pleasantries = append(g.pleasantries, l)
		} else {
			g.others = append(g.others, l)
		}
	}
	texts := make(map[string][]subject.Section)
	for _, name := range []string{"tasks.txt", "answers.txt", "frames.txt", "dressed.txt"} {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return g, err
		}
		texts[name] = subject.Sections(string(data))
	}
	no := false
	for _, s := range texts["tasks.txt"] {
		for _, task := range s.List() {
			g.others = append(g.others, subject.Line{Text: task, InDomain: &no, Weight: asTask})
		}
	}
	for _, s := range texts["answers.txt"] {
		g.answers = append(g.answers, s.Lines...)
	}
	for _, s := range texts["dressed.txt"] {
		g.dressed[s.Name] = s.Lines
	}
	for _, s := range texts["frames.txt"] {
		g.frames[s.Name] = s.Lines
	}
	return g, nil
}

// distinct leaves out lines whose text was there before; follow-ups may repeat, as each follows an
// exchange of its own.
func distinct(lines []subject.Line) []subject.Line {
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(lines), func(l subject.Line) bool {
		if len(l.History) > 0 {
			return false
		}
		key := strings.ToLower(strings.TrimSpace(l.Text))
		if seen[key] {
			return true
		}
		seen[key] = true
		return false
	})
}
