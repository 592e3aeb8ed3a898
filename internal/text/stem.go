package text

import "strings"

// Stem removes the most common English endings of a folded word. It must not be used for
// Vietnamese, whose syllables would lose their meaning.
func Stem(w string) string {
	for _, ending := range []string{"ies", "ing", "ed", "es", "s", "e", "y"} {
		base, ok := strings.CutSuffix(w, ending)
		if !ok || len(base) < 3 || strings.HasSuffix(w, "eed") || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") {
			continue
		}
		if n := len(base); (ending == "ing" || ending == "ed") && base[n-1] == base[n-2] && !strings.ContainsRune("lsz", rune(base[n-1])) {
			base = base[:n-1] // slipping, chipped
		}
		return strings.TrimSuffix(base, "e")
	}
	return w
}
