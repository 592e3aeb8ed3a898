package wire

import (
	"strings"
	"sync"

	"molar/providers"
)

// blanks may surround the marks of a block of thoughts.
const blanks = " \t\r\n"

// A block is a pair of marks around thoughts in a model's text.
type block struct{ open, shut string }

func blocks() []block {
	return []block{
		{"<think>", "</think>"},
		{"<thinking>", "</thinking>"},
		{"<reasoning>", "</reasoning>"},
	}
}

// UnopenedThoughts remembers which models begin with their thoughts and mark only their end,
// because the prompt template contains the opening mark. The zero value is ready; it is safe for
// concurrent use.
type UnopenedThoughts struct{ models sync.Map }

// Reader returns the reader of an answer to the request.
func (u *UnopenedThoughts) Reader(req providers.Request) *Thoughts {
	_, known := u.models.Load(req.Model)
	return &Thoughts{memory: u, model: req.Model, unopened: known, unread: req.Pass.IsSmall()}
}

// A Piece is the parsed output of a piece of text.
type Piece struct {
	Text, Thinking string
	// Retract is set if the text so far was thinking.
	Retract bool
}

// place is a reader's position in an answer.
type place int

const (
	atStart   place = iota // before a block, or the answer
	inBlock                // in a block with a known end mark
	inOpening              // in thoughts without an opening mark
	inAnswer               // in an answer that may still turn out to be thoughts
	inHarmony              // in harmony messages
	inRest                 // after all blocks
)

// Thoughts splits the text of one answer into thinking and answer as it arrives. A block counts
// only at the beginning of the text; an end mark without an opening one counts only before a line
// end, since an answer may discuss such marks.
type Thoughts struct {
	memory   *UnopenedThoughts
	model    string
	unopened bool // the model omits the opening mark
	unread   bool // the text may wait for the end of the answer

	at      place
	shut    string // the mark that ends the block
	harmony harmony
	held    string          // a possible start of a mark
	opening strings.Builder // thoughts without an opening mark: the answer, if none ends them
	waiting strings.Builder // text of an answer that is not streamed to a reader
}

// Take reads the next piece of the text.
func (t *Thoughts) Take(piece string) Piece {
	rest := t.held + piece
	t.held = ""
	var p Piece
	for rest != "" {
		switch t.at {
		case atStart:
			rest = t.start(rest)
		case inBlock:
			rest = t.think(rest, &p, t.shut)
		case inOpening:
			rest = t.think(rest, &p, shuts()...)
		case inAnswer:
			rest = t.answer(rest, &p)
		case inHarmony:
			t.held, rest = t.harmony.take(rest, &p), ""
		case inRest:
			p.Text, rest = p.Text+rest, ""
		}
	}
	return t.await(p)
}

// End ends the text. cut is set if more was to come: the model reached a limit, or made a call.
func (t *Thoughts) End(cut bool) Piece {
	p := Piece{}
	switch rest := t.held; {
	case t.at == inBlock, t.at == inOpening && cut:
		p.Thinking = rest
	case t.at == inHarmony:
		if t.harmony.add(rest, &p); !cut { // servers often drop the last mark
			t.harmony.end(&p)
		}
	case t.at == inOpening:
		// The model did not think this time.
		t.memory.models.Delete(t.model)
		p.Text = t.opening.String() + rest
	case t.at == inAnswer && isShut(strings.TrimRight(rest, blanks)):
		p = t.retract(Piece{})
	case strings.Trim(rest, blanks) != "":
		p.Text = rest
	}
	t.held, t.at, t.unread = "", inRest, false
	p = t.await(p)
	p.Text = t.waiting.String() + p.Text
	t.waiting.Reset()
	return p
}

// await holds the text of an answer that is not streamed, so that none of it must be retracted.
func (t *Thoughts) await(p Piece) Piece {
	if p.Retract && t.waiting.Len() > 0 {
		p.Thinking, p.Retract = t.waiting.String()+p.Thinking, false
		t.waiting.Reset()
	}
	if t.unread {
		t.waiting.WriteString(p.Text)
		p.Text = ""
	}
	return p
}

// start looks for a block at an allowed place, and returns the unread rest.
func (t *Thoughts) start(rest string) string {
	text := strings.TrimLeft(rest, blanks)
	switch begins, may := beginsHarmony(text); {
	case begins:
		t.at = inHarmony
		return text
	case may:
		t.held = rest
		return ""
	}
	for _, b := range blocks() {
		if after, ok := strings.CutPrefix(text, b.open); ok {
			t.at, t.shut = inBlock, b.shut
			return after
		}
		if strings.HasPrefix(b.open, text) {
			t.held = rest
			return ""
		}
	}
	switch {
	case t.shut != "":
		t.at = inRest
		return text
	case t.unopened:
		t.at = inOpening
	default:
		t.at = inAnswer
	}
	return rest
}

// think reads thoughts up to one of the marks.
func (t *Thoughts) think(rest string, p *Piece, marks ...string) string {
	before, mark, after := cut(rest, marks...)
	p.Thinking += before
	if t.at == inOpening {
		t.opening.WriteString(before)
	}
	if mark == "" {
		t.held = after
		return ""
	}
	t.at, t.shut = atStart, mark
	return after
}

// answer reads text until a mark shows that it was thinking.
func (t *Thoughts) answer(rest string, p *Piece) string {
	before, mark, after := cut(rest, shuts()...)
	p.Text += before
	if mark == "" {
		t.held = after
		return ""
	}
	switch next := strings.TrimLeft(after, " \t\r"); {
	case next == "":
		t.held = mark + after
		return ""
	case next[0] == '\n':
		*p = t.retract(*p)
		t.at, t.shut = atStart, mark
	default:
		p.Text += mark
	}
	return after
}

// retract turns the text so far into thinking.
func (t *Thoughts) retract(p Piece) Piece {
	t.memory.models.Store(t.model, true)
	return Piece{Thinking: p.Thinking + p.Text, Retract: true}
}

// cut splits text around the first of the marks. Without one, after is a suffix that may be the
// start of a mark.
func cut(text string, marks ...string) (before, mark, after string) {
	first := len(text)
	for _, m := range marks {
		if i := strings.Index(text, m); i >= 0 && i < first {
			first, mark = i, m
		}
	}
	if mark != "" {
		return text[:first], mark, text[first+len(mark):]
	}
	for i := strings.IndexByte(text, '<'); i >= 0; {
		for _, m := range marks {
			if strings.HasPrefix(m, text[i:]) {
				return text[:i], "", text[i:]
			}
		}
		next := strings.IndexByte(text[i+1:], '<')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return text, "", ""
}

func shuts() []string {
	all := blocks()
	marks := make([]string, 0, len(all))
	for _, b := range all {
		marks = append(marks, b.shut)
	}
	return marks
}

func isShut(text string) bool {
	for _, b := range blocks() {
		if text == b.shut {
			return true
		}
	}
	return false
}
