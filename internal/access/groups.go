package access

import (
	"slices"

	"molar/internal/config"
	"molar/schemas"
)

// rightsOf returns what the groups with these names allow. Without configured groups everybody is
// admitted without limit; ok is false for a person in none of them.
func rightsOf(groups config.Map[schemas.Group], names []string) (rights *schemas.Rights, ok bool) {
	if len(groups) == 0 {
		return nil, true
	}
	rights = &schemas.Rights{}
	for _, g := range groups {
		if slices.Contains(names, g.Name) {
			rights.Groups = append(rights.Groups, g.Value)
		}
	}
	return rights, len(rights.Groups) > 0
}
