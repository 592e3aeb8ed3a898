package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
)

// CorrectionsDir is the subfolder of a folder into which corrections are written: files with a question
// as their heading, and its answer.
const CorrectionsDir = "corrections"

// racy is how old a change of the subfolder must be before its time says that nothing changed since:
// clocks of file systems are coarse.
const racy = 2 * time.Second

// corrections are the answers that people wrote to questions. A change of the subfolder is seen by the
// next question, on each host that shares it.
type corrections struct {
	files fs.FS
	v     *vocabulary

	mu      sync.Mutex
	changed time.Time // when the subfolder had changed before it was read
	read    time.Time
	byWords map[string][]correction
}

// A correction is the answer to a question.
type correction struct {
	passage
	words []correctedWord
}

// A correctedWord is a word of a question as it is written, and without its marks and ending.
type correctedWord struct{ raw, folded string }

func newCorrections(files fs.FS) *corrections {
	return &corrections{files: files, v: newVocabulary(nil, nil)}
}

// find returns the correction for a question: the one whose question has the same words that mean
// something, in any order. A word without marks is the same as one with them.
func (c *corrections) find(question string) (passage, bool) {
	words := c.words(question)
	if len(words) == 0 {
		return passage{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update()
	for _, known := range c.byWords[keyOf(words)] {
		if slices.EqualFunc(known.words, words, sameWord) {
			return known.passage, true
		}
	}
	return passage{}, false
}

// Corrected returns the answer that was written to a question, from the files of a folder; ok is false if
// there is none.
func Corrected(files fs.FS, question string) (answer string, ok bool) {
	p, ok := newCorrections(files).find(question)
	return p.text, ok
}

// SameQuestion reports whether two questions have the same words that mean something, so that a correction of
// one is found by the other. n is how many there are.
func SameQuestion(a, b string) (n int, same bool) {
	c := newCorrections(nil)
	words := c.words(a)
	return len(words), slices.EqualFunc(words, c.words(b), sameWord)
}

// sameWord reports whether two words are the same, or one of them is the other without marks.
func sameWord(a, b correctedWord) bool {
	return a.folded == b.folded && (a.raw == b.raw || text.NewWord(a.raw).Bare || text.NewWord(b.raw).Bare)
}

// update reads the files again if the subfolder has changed.
func (c *corrections) update() {
	info, err := fs.Stat(c.files, CorrectionsDir)
	if err != nil { // there is none yet, or none any more
		c.byWords = nil
		c.changed = time.Time{}
		return
	}
	if info.ModTime().Equal(c.changed) && c.read.Sub(c.changed) > racy {
		return
	}
	c.changed, c.read = info.ModTime(), time.Now()
	c.byWords = make(map[string][]correction)
	names, _ := fs.Glob(c.files, CorrectionsDir+"/*.md") // the pattern is fixed
	for _, name := range names {
		data, err := fs.ReadFile(c.files, name)
		if err != nil || len(data) > largestFile {
			continue
		}
		p, ok := readCorrection(name, string(data))
		words := c.words(p.title)
		if ok && len(words) > 0 {
			key := keyOf(words)
			c.byWords[key] = append(c.byWords[key], correction{p, words})
		}
	}
}

// readCorrection reads a file with a question as its heading; front matter before it is skipped.
func readCorrection(name, data string) (p passage, ok bool) {
	line := 1
	if rest, found := strings.CutPrefix(data, "---\n"); found {
		front, body, closed := strings.Cut(rest, "\n---\n")
		if !closed {
			return p, false
		}
		line += strings.Count(front, "\n") + 3
		data = body
	}
	trimmed := strings.TrimLeft(data, "\n")
	line += len(data) - len(trimmed)
	heading, answer, _ := strings.Cut(trimmed, "\n")
	question, ok := strings.CutPrefix(heading, "# ")
	answer = strings.TrimSpace(answer)
	p = passage{file: name, title: strings.TrimSpace(question), anchor: anchorOf(question), line: line, text: answer}
	return p, ok && answer != ""
}

// words returns the words of a question that mean something, each once, in the order of their folded
// forms.
func (c *corrections) words(question string) []correctedWord {
	var words []correctedWord
	for raw := range split(question) {
		if !c.v.read(raw).idle || isNumber(raw) {
			words = append(words, correctedWord{raw, text.Fold(c.v.fold(raw))})
		}
	}
	slices.SortFunc(words, func(a, b correctedWord) int { return strings.Compare(a.folded+"\x00"+a.raw, b.folded+"\x00"+b.raw) })
	return slices.CompactFunc(words, func(a, b correctedWord) bool { return a.folded == b.folded })
}

func keyOf(words []correctedWord) string {
	folded := make([]string, len(words))
	for i, w := range words {
		folded[i] = w.folded
	}
	return strings.Join(folded, " ")
}

// CorrectionFile returns the name, below a folder, of the file for the correction of a question. Questions
// with the same words share it, so that a newer correction replaces an older one.
func CorrectionFile(question string) string {
	words := newCorrections(nil).words(question)
	name := strings.ReplaceAll(keyOf(words), " ", "-")
	return path.Join(CorrectionsDir, fileName(name)+".md")
}

// fileName returns a short file name for a list of words: its beginning, and a hash of all of it.
func fileName(words string) string {
	const most = 48
	sum := sha256.Sum256([]byte(words))
	ascii := strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, words)
	return strings.Trim(text.Clip(ascii, most, ""), "-") + "-" + hex.EncodeToString(sum[:4])
}
