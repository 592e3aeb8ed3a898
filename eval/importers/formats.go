package importers

import (
	"cmp"
	"fmt"
	"strings"

	"molar/eval/cassettes"
)

// readExchanges returns a reader of a format of recorded traffic. Exchanges with the same source are
// one recording, and the format is the source of its case.
func readExchanges(format string) func(name string, data []byte) ([]Imported, error) {
	return func(name string, data []byte) ([]Imported, error) {
		all, err := cassettes.Read(format, name, data)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s:1: there is no recorded request in it: is it %s?", name, format)
		}
		groups := make(map[string][]cassettes.Exchange)
		var order []string
		for _, e := range all {
			if _, known := groups[e.Source]; !known {
				order = append(order, e.Source)
			}
			groups[e.Source] = append(groups[e.Source], e)
		}
		var made []Imported
		for _, source := range order {
			id := cmp.Or(strings.ReplaceAll(source, "/", "-"), name)
			imported, err := recording(baseName(id), format, groups[source])
			switch {
			case err != nil && source == "":
				return nil, fmt.Errorf("%s: %w", name, err)
			case err != nil:
				imported = Imported{Notes: []string{err.Error()}}
			}
			made = append(made, imported)
		}
		return made, nil
	}
}

// longestQuote is the maximum length of a quotation in an error, in bytes.
const longestQuote = 120
