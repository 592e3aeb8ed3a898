package match

import (
	"errors"
	"strings"

	"molar/schemas"
)

// An Expected is an expected call.
type Expected struct {
	// Ref is the name by which After and the matcher "from" refer to the call.
	Ref string
	// Name is the offered name of the tool or the tool's own name. Server, if set, must match
	// too.
	Name, Server string
	// Args are the expected arguments; nil means any.
	Args map[string]Matcher
	// Min and Max bound the number of such calls: exactly one if both are zero.
	Min, Max int
	// After lists the refs of calls that must come before.
	After []string
	// Result, if set, must match the result of the call.
	Result *Matcher
}

// A Call is a call that was made.
type Call struct {
	// Name is the name that the model used, Tool the tool's own name on Server. The last two are
	// empty if no such tool was offered.
	Name, Tool, Server string
	// Arguments is the JSON text that the model wrote.
	Arguments string
	// Result is the result of the call, decoded by [Decode]; Done is false if there is none.
	Result any
	Done   bool
}

// arguments decodes the arguments; empty text means no arguments.
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
	return object, schemas.CheckJSON([]byte(m.Arguments)) // rejects duplicate keys, which parsers resolve differently
}

// matches reports whether the call is of the expected tool.
func (e *Expected) matches(m *Call) bool {
	if e.Server != "" && e.Server != m.Server {
		return false
	}
	return e.Name == m.Name || m.Tool != "" && e.Name == m.Tool
}

// A comparison compares one made call with one expected call.
type comparison struct {
	sameTool bool
	faults   []Fault
	slots    int // arguments that either side has
	hits     int // of those, the equal ones
	wanted   int // arguments on the expected side
	given    int // arguments on the made side
}

func (c comparison) full() bool { return c.sameTool && len(c.faults) == 0 }

// score returns a value between 0 and 1; it is 0 for a call of another tool.
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

// count counts the arguments on either side, and those without a fault.
func (c *comparison) count(want map[string]Matcher, got map[string]any) {
	if want == nil {
		return
	}
	faulty := make(map[string]bool)
	for _, f := range c.faults {
		key, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		faulty[key] = true
	}
	c.given, c.slots = len(got), len(got)
	for key, m := range want {
		_, given := got[key]
		switch {
		case !given && m.optional:
			continue
		case !given:
			c.slots++
		case !faulty[escape(key)]:
			c.hits++
		}
		c.wanted++
	}
}
