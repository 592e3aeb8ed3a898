package terminal

import (
	"strings"

	"molar/internal/markdown"
)

// A Notice is a kind of text that is not part of an answer. Each has a frame or a sign of its own, so
// that it can be told from the others without colours.
type Notice int

// The notices.
const (
	Emergency Notice = iota
	Approval
	Warning
	Failure
	Refusal
)

// A look is how a notice is drawn.
type look struct {
	in   style
	sign string // before the label
	// Of a frame: what is before each line of the text, what the frame is drawn with, and its corners.
	bar, line, top, bottom string
}

func (n Notice) look() look {
	switch n {
	case Emergency:
		return look{in: alarm, sign: "!!", bar: "┃", line: "━", top: "┏", bottom: "┗"}
	case Approval:
		return look{in: "1;33", sign: "?", bar: "│", line: "─", top: "┌", bottom: "└"}
	case Warning:
		return look{in: "33", sign: "!"}
	case Failure:
		return look{in: "1;31", sign: "✗"}
	case Refusal:
		return look{in: "1;35", sign: "⊘"}
	}
	return look{sign: "•"}
}

// maxFrame is the maximum width of a frame, in columns.
const maxFrame = 78

// Rows returns a label and foreign text as rows of less than columns columns: an emergency or an
// approval in a frame, the others behind their sign. The text of an emergency is Markdown.
func (n Notice) Rows(label, text string, columns int) []string {
	l, text := n.look(), Clean(text)
	wide := min(max(columns-1, 8), maxFrame)
	if l.line == "" {
		first := l.sign + " " + label + ": "
		rows := wrap([]span{{text: first, style: l.in}, {text: oneLine(text)}}, max(columns-3, 8))
		return prefixed(rows, "", "  ")
	}
	head := Truncate(" "+l.sign+" "+label+" ", wide-2)
	edge := l.in
	if n == Emergency {
		edge = "1;31"
	}
	rows := []string{edge.on(l.top+l.line) + l.in.on(head) + edge.on(strings.Repeat(l.line, max(wide-2-Width(head), 0)))}
	var inner []string
	if n == Emergency {
		inner = render(markdown.New().Parser(), text, wide-2, sheet{}).lines
	} else {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			inner = append(inner, wrap([]span{{text: line}}, wide-2)...)
		}
	}
	for _, row := range inner {
		rows = append(rows, strings.TrimRight(edge.on(l.bar)+" "+row, " "))
	}
	return append(rows, edge.on(l.bottom+strings.Repeat(l.line, wide-1)))
}
