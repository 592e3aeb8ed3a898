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

// An Editor is a text input at the bottom of a terminal: one or more lines, with a cursor, a history
// and a menu of completions. Paint shows it; Write writes text above it. It is not safe for concurrent
// use.
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

	undo    []edit // the newest last
	typing  bool   // the newest edit continues
	killed  Draft  // what Ctrl-Y puts back
	menu    *menu  // nil unless there are proposals for the word before the cursor
	refused int    // where the word begins whose menu was closed with Escape; -1 for none
	tabbed  bool   // Tab was pressed before the proposals came

	screen
}

// An edit is the state that an undo returns to.
type edit struct {
	text   []rune
	at     int
	pasted []string
}

// maxUndo is the maximum number of edits that can be undone.
const maxUndo = 50

// NewEditor returns an empty editor. history and complete may be nil.
func NewEditor(w io.Writer, size func() (columns, rows int), history *History, complete Completer) *Editor {
	return &Editor{w: w, size: size, history: history, complete: complete, refused: -1}
}

// SetPrompt sets the text before the first line, without control sequences.
func (e *Editor) SetPrompt(prompt string) { e.prompt = prompt }

// SetText sets the editor's text, with the cursor at its end.
func (e *Editor) SetText(text string) {
	e.text, e.given = []rune(text), text
	e.at, e.back, e.search = len(e.text), 0, nil
	e.menu, e.refused, e.undo, e.typing = nil, -1, nil, false
}

// Text returns the editor's text.
func (e *Editor) Text() string { return string(e.text) }

// Take empties the editor and returns its text.
func (e *Editor) Take() string {
	text := e.unfolded(e.Text())
	e.folded, e.pasted = nil, nil
	e.SetText("")
	return text
}

// unfolded returns a text with its pastes in the place of their marks.
func (e *Editor) unfolded(text string) string {
	for mark, paste := range e.folded {
		text = strings.Replace(text, mark, paste, 1)
	}
	return text
}

// A Draft is an [Editor]'s text that was put aside.
type Draft struct {
	text, given string
	at          int
	folded      map[string]string
	pasted      []string
}

// String returns the text as the editor shows it.
func (d Draft) String() string { return d.text }

// PutAside empties the editor and returns what was in it.
func (e *Editor) PutAside() Draft {
	d := Draft{e.Text(), e.given, e.at, e.folded, e.pasted}
	e.folded, e.pasted = nil, nil
	e.SetText("")
	return d
}

// Restore puts a draft back into the editor.
func (e *Editor) Restore(d Draft) {
	e.SetText(d.text)
	e.at, e.given, e.folded, e.pasted = d.at, d.given, d.folded, d.pasted
}

// Pasted returns what was put into the editor at once since it was empty, by pasting or out of the
// history, whether it still stands in the text or not.
func (e *Editor) Pasted() []string {
	if e.given == "" {
		return slices.Clone(e.pasted)
	}
	return append(slices.Clone(e.pasted), e.given)
}

// Key applies a key.
func (e *Editor) Key(k Key) Event {
	if e.searched(k) {
		e.menu = nil
		return Edited
	}
	if event, used := e.menuKey(k); used {
		return event
	}
	event := e.key(k)
	e.updateMenu(k)
	return event
}

