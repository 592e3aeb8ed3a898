package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Fit returns a clean text for out: wrapped between words if that is a terminal, else unchanged. White
// space at the end of a line stays.
func Fit(out io.Writer, text string) string {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return text
	}
	columns, _ := Size(f)
	return fit(text, columns)
}

func fit(text string, columns int) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		var b strings.Builder
		at := 0
		for word := range strings.SplitAfterSeq(line, " ") {
			width := Width(strings.TrimRight(word, " \n"))
			if at > len(indent) && width > 0 && at+width >= columns {
				b.WriteString("\n" + indent)
				at = len(indent)
			}
			b.WriteString(word)
			at += Width(strings.TrimRight(word, "\n"))
		}
		lines[i] = b.String()
	}
	return strings.Join(lines, "")
}
