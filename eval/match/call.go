package match

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"molar/schemas"
)

// An Expected is a call that should be made.
type Expected struct {
	// Ref names the call for After and from.
	Ref string
	// Name is the offered name of the tool or its own; Server, when set, must fit too.
	Name, Server string
	// Args are the arguments; nil means that they are not looked at.
	Args map[string]Matcher
	// Min and Max are how often the call is made: once when both are zero.
	Min, Max int
	// After lists the refs of calls that must come before.
	After []string
	// Result, when set, must fit what the call gave.
	Result *Matcher
}

// A Made is a call that was made.
type Call struct {
	// Name is the name that the model used, Tool the tool's own name on Server; the
	// last two are empty when no such tool was offered.
	Name, Tool, Server string
	// Arguments is JSON text, as the model wrote it.
	Arguments string
	// Result is what the call gave, as [Decode] gives it; Done is false without one.
	Result any
	Done   bool
}

// arguments decodes the text; a call without any has none.
func (m *Call) arguments() (map[string]any, error) {
	if strings.TrimSpace(m.Arguments) == "" {
		return map[string]any{}, nil
	}
	v, err := Decode([]byte(m.Arguments))
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are no object")
	}
	return object, schemas.CheckJSON([]byte(m.Arguments)) // of two equal keys anybody may take either
}

// named reports whether the call is of the expected tool.
func (e *Expected) matches(m *Call) bool {
	if e.Server != "" && e.Server != m.Server {
		return false
	}
	return e.Name == m.Name || m.Tool != "" && e.Name == m.Tool
}

// A comparison is what one made call is worth as one expected call.
type comparison struct {
	sameTool bool
	faults   []Fault
	slots    int // arguments compared on either side
	hits     int // of them, those that agree
	wanted   int // arguments on the expected side
	given    int // arguments on the made side
}

func (c comparison) full() bool { return c.sameTool && len(c.faults) == 0 }

// score lies between 0 and 1; only a call of the right tool has more than 0.
func (c comparison) score() float64 {
	switch {
	case !c.sameTool:
		return 0
	case c.full():
		return 1
	case c.slots == 0:
		return 0.5
	}
	return 0.1 + 0.8*float64(c.hits)/float64(c.slots)
}

// compare looks at one pair.
func compare(e *Expected, m *Call, s earlier) comparison {
	c := comparison{sameTool: e.matches(m)}
	if !c.sameTool {
		return c
	}
	args, err := m.arguments()
	if err != nil && e.Args != nil {
		c.faults = []Fault{{Want: "a JSON object", Got: m.Arguments + " (" + err.Error() + ")"}}
		return c
	}
	if e.Args != nil {
		c.faults = checkMembers(s, "", e.Args, args, true)
	}
	c.count(e.Args, args)
	if e.Result != nil {
		if !m.Done {
			c.faults = append(c.faults, Fault{Pointer: "result", Want: e.Result.String(), Got: absent})
		} else {
			c.faults = append(c.faults, e.Result.check(s, "result", m.Result)...)
		}
	}
	return c
}

// count finds how many arguments agree: those on either side without a fault.
func (c *comparison) count(want map[string]Matcher, got map[string]any) {
	if want == nil {
		return
	}
	keys := make(map[string]bool, len(want)+len(got))
	for key := range got {
		keys[key] = true
	}
	for key, m := range want {
		if !m.mayBeAbsent() {
			keys[key] = true
		}
	}
	c.slots, c.given = len(keys), len(got)
	if slices.ContainsFunc(c.faults, func(f Fault) bool { return f.Pointer == "" }) {
		c.wanted = len(want)
		return // nothing tells which arguments agree
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		_, expected := want[key]
		_, given := got[key]
		at := "/" + escape(key)
		if !slices.ContainsFunc(c.faults, func(f Fault) bool { return f.Pointer == at || strings.HasPrefix(f.Pointer, at+"/") }) {
			c.hits++
			if !given { // a default stands in for it
				c.given++
			}
			expected = true
		}
		if expected {
			c.wanted++
		}
	}
}
