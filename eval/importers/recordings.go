package importers

import (
	"cmp"
	"fmt"
	"strings"

	"molar/eval/cassettes"
	"molar/internal/text"
)

// recordings makes cases of recorded traffic. Exchanges with the same source are one recording, and the
// format is the source of its case.
func (r *reader) recordings(format string, f File) {
	all, err := cassettes.Read(format, f.Name, f.Data)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s:1: there is no recorded request in it: is it %s?", f.Name, format)
	}
	if err != nil {
		r.refuse(err)
		return
	}
	groups := make(map[string][]cassettes.Exchange)
	var order []string
	for _, e := range all {
		if format == geminiCLI {
			e.URL = "/models/gemini" + strings.Replace(e.URL, ":generateContentStream", ":streamGenerateContent", 1)
		}
		if _, known := groups[e.Source]; !known {
			order = append(order, e.Source)
		}
		groups[e.Source] = append(groups[e.Source], e)
	}
	for _, source := range order {
		id := text.Clip(baseName(cmp.Or(strings.ReplaceAll(source, "/", "-"), f.Name)), longestID, "")
		made, err := recording(r.unique(id), format, groups[source])
		if err != nil {
			r.refuse(fmt.Errorf("%s:1: %w", f.Name, err))
			continue
		}
		for i, note := range made.Notes {
			made.Notes[i] = f.Name + ": " + note
		}
		r.made = append(r.made, made)
	}
}

// longestQuote is the maximum length of a quotation in an error, in bytes.
const longestQuote = 120
