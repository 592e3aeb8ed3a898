package offer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"molar/internal/text"
)

// heading is how many bytes of a piece are reserved for the line that names its range.
const heading = 100

// piece returns the bytes of a text from a place on, with their range; limit bounds both together,
// and 0 means no limit.
func piece(whole string, from, limit int) string {
	to := len(whole)
	if limit > 0 {
		to = text.Border(whole, min(from+max(limit-heading, utf8.UTFMax), len(whole)))
	}
	return fmt.Sprintf("[bytes %d to %d of %d]\n%s", from, to, len(whole), strings.ToValidUTF8(whole[from:to], ""))
}

const (
	// contextLines and contextBytes bound what is shown on each side of a found place.
	contextLines, contextBytes = 2, 300
	// maxPlaces is how many places are counted.
	maxPlaces = 1000
)

// places returns the places of some words in a text from a byte on, whatever their case, with the
// lines around each; limit bounds all together, and 0 means no limit.
func places(whole, words string, from, limit int) string {
	fields := strings.Fields(words)
	for i, field := range fields {
		fields[i] = regexp.QuoteMeta(field)
	}
	pattern, err := regexp.Compile(`(?i)` + strings.Join(fields, `\s+`))
	if err != nil || len(fields) == 0 {
		return "there is nothing to search for; give words that stand in the text"
	}
	from = text.Border(whole, from)
	found := pattern.FindAllStringIndex(whole[from:], maxPlaces+1)
	count := fmt.Sprint(len(found))
	if len(found) > maxPlaces {
		count = fmt.Sprintf("more than %d", maxPlaces)
	}
	var b strings.Builder
	end := 0 // of the last shown piece
	for _, at := range found {
		first, last := around(whole, from+at[0], from+at[1])
		if from+at[1] <= end { // it was shown with the place before
			continue
		}
		first = max(first, end)
		shown := fmt.Sprintf("\n[from byte %d]\n%s", first, strings.ToValidUTF8(whole[first:last], ""))
		if limit > 0 && b.Len()+len(shown) > max(limit-heading, 2*contextBytes) && b.Len() > 0 {
			fmt.Fprintf(&b, "\n[the next place is at byte %d]", from+at[0])
			break
		}
		b.WriteString(shown)
		end = last
	}
	return fmt.Sprintf("[%s places from byte %d on, of %d bytes]%s", count, from, len(whole), b.String())
}

// around returns the range of a found place with the lines around it.
func around(whole string, from, to int) (first, last int) {
	least, most := text.Border(whole, max(from-contextBytes, 0)), text.Border(whole, min(to+contextBytes, len(whole)))
	first, last = from, to
	for range contextLines + 1 {
		if first > least {
			first = max(strings.LastIndexByte(whole[:first-1], '\n')+1, least)
		}
		if last < most {
			if next := strings.IndexByte(whole[last:most], '\n'); next >= 0 {
				last += next + 1
			} else {
				last = most
			}
		}
	}
	return first, last
}
