package round

import (
	"slices"

	"molar/schemas"
)

// WithoutMedia returns the rounds without the files of their results, which last as long as
// their turn: a conversation is text.
func WithoutMedia(rounds []schemas.Round) []schemas.Round {
	kept := slices.Clone(rounds)
	for i, r := range kept {
		kept[i].Results = slices.Clone(r.Results)
		for j := range kept[i].Results {
			kept[i].Results[j].Media = nil
		}
	}
	return kept
}
