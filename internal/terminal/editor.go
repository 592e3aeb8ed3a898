package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// maxInput is the maximum length of an [Editor]'s text, in characters.
const maxInput = 1 << 20

// A Completer proposes replacements for the end of a text, from start, a byte offset. before
// is the text before the cursor.
type Completer func(before string) (start int, proposals []string)

// An Event is what a key did in an [Editor].
type Event int

// The events.
const (
	// Edited: the text may have changed, nothing else.
	Edited Event = iota
	// Submitted: the text is complete; Take returns it.
	Submitted
	// Interrupted: Ctrl-C. The editor is empty then.
	Interrupted
	// Ended: Ctrl-D on an empty line.
	Ended
)

// An Editor is a text input: one or more lines, with a cursor, a history and completion. Paint
// shows it; Erase removes it from the screen so that other text can be written above. It is
// not safe for concurrent use.
type Editor struct {
	w        io.Writer
	size     func() (columns, rows int)
	complete Completer
	history  *History

	prompt string
	text   []rune
	at     int // the cursor, in text
	back   int // how far up the history; 0 is the current text
	draft  string
	search *search           // nil unless the person searches the history
	folded map[string]string // long pastes by their marks
	pasted []string          // all pastes since the text was empty
	given  string            // the text that was last put into the editor as a whole

	painted bool
	wide    int   // columns when it was painted
	widths  []int // of the rows above the cursor's, and of its row up to the cursor
}

// NewEditor returns an empty editor. history and complete may be nil.
func NewEditor(w io.Writer, size func() (columns, rows int), history *History, complete Completer) *Editor {
	return &Editor{w: w, size: size, history: history, complete: complete}
}

// SetPrompt sets the text before the first line, without control sequences.
func (e *Editor) SetPrompt(prompt string) { e.prompt = prompt }

// SetText sets the editor's text, with the cursor at its end.
func (e *Editor) SetText(text string) {
	e.text, e.given = []rune(text), text
	e.at, e.back, e.search = len(e.text), 0, nil
}

// Text returns the editor's text.
func (e *Editor) Text() string { return string(e.text) }

// Take empties the editor and returns its text.
func (e *Editor) Take() string {
	text := e.Text()
	for mark, paste := range e.folded {
		text = strings.Replace(text, mark, paste, 1)
	}
	e.folded, e.pasted = nil, nil
	e.SetText("")
	return text
}

// Pasted returns what was put into the editor at once since it was empty, by pasting or out of the
// history, whether it still stands in the text or not.
func (e *Editor) Pasted() []string {
	if e.given == "" {
		return slices.Clone(e.pasted)
	}
	return append(slices.Clone(e.pasted), e.given)
}

// Key applies a key. It paints only the proposals of a completion.
func (e *Editor) Key(k Key) Event {
	if e.searched(k) {
		return Edited
	}
	switch k.Code {
	case KeyEnter:
		if e.at == len(e.text) && e.at > 0 && e.text[e.at-1] == '\\' {
			e.text[e.at-1] = '\n'
			return Edited
		}
		return Submitted
	case KeyInterrupt:
		e.SetText("")
		e.pasted = nil
		return Interrupted
	case KeyEOF:
		if len(e.text) == 0 {
			return Ended
		}
		e.cut(e.at, e.at+1)
	case KeyTab:
		e.proposeHere()
	case KeyUp:
		e.vertical(-1)
	case KeyDown:
		e.vertical(+1)
	default:
		e.edit(k)
		if len(e.text) == 0 && e.back == 0 {
			e.pasted, e.given = nil, ""
		}
	}
	return Edited
}

// longPaste is the number of lines from which a paste is folded.
const longPaste = 12

// fold returns a paste, or a mark that represents a long one until the text is taken.
func (e *Editor) fold(paste string) string {
	lines := strings.Count(strings.TrimRight(paste, "\n"), "\n") + 1
	if lines < longPaste {
		return paste
	}
	if e.folded == nil {
		e.folded = make(map[string]string)
	}
	mark := fmt.Sprintf("[paste %d: %d lines]", len(e.folded)+1, lines)
	e.folded[mark] = paste
	return mark
}

