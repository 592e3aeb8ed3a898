package importers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"molar/eval/delta"
	"molar/eval/match"
	"molar/eval/wire"
)

// A pair is one recorded request with its response.
type pair struct {
	method, url string
	request     string
	status      int
	response    string
}

// baseName is a file's name without its extension.
func baseName(file string) string {
	name := filepath.Base(file)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// recording makes a case of the pairs of one recording. Requests of one conversation
// follow one another; a request whose last message is the user's begins a turn.
func recording(id, source string, pairs []pair) (Imported, error) {
	c := &convo{id: id, source: source, tags: []string{"imported", source}}
	for i, p := range pairs {
		provider, model := wire.Of(p.url)
		switch {
		case provider == "":
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: %s is no model call and was left out", i+1, delta.Cut(p.url, longestQuote)))
			continue
		case p.status >= 300:
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: it was refused with %d and was left out", i+1, p.status))
			continue
		case c.provider != "" && c.provider != provider:
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: it is of %s, in a recording of %s, and was left out", i+1, provider, c.provider))
			continue
		}
		c.provider = provider
		if err := c.add(p, model); err != nil {
			return Imported{}, fmt.Errorf("interaction %d: %w", i+1, err)
		}
	}
	if len(c.turns) == 0 {
		return Imported{}, fmt.Errorf("recording %q holds no call of a model that Molar speaks to: %s", id, strings.Join(c.notes, "; "))
	}
	return c.build()
}

// add takes one exchange into the conversation.
func (c *convo) add(p pair, model string) error {
	h, err := wire.ReadRequest(c.provider, []byte(p.request))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if c.model == "" {
		if c.model = model; c.model == "" {
			c.model = h.Model
		}
	}
	if c.system == "" {
		c.system = h.System
	}
	if len(c.tools) == 0 {
		c.tools = h.Tools
	}
	continues := len(c.turns) > 0 && h.EndsInResults && c.lastCalls() > 0
	if continues {
		c.takeResults(h.Results)
	} else {
		user := h.User
		if user == "" {
			return fmt.Errorf("the request has no text of a user")
		}
		c.turns = append(c.turns, convoTurn{user: user})
	}
	answer, stream, err := wire.ReadAnswer(c.provider, p.response)
	if err != nil {
		return fmt.Errorf("response: %w", err)
	}
	if u, err := url.Parse(p.url); err == nil {
		stream.Path = u.Path
	}
	said := step(answer, stream)
	said.method, said.request = p.method, json.RawMessage(match.CanonicalJSON([]byte(p.request)))
	if !json.Valid(said.request) {
		said.request = nil
	}
	t := &c.turns[len(c.turns)-1]
	t.steps = append(t.steps, said)
	return nil
}

// lastCalls is how many calls the last answer made.
func (c *convo) lastCalls() int {
	t := c.turns[len(c.turns)-1]
	if len(t.steps) == 0 {
		return 0
	}
	return len(t.steps[len(t.steps)-1].calls)
}

// takeResults gives the calls of the last answer their results, by id, else by name,
// else in order.
func (c *convo) takeResults(results []wire.Result) {
	t := &c.turns[len(c.turns)-1]
	calls := t.steps[len(t.steps)-1].calls
	used := make([]bool, len(results))
	for i := range calls {
		best := -1
		for j, r := range results {
			if used[j] {
				continue
			}
			if r.ID != "" && r.ID == calls[i].ID {
				best = j
				break
			}
			if best < 0 && (r.Name == calls[i].Name || r.Name == "" || r.Name == calls[i].ID) {
				best = j
			}
		}
		if best >= 0 {
			used[best] = true
			calls[i].output = results[best].Output
		}
	}
}
