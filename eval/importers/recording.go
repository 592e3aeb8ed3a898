package importers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"molar/eval/match"
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

// wireOf says which model wire an address speaks, and the model that it names.
func wireOf(address string) (provider, model string) {
	u, err := url.Parse(address)
	path := address
	if err == nil {
		path = u.Path
	}
	if m := regexp.MustCompile(`models/([^/:]+):(?:stream)?[gG]enerateContent$`).FindStringSubmatch(path); m != nil {
		return "gemini", m[1]
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return "openai", ""
	case strings.HasSuffix(path, "/api/chat"):
		return "ollama", ""
	}
	return "", ""
}

// recording makes a case of the pairs of one recording. Requests of one conversation
// follow one another; a request whose last message is the user's begins a turn.
func recording(id, source string, pairs []pair) (Imported, error) {
	c := &convo{id: id, source: source, tags: []string{"imported", source}}
	for i, p := range pairs {
		provider, model := wireOf(p.url)
		switch {
		case provider == "":
			c.notes = append(c.notes, fmt.Sprintf("interaction %d: %s is no model call and was left out", i+1, clip(p.url)))
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
		return Imported{}, fmt.Errorf("recording %q holds no call of a model that Molar speaks to", id)
	}
	return c.build()
}

// add takes one exchange into the conversation.
func (c *convo) add(p pair, model string) error {
	h, err := readHistory(c.provider, []byte(p.request))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if c.model == "" {
		if c.model = model; c.model == "" {
			c.model = h.model
		}
	}
	if c.system == "" {
		c.system = h.system
	}
	if len(c.tools) == 0 {
		c.tools = h.tools
	}
	continues := len(c.turns) > 0 && h.endsInResults && c.lastCalls() > 0
	if continues {
		c.takeResults(h.results)
	} else {
		user := h.user
		if user == "" {
			return fmt.Errorf("the request has no text of a user")
		}
		c.turns = append(c.turns, convoTurn{user: user})
	}
	step, err := readAnswer(c.provider, p.response)
	if err != nil {
		return fmt.Errorf("response: %w", err)
	}
	step.method = p.method
	if u, err := url.Parse(p.url); err == nil {
		step.path = u.Path
	}
	step.request = json.RawMessage(match.CanonicalJSON([]byte(p.request)))
	if !json.Valid(step.request) {
		step.request = nil
	}
	t := &c.turns[len(c.turns)-1]
	t.steps = append(t.steps, step)
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
func (c *convo) takeResults(results []historyResult) {
	t := &c.turns[len(c.turns)-1]
	calls := t.steps[len(t.steps)-1].calls
	used := make([]bool, len(results))
	for i := range calls {
		best := -1
		for j, r := range results {
			if used[j] {
				continue
			}
			if r.id != "" && r.id == calls[i].id {
				best = j
				break
			}
			if best < 0 && (r.name == calls[i].name || r.name == "" || r.name == calls[i].id) {
				best = j
			}
		}
		if best >= 0 {
			used[best] = true
			calls[i].output = results[best].output
		}
	}
}

func clip(s string) string {
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}
