package match

import (
	"slices"
	"strings"
	"unicode"
)

// A Kind says which of two texts contain a piece.
type Kind byte

// The kinds of piece.
const (
	Same Kind = ' '
	Was  Kind = '-'
	Now  Kind = '+'
)

// A Piece is a run of text that both texts contain, or only one of them.
type Piece struct {
	Kind Kind
	Text string
}

// InWas reports whether the old text contains the piece.
func (p Piece) InWas() bool { return p.Kind != Now }

// InNow reports whether the new text contains the piece.
func (p Piece) InNow() bool { return p.Kind != Was }

// Differs reports whether only one text contains the piece.
func (p Piece) Differs() bool { return p.Kind != Same }

// Words compares two texts word by word, including the characters between words.
func Words(was, now string) []Piece {
	return diff(words(was), words(now))
}

// Lines compares two texts line by line; each piece is one line.
func Lines(was, now []string) []Piece {
	var all []Piece
	walk(was, now, func(k Kind, token string) { all = append(all, Piece{k, token}) })
	return all
}

// words splits a text into words and single other characters.
func words(s string) []string {
	var all []string
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
		switch {
		case end < 0:
			end = len(s)
		case end == 0:
			end = 1
			for end < len(s) && s[end]&0xc0 == 0x80 {
				end++
			}
		}
		all, s = append(all, s[:end]), s[end:]
	}
	return all
}

func diff(was, now []string) []Piece {
	var all []Piece
	var same, gone, come strings.Builder // runs of tokens
	end := func(k Kind, run *strings.Builder) {
		if run.Len() > 0 {
			all = append(all, Piece{k, run.String()})
			run.Reset()
		}
	}
	walk(was, now, func(k Kind, token string) {
		switch {
		case k == Same:
			same.WriteString(token)
			return
		case gone.Len()+come.Len() > 0 && letters(same.String()) < 3: // a coincidence between two changes
			gone.WriteString(same.String())
			come.WriteString(same.String())
			same.Reset()
		case same.Len() > 0:
			end(Was, &gone)
			end(Now, &come)
			end(Same, &same)
		}
		if k == Was {
			gone.WriteString(token)
		} else {
			come.WriteString(token)
		}
	})
	end(Was, &gone)
	end(Now, &come)
	end(Same, &same)
	return all
}

func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// maxTable is the maximum number of cells in the table of a comparison. Longer middles count as
// changed as a whole.
const maxTable = 4 << 20

// walk calls f with every token in order, removed ones before added ones.
func walk(was, now []string, f func(Kind, string)) {
	head := 0
	for head < len(was) && head < len(now) && was[head] == now[head] {
		f(Same, was[head])
		head++
	}
	tail := 0
	for tail < len(was)-head && tail < len(now)-head && was[len(was)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	middle(was[head:len(was)-tail], now[head:len(now)-tail], f)
	for _, token := range was[len(was)-tail:] {
		f(Same, token)
	}
}

// middle finds the longest common subsequence, and calls f with every token.
func middle(was, now []string, f func(Kind, string)) {
	rest := func(k Kind, tokens []string) {
		for _, token := range tokens {
			f(k, token)
		}
	}
	if len(was)*len(now) > maxTable || len(was) == 0 || len(now) == 0 {
		rest(Was, was)
		rest(Now, now)
		return
	}
	width := len(now) + 1
	common := make([]int32, (len(was)+1)*width)
	for i, before := range slices.Backward(was) {
		for j, after := range slices.Backward(now) {
			if before == after {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(was) && j < len(now) {
		switch {
		case was[i] == now[j]:
			f(Same, was[i])
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			f(Was, was[i])
			i++
		default:
			f(Now, now[j])
			j++
		}
	}
	rest(Was, was[i:])
	rest(Now, now[j:])
}

// Changes returns the pieces that differ as one text, which is equal for equal changes, wherever
// they occur.
func Changes(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Kind != Same {
			b.WriteByte(byte(p.Kind))
			b.WriteString(p.Text)
			b.WriteByte(0)
		}
	}
	return b.String()
}

// Excerpt cuts both texts to the surroundings of the differences. Shared text is cut in the same
// way on both sides, so that comparing the excerpts shows the same changes.
func Excerpt(pieces []Piece) (was, now string) {
	const around, longest, total = 60, 240, 600
	var a, b strings.Builder
	for i, p := range pieces {
		if a.Len()+b.Len() > 2*total {
			a.WriteString("…")
			b.WriteString("…")
			break
		}
		text := p.Text
		switch {
		case p.Kind != Same:
			text = shorten(text, longest, 0)
		case i == 0:
			text = shorten(text, 0, around)
		case i == len(pieces)-1:
			text = shorten(text, around, 0)
		default:
			text = shorten(text, around, around)
		}
		if p.Kind != Now {
			a.WriteString(text)
		}
		if p.Kind != Was {
			b.WriteString(text)
		}
	}
	return a.String(), b.String()
}

// shorten keeps the given numbers of bytes at the start and the end of a text.
func shorten(s string, head, tail int) string {
	if len(s) <= head+tail+len("…") {
		return s
	}
	return strings.ToValidUTF8(s[:head], "") + "…" + strings.ToValidUTF8(s[len(s)-tail:], "")
}
