package markdown

import "strings"

// Split splits source after its last closed block: after an empty line that is outside of a code
// fence and of a formula, and before a line that is not indented, and therefore not part of a list item. Text that is
// appended to the source never changes the meaning of closed.
func Split(source string) (closed, open string) {
	fence, indent, blank, cut := "", 0, false, 0
	for at := 0; at < len(source); {
		line, _, ended := strings.Cut(source[at:], "\n")
		trimmed := strings.Trim(line, " \t\r")
		switch {
		case fence != "":
			if closesFence(line, trimmed, fence, indent) {
				fence = ""
			}
		case trimmed == "":
			blank = blank || ended
		default:
			if blank && line[0] != ' ' && line[0] != '\t' && !continues(source[cut:at], trimmed, ended) {
				cut = at
			}
			blank = false
			text := withoutMarks(line)
			fence, indent = opensFence(strings.TrimRight(text, " \t\r")), len(line)-len(text)
			if mark, loose := blockMark(strings.TrimRight(text, " \t\r")); loose {
				n := mark.reach(source[at+indent:])
				if n == 0 {
					return source[:cut], source[cut:]
				}
				if n += indent; n > len(line) { // go on in its last line
					at += n
					line, _, ended = strings.Cut(source[at:], "\n")
				}
			}
		}
		at += len(line)
		if ended {
			at++
		}
	}
	return source[:cut], source[cut:]
}

// continues reports whether a line continues the list before it. The list must then be rendered as
// a whole, for its numbers and its spacing.
func continues(before, line string, ended bool) bool {
	if !isItem(strings.Trim(before, " \t\r\n")) {
		return false
	}
	return isItem(line) || !ended && couldBeItem(line)
}

// isItem reports whether the text starts with the mark of a list item.
func isItem(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	if rest != text {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "* ") || strings.HasPrefix(text, "+ ")
}

// couldBeItem reports whether the text could become the start of an item when more text arrives.
func couldBeItem(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	switch rest {
	case "", "-", "*", "+", ".", ")":
		return true
	}
	return false
}

// withoutMarks returns a line without the marks of the list items that begin on it.
func withoutMarks(line string) string {
	for {
		line = strings.TrimLeft(line, " \t")
		if !isItem(line) {
			return line
		}
		line = line[strings.IndexByte(line, ' '):]
	}
}

// closesFence reports whether a line closes the fence that was opened with an indent. A fence that
// is indented by over three columns more is code.
func closesFence(line, trimmed, fence string, indent int) bool {
	before := len(line) - len(strings.TrimLeft(line, " \t"))
	return before <= indent+3 && strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == ""
}

// opensFence returns the fence that a line opens, or "".
func opensFence(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}
