package wire_test

import (
	"context"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/chain"
)

// pageFaults returns the faults of the page, each as the service shows it.
func pageFaults() map[string]answering {
	return map[string]answering{
		"the connection is refused or closed":             hangUp,
		"no output in time":                               mute,
		"the key is refused (401, 403)":                   status(401, "who?"),
		"the credit is used up (402)":                     status(402, "Insufficient Balance"),
		"a rate limit (429)":                              status(429, "slow down"),
		"a rate limit for more than 30 s":                 status(429, "slow down", "Retry-After", "60"),
		"busy, overloaded or broken (500 to 529)":         status(503, "overloaded"),
		"not implemented (501)":                           status(501, "no"),
		"the request is wrong (400, 422)":                 status(400, "bad thing"),
		"the prompt is too long":                          status(400, overflow),
		"no such model":                                   status(404, "model 'm' not found"),
		"no such API at the address":                      status(404, "404 page not found"),
		"a redirect":                                      status(307, "", "Location", "http://elsewhere.example/"),
		"a web page instead of an answer":                 page(200, "<!doctype html><html></html>", "Content-Type", "text/html"),
		"an answer that cannot be read":                   stream(raw("data: {]\n\n"), end),
		"an empty answer that claims to be complete":      stream(end),
		"the stream breaks off before the first output":   abort(),
		"the stream breaks off after some text":           abort(say("a")),
		"an error in the stream, before the first output": stream(broken(500, "boom")),
		"an error in the stream, after some text":         stream(say("a"), broken(500, "boom")),
		"the answer reaches its limit of tokens":          stream(say("ab"), cut),
		"busy once, then well":                            sequence(status(503, "overloaded"), stream(say("ab"), end)),
		"an empty answer once, then well":                 sequence(stream(end), stream(say("ab"), end)),
	}
}

// The page of faults says for each what the host does next. Its table is what a chain of two providers
// does, on every wire.
func TestFaultsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(string(text), -1) {
		told[row[1]] = row[2]
	}
	delete(told, "fault")
	done := map[string]string{}
	for name, does := range pageFaults() {
		var all []string
		for _, w := range wires() {
			synctest.Test(t, func(t *testing.T) { all = append(all, w.name+": "+next(t, w, does)) })
		}
		done[name] = common(all)
	}
	if diff := cmp.Diff(told, done); diff != "" {
		t.Errorf("docs/faults.md, and what happens:\n%s", diff)
	}
}

// common returns what all wires have in common, and which differ.
func common(all []string) string {
	count := map[string]int{}
	most := ""
	for _, one := range all {
		_, what, _ := strings.Cut(one, ": ")
		if count[what]++; count[what] > count[most] {
			most = what
		}
	}
	text := most
	for _, one := range all {
		if _, what, _ := strings.Cut(one, ": "); what != most {
			text += "; " + one
		}
	}
	return text
}

// next returns what a chain of two does if the service of its first provider has a fault.
func next(t *testing.T, w adapter, does answering) string {
	n, p := w.serve(t, does)
	other := &second{}
	c, err := chain.New(chain.Config{Order: []string{w.name, other.Name()}, Candidates: map[string]chain.Candidate{w.name: {Provider: p, Model: "m"}, other.Name(): {Provider: other, Model: "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	route, err := c.Pick(t.Context(), chain.Want{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got, _, err := read(t, route.Provider, question())
	var steps []string
	if asked := n.asked.Load(); asked > 1 {
		how := " after pauses"
		switch {
		case time.Since(start) == 0:
			how = " at once"
		case asked == 2:
			how = " after a pause"
		}
		steps = append(steps, "asks again "+map[int32]string{2: "once", 3: "twice", 4: "three times"}[asked]+how)
	}
	switch {
	case other.asked:
		steps = append(steps, "next provider")
	case err != nil && got.Text != "":
		steps = append(steps, "the turn is interrupted, `"+string(providers.KindOf(err))+"`")
	case err != nil:
		steps = append(steps, "the turn fails, `"+string(providers.KindOf(err))+"`")
	default:
		steps = append(steps, "the answer ends with `"+got.Finish+"`")
	}
	return strings.Join(steps, ", then ")
}

// second is the next provider, which answers.
type second struct{ asked bool }

func (*second) Name() string { return "second" }

func (s *second) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		s.asked = true
		yield(providers.Chunk{Text: "from the second", Finish: providers.FinishStop}, nil)
	}
}
