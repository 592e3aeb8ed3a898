package testkit

import "strings"

// A Screen interprets the few escape sequences that the program writes. It keeps the lines that
// have scrolled away. The zero Screen is empty.
type Screen struct {
	// Styled keeps the styles too.
	Styled bool

	lines []string
	y     int
}

// Lines returns the lines from the first one to the last.
func (s *Screen) Lines() []string { return s.lines }

// Write implements [io.Writer].
func (s *Screen) Write(p []byte) (int, error) {
	if s.lines == nil {
		s.lines = []string{""}
	}
	text := string(p)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\r\n"):
			s.y++
			if s.y == len(s.lines) {
				s.lines = append(s.lines, "")
			}
			text = text[2:]
		case strings.HasPrefix(text, "\r\x1b[J"):
			s.lines = s.lines[:s.y+1]
			s.lines[s.y] = ""
			text = text[4:]
		case strings.HasPrefix(text, "\r\x1b[K"):
			s.lines[s.y] = ""
			text = text[4:]
		case strings.HasPrefix(text, "\x1b]"): // a link
			_, text, _ = strings.Cut(text, "\x1b\\")
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "mA")
			if text[end] == 'A' {
				n := 0
				for _, c := range text[2:end] {
					n = n*10 + int(c-'0')
				}
				s.y -= n
			} else if s.Styled {
				s.lines[s.y] += text[:end+1]
			}
			text = text[end+1:]
		default:
			end := strings.IndexAny(text, "\r\x1b")
			if end < 0 {
				end = len(text)
			}
			s.lines[s.y] += text[:end]
			text = text[end:]
		}
	}
	return len(p), nil
}
