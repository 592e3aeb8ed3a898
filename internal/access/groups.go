package access

import (
	"slices"

	"molar/internal/config"
	"molar/schemas"
)

// RightsOf returns the func that says what the groups of a person allow. Without configured groups
// everybody is admitted without limit; ok is false for a person in none of them.
func RightsOf(groups config.Map[schemas.Group]) func(names []string) (rights *schemas.Rights, ok bool) {
	return func(names []string) (*schemas.Rights, bool) {
		if len(groups) == 0 {
			return nil, true
		}
		rights := &schemas.Rights{}
		for _, g := range groups {
			if slices.Contains(names, g.Name) {
				rights.Groups = append(rights.Groups, g.Value)
			}
		}
		return rights, len(rights.Groups) > 0
	}
}