// edit applies keys that change the text or move the cursor.
func (e *Editor) edit(k Key) {
	switch k.Code {
	case KeyRune:
		e.insert(k.Text)
	case KeyPaste:
		e.pasted = append(e.pasted, k.Text)
		e.insert(e.fold(k.Text))
	case KeyNewline:
		e.insert("\n")
	case KeyBackspace:
		e.cut(e.at-1, e.at)
	case KeyDelete:
		e.cut(e.at, e.at+1)
	case KeyKillLeft:
		e.cut(e.lineStart(), e.at)
	case KeyKillRight:
		e.cut(e.at, e.lineEnd())
	case KeyKillWord:
		e.cut(e.wordLeft(), e.at)
	case KeyLeft:
		e.at = max(e.at-1, 0)
	case KeyRight:
		e.at = min(e.at+1, len(e.text))
	case KeyWordLeft:
		e.at = e.wordLeft()
	case KeyWordRight:
		e.at = e.wordRight()
	case KeyHome:
		e.at = e.lineStart()
	case KeyEnd:
		e.at = e.lineEnd()
	}
}

func (e *Editor) insert(text string) {
	runes := []rune(text)
	if room := maxInput - len(e.text); len(runes) > room {
		runes = runes[:max(room, 0)]
	}
	e.text = slices.Insert(e.text, e.at, runes...)
	e.at += len(runes)
}

func (e *Editor) cut(from, to int) {
	from, to = max(from, 0), min(to, len(e.text))
	if from < to {
		e.text = slices.Delete(e.text, from, to)
		e.at = from
	}
}

func (e *Editor) lineStart() int {
	at := e.at
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *Editor) lineEnd() int {
	at := e.at
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

func (e *Editor) wordLeft() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *Editor) wordRight() int {
	at := e.at
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

// vertical moves the cursor one line up or down, and through the history beyond the first and
// the last line.
func (e *Editor) vertical(by int) {
	start, end := e.lineStart(), e.lineEnd()
	column := e.at - start
	switch {
	case by < 0 && start > 0:
		e.at = start - 1
		above := e.lineStart()
		e.at = min(above+column, start-1)
	case by > 0 && end < len(e.text):
		e.at = end + 1
		e.at = min(end+1+column, e.lineEnd())
	default:
		e.recall(-by)
	}
}

// recall moves up (+1) or down (-1) in the history.
func (e *Editor) recall(by int) {
	if e.history == nil {
		return
	}
	to := e.back + by
	if to < 0 || to > e.history.Len() {
		return
	}
	if e.back == 0 {
		e.draft = e.Text()
	}
	text := e.draft
	if to > 0 {
		text = e.history.Last(to)
	}
	e.SetText(text)
	if e.back = to; to == 0 { // the person's own draft again
		e.given = ""
	}
}

// proposeHere completes the text before the cursor as far as all proposals agree, or lists
// them if they do not.
func (e *Editor) proposeHere() {
	if e.complete == nil {
		return
	}
	before := string(e.text[:e.at])
	start, proposals := e.complete(before)
	if len(proposals) == 0 || start < 0 || start > len(before) {
		return
	}
	shared := proposals[0]
	for _, p := range proposals[1:] {
		for !strings.HasPrefix(p, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	shared = strings.ToValidUTF8(shared, "")
	if typed := before[start:]; len(shared) > len(typed) || len(proposals) == 1 {
		e.cut(len([]rune(before[:start])), e.at)
		e.insert(shared)
		return
	}
	e.list(proposals)
}

// list writes the proposals above the text.
func (e *Editor) list(proposals []string) {
	const most = 40
	e.Erase()
	columns, _ := e.size()
	shown := make([]string, 0, most)
	for _, p := range proposals[:min(len(proposals), most)] {
		shown = append(shown, Clean(p))
	}
	if more := len(proposals) - most; more > 0 {
		shown = append(shown, "…")
	}
	for _, line := range wrap([]span{{strings.Join(shown, "  "), dim}}, max(columns-1, 8)) {
		_, _ = io.WriteString(e.w, line+"\r\n")
	}
}
