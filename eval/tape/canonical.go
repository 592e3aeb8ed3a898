package tape

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molar/eval/match"
)

// A Canon converts requests of all wires to one form in which they are compared. It removes what
// changes with every run: fence marks and call ids. Of an id it keeps which call a result
// belongs to.
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

// A part is a piece of the model's input, with the class of drift that a change of it is.
type part struct {
	class, at, text string
	// call is the number of the call that a result belongs to, from 1; noCall; or 0 if the wire
	// names none.
	call int
}

// noCall marks a result whose id belongs to no earlier call.
const noCall = -1

// callName describes which call the result belongs to.
func (p part) callName() string {
	if p.call == noCall {
		return "the result of no call"
	}
	return fmt.Sprintf("the result of call %d", p.call)
}

// openCalls are the ids of the calls of a request; "" for a call that has its result.
type openCalls []string

// take finds the first call with the id that has no result yet, since some services number their
// calls anew in each answer.
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
	strict bool // a result that names no call differs from one that does
}

// Key returns a text that is equal for equal requests.
func (r *Request) Key() string {
	var parts []string
	for _, p := range r.parts {
		parts = append(parts, p.class, p.at, p.text)
	}
	return fmt.Sprintf("%q %q %q", parts, r.tools, r.config)
}

// Read converts the body of a request of any wire that Molar uses.
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
		case KindCall:
			calls = append(calls, p.ID)
		case KindResult:
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
		delete(options, "num_ctx") // the window depends on what the server has loaded
	}
	r.config = c.mask(match.Canonical(in.Rest))
	return r
}

// add adds a part. Fenced text counts as a result wherever it occurs.
func (c *Canon) add(r *Request, p Part) {
	add := func(class, text string) { r.parts = append(r.parts, part{class: class, at: p.At, text: c.mask(text)}) }
	switch p.Kind {
	case KindCall:
		add(CallName, p.Name)
		add(CallArgs, match.CanonicalJSON([]byte(p.Text)))
	case KindResult:
		add(Result, strings.TrimSpace(p.Name+" "+p.Text))
	case KindSystem:
		add(System, p.Text)
	case KindSignature:
		add(Signature, p.Text)
	case KindRole:
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

// mask replaces the random fence marks: those of data, and those of the guardrail's question.
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

// canonicalParams returns the key by which an MCP request is found: its params without what changes from
// run to run.
func canonicalParams(params json.RawMessage) string {
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