func (e *Editor) key(k Key) Event {
	switch k.Code {
	case KeyEnter:
		if e.at == len(e.text) && e.at > 0 && e.text[e.at-1] == '\\' {
			e.keep(false)
			e.text[e.at-1] = '\n'
			return Edited
		}
		return Submitted
	case KeyInterrupt:
		e.SetText("")
		e.pasted, e.folded = nil, nil
		return Interrupted
	case KeyEOF:
		if len(e.text) == 0 {
			return Ended
		}
		e.edit(Key{Code: KeyDelete})
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
	for mark, text := range e.folded {
		if text == paste && !strings.Contains(e.Text(), mark) {
			return mark // it was recalled before
		}
	}
	mark := fmt.Sprintf("[paste %d: %d lines]", len(e.folded)+1, lines)
	e.folded[mark] = paste
	return mark
}

// edit applies keys that change the text or move the cursor.
func (e *Editor) edit(k Key) {
	switch k.Code {
	case KeyRune:
		e.keep(k.Text != " ")
		e.insert(k.Text)
	case KeyPaste:
		e.keep(false)
		e.pasted = append(e.pasted, k.Text)
		e.insert(e.fold(k.Text))
	case KeyNewline:
		e.keep(false)
		e.insert("\n")
	case KeyYank:
		e.keep(false)
		for _, paste := range e.killed.pasted {
			if !slices.Contains(e.Pasted(), paste) {
				e.pasted = append(e.pasted, paste)
			}
		}
		e.insert(e.fold(e.killed.text))
	case KeyUndo:
		if last := len(e.undo) - 1; last >= 0 {
			was := e.undo[last]
			e.text, e.at, e.pasted, e.undo, e.typing = was.text, was.at, was.pasted, e.undo[:last], false
		}
	case KeyBackspace:
		e.keep(false)
		e.cut(e.glyphLeft(), e.at)
	case KeyDelete:
		e.keep(false)
		e.cut(e.at, e.glyphRight())
	case KeyKillLeft:
		if start := e.lineStart(); start < e.at {
			e.kill(start, e.at)
		} else { // the line is empty already: what is above it
			e.kill(0, e.at)
		}
	case KeyKillRight:
		e.kill(e.at, e.lineEnd())
	case KeyKillWord:
		e.kill(e.wordLeft(), e.at)
	case KeyKillNext:
		e.kill(e.at, e.wordRight())
	default:
		e.move(k.Code)
	}
}

// move applies keys that move the cursor in its line.
func (e *Editor) move(code KeyCode) {
	e.typing = false
	switch code {
	case KeyLeft:
		e.at = e.glyphLeft()
	case KeyRight:
		e.at = e.glyphRight()
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

// keep remembers the text for an undo. Letters that are typed one after the other are one edit.
func (e *Editor) keep(typing bool) {
	if !typing || !e.typing {
		if len(e.undo) == maxUndo {
			e.undo = slices.Delete(e.undo, 0, 1)
		}
		e.undo = append(e.undo, edit{slices.Clone(e.text), e.at, slices.Clone(e.pasted)})
	}
	e.typing = typing
}

// kill cuts a part of the text, which Ctrl-Y puts back.
func (e *Editor) kill(from, to int) {
	if from < to {
		e.keep(false)
		e.killed = Draft{text: e.unfolded(string(e.text[from:to])), pasted: e.Pasted()}
		e.cut(from, to)
	}
}

// glyphLeft and glyphRight return the ends of what the cursor passes in one step: a character with the
// marks and joiners that belong to it, or the mark of a paste.
func (e *Editor) glyphLeft() int {
	for mark := range e.folded {
		if from := e.at - len([]rune(mark)); from >= 0 && string(e.text[from:e.at]) == mark {
			return from
		}
	}
	at := max(e.at-1, 0)
	for at > 0 && joins(e.text[at-1], e.text[at]) {
		at--
	}
	return at
}

func (e *Editor) glyphRight() int {
	for mark := range e.folded {
		if to := e.at + len([]rune(mark)); to <= len(e.text) && string(e.text[e.at:to]) == mark {
			return to
		}
	}
	at := min(e.at+1, len(e.text))
	for at < len(e.text) && at > 0 && joins(e.text[at-1], e.text[at]) {
		at++
	}
	return at
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

// wordLeft and wordRight return the ends of the next word: letters and digits, or signs, after spaces.
func (e *Editor) wordLeft() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for end := at; at > 0 && charClass(e.text[at-1]) == charClass(e.text[end-1]); {
		at--
	}
	return at
}

func (e *Editor) wordRight() int {
	at := e.at
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for start := at; at < len(e.text) && charClass(e.text[at]) == charClass(e.text[start]); {
		at++
	}
	return at
}

// charClass returns what a character is to the movement by words: part of a word, a space or a sign.
func charClass(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r), r == '_':
		return 1
	}
	return 2
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
	e.put(to, e.draft)
}

// put puts the n-th newest text of the history into the editor, or the draft for 0. A long one is
// folded.
func (e *Editor) put(n int, draft string) {
	if n == 0 { // the person's own text again
		e.SetText(draft)
		e.given = ""
		return
	}
	text := e.history.Last(n)
	e.SetText("")
	e.SetText(e.fold(text))
	e.back, e.given = n, text
}
