package _test

import (
	"encoding/base64"
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// What was attached to a question is shown with it in later turns too, at the same place, also after
// a restart: the prompt repeats the one before.
func TestWire_earlierFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it sends a picture of a megabyte with each question, one after the other")
	}
	picture := noise(t)
	encoded := base64.StdEncoding.EncodeToString(picture)
	onEachWire(t, func(t *testing.T, w wire) {
		c := newTalk(t, w, newDesk(1, found), agent.Limits{})
		ask := func(question string, parts ...schemas.Part) string {
			t.Helper()
			asked := turn(question)
			asked.Messages[0].Parts = append(asked.Messages[0].Parts, parts...)
			c.model.setReplies(says("I see."))
			for _, err := range c.agent.Run(t.Context(), asked) {
				must(t, err)
			}
			sent := c.model.sent()
			return c.model.rendered(t, sent[len(sent)-1])
		}
		first := ask("What do they show?", schemas.FilePart("xray.png", "image/png", picture),
			schemas.Part{Kind: schemas.PartContext, Name: "note.txt", Text: "Seven cherries."})
		before := first
		for _, question := range []string{"How many cherries?", "And which tooth?"} {
			now := ask(question)
			if strings.Count(now, encoded) != 1 || !strings.Contains(now, "Seven cherries.") {
				t.Errorf("%s: the picture is shown %d times", question, strings.Count(now, encoded))
			}
			if prefix(before, now) < len(before)-1 {
				t.Errorf("%s: the prompt repeats %d of %d bytes", question, prefix(before, now), len(before))
			}
			before = now
			c.restart(t)
		}
	})
}
