package text

import (
	"strings"
	"unicode/utf8"
)

// leastStem is the length of the shortest name that matches longer names by their beginning.
const leastStem = 3

// Nearest returns the known name that is nearest to name, or "" if none is near: a name that
// differs in a few letters, else one that begins with name.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, distance := "", max(2, len(name)/3)+1
	for _, k := range known {
		if longer := utf8.RuneCountInString(name) - utf8.RuneCountInString(k); max(longer, -longer) >= distance {
			continue // a name from a request may be very long
		}
		if d := editDistance(name, strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	for _, k := range known {
		if best == "" && len(name) >= leastStem && strings.HasPrefix(strings.ToLower(k), name) {
			best = k
		}
	}
	return best
}

// editDistance counts the single-letter changes from a to b; a swap of two letters counts once.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range t {
		rows[0][j+1] = j + 1
	}
	for i := range s {
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(s)][len(t)]
}
