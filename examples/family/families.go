package family

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed families.json
var familiesJSON []byte

// A family is one household with its members.
type family struct {
	FamilyID string   `json:"familyId"`
	Name     string   `json:"name"`
	Members  []member `json:"members"`
}

// A member is one person of a family. DOB is a date, year first.
type member struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	DOB  string `json:"dob"`
}

func loadFamilies() ([]family, error) {
	var families []family
	if err := json.Unmarshal(familiesJSON, &families); err != nil {
		return nil, fmt.Errorf("read the families: %w", err)
	}
	return families, nil
}

// search returns the families whose name, or a member's name, contains every word of
// the query. Marks and case are ignored.
func search(families []family, query string) []family {
	words := strings.Fields(fold(query))
	var found []family
	for _, f := range families {
		var names strings.Builder
		names.WriteString(fold(f.Name))
		for _, m := range f.Members {
			names.WriteString("\n" + fold(m.Name))
		}
		if anyLineHolds(names.String(), words) {
			found = append(found, f)
		}
	}
	return found
}

func anyLineHolds(lines string, words []string) bool {
	for line := range strings.SplitSeq(lines, "\n") {
		holds := true
		for _, w := range words {
			holds = holds && strings.Contains(line, w)
		}
		if holds {
			return true
		}
	}
	return false
}

// byID returns the family with an id, which is in lower case.
func byID(families []family, id string) (family, bool) {
	for _, f := range families {
		if f.FamilyID == id {
			return f, true
		}
	}
	return family{}, false
}

// fold lowers a name and removes its marks, so that "nguyen" finds "Nguyễn".
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == 'đ' || r == 'Đ':
			return 'd'
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(name))
}
