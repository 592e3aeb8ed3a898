package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molar/eval/match"
)

// A Canon gives requests of all wires one form in which they are compared. What
// changes with every run is taken out by a fixed list: fence marks and ids of calls. Of an
// id stays which call a result belongs to.
type Canon struct {
	fence *regexp.Regexp
	mark  *regexp.Regexp
	judge *regexp.Regexp
}

// NewCanon returns a canon.
func NewCanon() *Canon {
	return &Canon{
		fence: regexp.MustCompile(`(?s)<data(?:-[0-9a-f]{16})? source="(?:[^"\\]|\\.)*">\n.*?\n</data(?:-[0-9a-f]{16})?>`),
		mark:  regexp.MustCompile(`data-[0-9a-f]{16}`),
		judge: regexp.MustCompile(`<<[A-Z2-7]{12}\b|\b[A-Z2-7]{12}>>`),
	}
}

// A part is a piece of what the model reads, with the class of drift that a change of it is.
type part struct {
	class, at, text string
	// call is the call that a result belongs to, counted from 1, noCall, or 0 where the
	// wire names none.
	call int
}

// noCall is the call of a result whose id no call before it has.
const noCall = -1

// callName names the call of a result.
func (p part) callName() string {
	if p.call == noCall {
		return "the result of no call"
	}
	return fmt.Sprintf("the result of call %d", p.call)
}

// open are the ids of the calls of a request, "" once one has its result.
type openCalls []string

// answer finds the first call with an id that has no result yet: services that number their
// calls begin anew with each answer.
func (o openCalls) take(id string) int {
	if id == "" {
		return 0
	}
	i := slices.Index(o, id)
	if i < 0 {
		return noCall
	}
	o[i] = ""
	return i + 1
}

// A tool is one offered function.
type tool struct{ name, description, schema string }

// A Request is a model request in canonical form.
type Request struct {
	parts  []part // in order; the system text first
	tools  []tool
	config string
}

// Key is equal for requests that ask the same.
func (r *Request) Key() string {
	var parts []string
	for _, p := range r.parts {
		parts = append(parts, p.class, p.at, p.text)
	}
	return fmt.Sprintf("%q %q %q", parts, r.tools, r.config)
}

// sha is the first twelve digits of the SHA-256 of a text.
func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// Read reads the body of any wire that Molar speaks.
func (c *Canon) Read(body []byte) *Request {
	in, err := ReadRequest(body)
	if err != nil {
		return &Request{parts: []part{{class: Messages, at: "body", text: string(body)}}}
	}
	r := &Request{}
	var calls openCalls
	for _, p := range in.Parts {
		first := len(r.parts)
		c.add(r, p)
		switch p.Kind {
		case kindCall:
			calls = append(calls, p.ID)
		case kindResult:
			r.parts[first].call = calls.take(p.ID)
		}
	}
	for _, f := range in.Functions {
		name, _ := f["name"].(string)
		description, _ := f["description"].(string)
		delete(f, "name")
		delete(f, "description")
		r.tools = append(r.tools, tool{name: name, description: c.mask(description), schema: match.Canonical(f)})
	}
	slices.SortStableFunc(r.tools, func(a, b tool) int { return strings.Compare(a.name, b.name) })
	delete(in.Rest, "user")
	delete(in.Rest, "session_id")
	if options, ok := in.Rest["options"].(map[string]any); ok {
		delete(options, "num_ctx") // the window follows what the server has loaded at the moment
	}
	r.config = c.mask(match.Canonical(in.Rest))
	return r
}

// add takes a part in. What stands in fences is a result wherever it is found.
func (c *Canon) add(r *Request, p Part) {
	add := func(class, text string) { r.parts = append(r.parts, part{class: class, at: p.At, text: c.mask(text)}) }
	switch p.Kind {
	case kindCall:
		add(CallName, p.Name)
		add(CallArgs, match.CanonicalJSON([]byte(p.Text)))
	case kindResult:
		add(Result, strings.TrimSpace(p.Name+" "+p.Text))
	case KindSystem:
		add(System, p.Text)
	case kindSignature:
		add(signature, p.Text)
	case kindRole:
		add(Messages, "role "+p.Text)
	default:
		last := 0
		for _, m := range c.fence.FindAllStringIndex(p.Text, -1) {
			if m[0] > last {
				add(Messages, p.Text[last:m[0]])
			}
			add(Result, p.Text[m[0]:m[1]])
			last = m[1]
		}
		if last < len(p.Text) {
			add(Messages, p.Text[last:])
		}
	}
}

// mask takes the fence marks out: those of data, and those of the guardrail's question.
func (c *Canon) mask(text string) string {
	if strings.Contains(text, "data-") {
		text = c.mark.ReplaceAllString(text, "data-MARK")
	}
	if !strings.Contains(text, "<<") && !strings.Contains(text, ">>") {
		return text
	}
	return c.judge.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "<<") {
			return "<<MARK"
		}
		return "MARK>>"
	})
}

// Params is what an MCP request is found by: its params without what changes
// from run to run.
func Params(params json.RawMessage) string {
	v, err := match.Decode(params)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return string(params)
	}
	for _, key := range []string{"_meta", "clientInfo", "capabilities", "protocolVersion"} {
		delete(object, key)
	}
	if args, there := object["arguments"]; there && args == nil {
		object["arguments"] = map[string]any{}
	}
	return match.Canonical(object)
}
