package terminal

import (
	"fmt"
	"slices"
	"strings"
)

// maxMenu is the maximum number of proposals that a menu shows at once.
const maxMenu = 8

// A Proposal is a text that may replace a word of an [Editor]'s text.
type Proposal struct {
	// Text replaces the word. It ends with a space if another word follows it.
	Text string
	// Note describes the proposal.
	Note string
	// Whole reports whether Enter, when it takes the proposal, submits the text as well: a command
	// that needs nothing more.
	Whole bool
}

// Proposals are the proposals for the end of a text.
type Proposals struct {
	// Start is the byte offset of the word that a proposal replaces.
	Start int
	All   []Proposal
	// Free reports whether the word is often something else than a proposal. Enter then takes a
	// proposal only after an arrow key has chosen it.
	Free bool
	// Pending reports whether there may be more when the editor gets [KeyNone].
	Pending bool
}

// A Completer returns the proposals for the word at the end of a text; before is the text before the
// cursor. The editor chooses those that match the word. It is called at each key press, so it must not
// wait.
type Completer func(before string) Proposals

// A menu shows the proposals for a word below the text.
type menu struct {
	from     int // the word's first character in the text
	fits     []Proposal
	selected int  // in fits; -1 for none
	chosen   bool // by an arrow key
	top      int  // the first proposal that is shown
	pending  bool
}

// MenuOpen reports whether a menu is shown, which the next Escape closes.
func (e *Editor) MenuOpen() bool { return e.menu != nil && len(e.menu.fits) > 0 }

// menuKey applies a key to the open menu. It returns false if the key means the same as without one.
func (e *Editor) menuKey(k Key) (event Event, used bool) {
	m := e.menu
	if k.Code == KeyTab && m == nil {
		e.openMenu()
		if m = e.menu; m != nil && len(m.fits) != 1 {
			e.tabbed = m.pending && len(m.fits) == 0
			m.selected = min(0, len(m.fits)-1)
			return Edited, true
		}
	}
	if m == nil {
		return Edited, k.Code == KeyTab
	}
	if len(m.fits) == 0 {
		e.tabbed = e.tabbed || k.Code == KeyTab && m.pending
		return Edited, k.Code == KeyTab
	}
	switch k.Code {
	case KeyDown, KeyUp, KeyBackTab:
		by := 1
		if k.Code != KeyDown {
			by = -1
		}
		m.choose(by)
		return Edited, true
	case KeyEscape, KeyCancel:
		e.menu, e.refused = nil, m.from
		return Edited, true
	case KeyTab:
		e.take(m.fits[max(m.selected, 0)])
		return Edited, true
	case KeyEnter:
		if m.selected < 0 {
			return Edited, false
		}
		p := m.fits[m.selected]
		if strings.TrimRight(p.Text, " ") == string(e.text[m.from:e.at]) {
			return Edited, false // it is complete
		}
		if e.take(p); p.Whole {
			e.menu = nil
			return Submitted, true
		}
		return Edited, true
	}
	return Edited, false
}

// choose moves the selection down (+1) or up (-1), and from one end to the other.
func (m *menu) choose(by int) {
	if m.selected < 0 && by < 0 {
		m.selected = 0
	}
	m.selected = (m.selected + by + len(m.fits)) % len(m.fits)
	m.chosen = true
}

// take replaces the word with a proposal, and shows what may follow.
func (e *Editor) take(p Proposal) {
	e.keep(false)
	e.cut(e.menu.from, e.at)
	text := Clean(p.Text)
	if e.at < len(e.text) && e.text[e.at] == ' ' {
		text = strings.TrimRight(text, " ")
	}
	e.insert(text)
	e.menu = nil
	if !p.Whole {
		e.openMenu()
	}
}

