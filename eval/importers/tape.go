package importers

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"molar/eval"
	"molar/eval/tape"
)

// Tape makes a case of each conversation on a tape that a running host recorded, with
// what happened as its expectations.
func Tape(name string, r io.Reader) ([]Imported, error) {
	base := strings.TrimSuffix(baseName(name), ".tape")
	id := func(conversation string) string {
		return base + "-" + eval.SafeName(strings.TrimPrefix(conversation, "chat_"))
	}
	parts, err := tape.Split(name, r, id)
	if err != nil {
		return nil, err
	}
	var all []Imported
	for _, p := range parts {
		story, err := tape.Tell(name, bytes.NewReader(p.Tape))
		if err != nil {
			return nil, err
		}
		c := eval.Case{V: eval.CaseVersion, ID: id(p.Conversation), Assistant: p.Assistant}
		if why := c.Unfit(story.Turns); len(why) > 0 {
			all = append(all, Imported{Notes: []string{c.ID + " was left out: " + strings.Join(why, "; ")}})
			continue
		}
		for i, t := range story.Turns {
			if slices.Contains(p.Remembered, i+1) {
				t.Sum.ModelCalls++
			}
			c.Turns = append(c.Turns, eval.Turn{User: t.User, Expect: eval.Observed(t)})
		}
		all = append(all, Imported{Case: c, Tape: p.Tape})
	}
	return all, nil
}
