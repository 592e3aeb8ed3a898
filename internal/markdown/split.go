package markdown

import "strings"

// Split cuts source behind its last closed block: behind an empty line that is
// outside of a code fence and before a line that is not indented, and so belongs to
// no list item. More text never changes what closed means.
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
		}
		at += len(line)
		if ended {
			at++
		}
	}
	return source[:cut], source[cut:]
}

// continues reports whether a line belongs to the list that stands before it: then the
// list is set as a whole, with its numbers and its spacing.
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

// couldBeItem reports whether more text could make it the start of an item.
func couldBeItem(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	switch rest {
	case "", "-", "*", "+", ".", ")":
		return true
	}
	return false
}

// withoutMarks is what stands behind the marks of the list items that begin on a line.
func withoutMarks(line string) string {
	for {
		line = strings.TrimLeft(line, " \t")
		if !isItem(line) {
			return line
		}
		line = line[strings.IndexByte(line, ' '):]
	}
}

// closesFence reports whether a line ends the fence that was opened behind indent bytes.
// One that stands more than three columns further in is code.
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