// updateMenu opens, changes or closes the menu after a key.
func (e *Editor) updateMenu(k Key) {
	switch k.Code {
	case KeyRune, KeyBackspace, KeyKillWord, KeyUndo:
		e.tabbed = false
		e.openMenu()
	case KeyNone:
		if e.menu == nil {
			break
		}
		was := e.menu
		if e.openMenu(); !e.MenuOpen() {
			break
		}
		if e.tabbed {
			e.tabbed = false
			e.take(e.menu.fits[0])
		} else if was.chosen { // what came later does not move the selection
			is := func(p Proposal) bool { return p.Text == was.fits[was.selected].Text }
			if at := slices.IndexFunc(e.menu.fits, is); at >= 0 {
				e.menu.selected, e.menu.chosen, e.menu.top = at, true, was.top
			}
		}
	default:
		e.menu, e.tabbed = nil, false
	}
	if len(e.text) == 0 {
		e.refused = -1
	}
}

// openMenu shows the proposals for the word before the cursor.
func (e *Editor) openMenu() {
	e.menu = nil
	if e.complete == nil || e.at == 0 {
		e.refused = -1
		return
	}
	before := string(e.text[:e.at])
	all := e.complete(before)
	if all.Start < 0 || all.Start > len(before) || len(all.All) == 0 && !all.Pending {
		e.refused = -1
		return
	}
	word := before[all.Start:]
	m := &menu{from: len([]rune(before[:all.Start])), fits: matching(word, all.All), pending: all.Pending}
	if e.refused == m.from {
		return
	}
	e.refused = -1
	if all.Free {
		m.selected = -1
	}
	if len(m.fits) == 1 && m.fits[0].Text == word && m.fits[0].Note == "" {
		m.fits = nil // nothing is left to propose
	}
	m.selected = min(m.selected, len(m.fits)-1)
	e.menu = m
}

// matching returns the proposals that match a word, ignoring case: those that are it, that begin with
// it, that contain it, and that have its characters in this order.
func matching(word string, all []Proposal) []Proposal {
	word = strings.ToLower(word)
	var ranks [4][]Proposal
	for _, p := range all {
		text := strings.ToLower(p.Text)
		switch {
		case strings.TrimRight(text, " ") == word:
			ranks[0] = append(ranks[0], p)
		case strings.HasPrefix(text, word):
			ranks[1] = append(ranks[1], p)
		case strings.Contains(text, strings.TrimLeft(word, "/@")):
			ranks[2] = append(ranks[2], p)
		case scattered(word, text):
			ranks[3] = append(ranks[3], p)
		}
	}
	return slices.Concat(ranks[:]...)
}

// scattered reports whether a text has the characters of a word in their order.
func scattered(word, text string) bool {
	for _, r := range word {
		_, after, found := strings.Cut(text, string(r))
		if !found {
			return false
		}
		text = after
	}
	return true
}

// rows returns the menu as rows of less than columns columns, at most most.
func (m *menu) rows(columns, most int) []string {
	if m == nil || most < 1 || len(m.fits) == 0 {
		return nil
	}
	shown := min(len(m.fits), maxMenu, most)
	if shown < len(m.fits) && shown > 1 {
		shown-- // the last row counts the others
	}
	m.top = min(m.top, len(m.fits)-shown)
	if m.selected >= 0 {
		m.top = max(min(m.top, m.selected), m.selected-shown+1)
	}
	part := m.fits[m.top : m.top+shown]
	wide := 0
	for _, p := range part {
		wide = max(wide, Width(oneLine(p.Text)))
	}
	const mark, gap = 2, 2
	room := max(columns-1-mark, 1)
	wide = min(wide, max(room*2/5, min(room, 24)))
	var rows []string
	for i, p := range part {
		name := Truncate(oneLine(p.Text), wide)
		if p.Note == "" {
			name = Truncate(oneLine(p.Text), room)
		}
		pad := strings.Repeat(" ", max(wide-Width(name), 0)+gap)
		note := Truncate(oneLine(p.Note), room-wide-gap)
		if note == "" {
			pad = ""
		}
		if m.top+i == m.selected {
			rows = append(rows, chosen.on("› "+name+pad+note))
			continue
		}
		rows = append(rows, "  "+name+pad+dim.on(note))
	}
	if left := len(m.fits) - shown; left > 0 && most > 1 {
		rows = append(rows, dim.on(Truncate(fmt.Sprintf("  … %d more", left), room+mark)))
	}
	return rows
}

// oneLine returns foreign text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }
