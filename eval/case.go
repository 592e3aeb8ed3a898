package eval

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"molar/eval/match"
)

// CaseVersion is the newest version of the case format.
const CaseVersion = 1

// A Case is one test that a person writes: the question and the expected behaviour.
type Case struct {
	V int `yaml:"v" json:"v,omitempty"`
	// ID names the case; it is unique in a run.
	ID   string   `yaml:"id" json:"id"`
	Tags []string `yaml:"tags,omitempty" json:"tags,omitempty"`
	// Source is where an imported case comes from.
	Source string `yaml:"source,omitempty" json:"source,omitempty"`

	// Note is a person's remark on the answer that the case is about.
	Note string `yaml:"note,omitempty" json:"note,omitempty"`

	// Config is a config file of Molar, relative to the case's file; empty means the built-in
	// settings. Assistant, Provider and Model override those of the config.
	Config    string `yaml:"config,omitempty" json:"config,omitempty"`
	Assistant string `yaml:"assistant,omitempty" json:"assistant,omitempty"`
	Provider  string `yaml:"provider,omitempty" json:"provider,omitempty"`
	Model     string `yaml:"model,omitempty" json:"model,omitempty"`
	// Judge names who decides the checks that a judge decides. If it is empty, the small model of the
	// assistant's config does.
	Judge JudgeModel `yaml:"judge,omitempty" json:"judge,omitzero"`

	Input *Input `yaml:"input,omitempty" json:"input,omitempty"`
	// Turns are asked in order in one conversation. User and Expect are a short form for a
	// single turn.
	Turns  []Turn  `yaml:"turns,omitempty" json:"turns,omitempty"`
	User   string  `yaml:"user,omitempty" json:"user,omitempty"`
	Expect *Expect `yaml:"expect,omitempty" json:"expect,omitempty"`

	// Tape is the tape's file, relative to the case's file. If empty, it is the id with the
	// extension ".tape.jsonl", in the folder of the case's file.
	Tape string `yaml:"tape,omitempty" json:"tape,omitempty"`
	// Trials is the number of runs; 0 means one.
	Trials int `yaml:"trials,omitempty" json:"trials,omitempty"`
	// Gate sets minimum values of metrics, each checked over all cases that have the same gate.
	Gate map[string]float64 `yaml:"gate,omitempty" json:"gate,omitempty"`

	// SystemPrompt, if set, replaces the assistant's own system text in a replay.
	SystemPrompt string `yaml:"-" json:"-"`
	// Unvaried, if set, is the case before a matrix chose its model. The judge is that of this case, so that
	// no variant judges itself.
	Unvaried *Case `yaml:"-" json:"-"`

	// File and Line are the position of the case.
	File string `yaml:"-" json:"-"`
	Line int    `yaml:"-" json:"-"`
	// Err is why the case is invalid, as an [InvalidError]: it cannot be run.
	Err error `yaml:"-" json:"-"`

	plans []*match.Plan
}

// An Input is the start of the conversation.
type Input struct {
	// System is a system prompt sent by the client.
	System string `yaml:"system,omitempty" json:"system,omitempty"`
	// Messages precede the first turn, which is then stateless.
	Messages []Message `yaml:"messages,omitempty" json:"messages,omitempty"`
}

// A Message is one earlier message.
type Message struct {
	Role    string `yaml:"role" json:"role"`
	Content string `yaml:"content" json:"content"`
}

// A Turn is one user message and its expectations.
type Turn struct {
	User   string `yaml:"user" json:"user"`
	Expect Expect `yaml:"expect,omitempty" json:"expect,omitzero"`
}

// An Expect lists the expected behaviour of a turn. What it does not name is not judged.
type Expect struct {
	Calls *Calls `yaml:"calls,omitempty" json:"calls,omitempty"`
	// NoCall is short for calls: {no_call: true}.
	NoCall bool `yaml:"no_call,omitempty" json:"no_call,omitempty"`
	// Guardrail is "pass" or "refuse".
	Guardrail string  `yaml:"guardrail,omitempty" json:"guardrail,omitempty" jsonschema:"enum=pass,enum=refuse"`
	Answer    *Answer `yaml:"answer,omitempty" json:"answer,omitempty"`
	Limits    *Limits `yaml:"limits,omitempty" json:"limits,omitempty"`
	// Found expects that at least one call succeeds with a result that is not empty.
	Found bool `yaml:"found,omitempty" json:"found,omitempty"`
	// Error is a text that the turn's error must contain; the turn is expected to fail.
	Error string `yaml:"error,omitempty" json:"error,omitempty"`
}

// isEmpty reports whether nothing is expected.
func (e *Expect) isEmpty() bool {
	return e.Calls == nil && !e.NoCall && e.Guardrail == "" && !e.Answer.checks() && e.Limits == nil && !e.Found && e.Error == ""
}

// Calls are the expected tool calls of a turn.
type Calls struct {
	// Order requires the order of the items; else any order that their After allows is right.
	Order bool `yaml:"order,omitempty" json:"order,omitempty"`
	// Others allows other calls beside the items.
	Others bool   `yaml:"others,omitempty" json:"others,omitempty"`
	Items  []Call `yaml:"items,omitempty" json:"items,omitempty"`
	Forbid []Call `yaml:"forbid,omitempty" json:"forbid,omitempty"`
	Max    int    `yaml:"max,omitempty" json:"max,omitempty"`
	NoCall bool   `yaml:"no_call,omitempty" json:"no_call,omitempty"`
}

// A Call is one expected call. Without Args its arguments are not checked.
type Call struct {
	Ref      string         `yaml:"ref,omitempty" json:"ref,omitempty"`
	Name     string         `yaml:"name" json:"name"`
	Server   string         `yaml:"server,omitempty" json:"server,omitempty"`
	Args     map[string]any `yaml:"args,omitempty" json:"args,omitempty"`
	NoArgs   bool           `yaml:"no_args,omitempty" json:"no_args,omitempty"`
	Optional bool           `yaml:"optional,omitempty" json:"optional,omitempty"`
	Min      int            `yaml:"min,omitempty" json:"min,omitempty"`
	Max      int            `yaml:"max,omitempty" json:"max,omitempty"`
	After    []string       `yaml:"after,omitempty" json:"after,omitempty"`
	Result   any            `yaml:"result,omitempty" json:"result,omitempty"`
}

// An Answer lists checks of the text: each field of Check that is set must hold, all of All, and at
// least one of Any.
type Answer struct {
	Check `yaml:",inline"`
	All   []Check `yaml:"all,omitempty" json:"all,omitempty"`
	Any   []Check `yaml:"any,omitempty" json:"any,omitempty"`
}

// A JudgeModel is the model of a judge, and its provider, if that is not the assistant's.
type JudgeModel struct {
	Provider string `yaml:"provider,omitempty" json:"provider,omitempty"`
	Model    string `yaml:"model,omitempty" json:"model,omitempty"`
}

// A Check tests the answer. In a list exactly one field is set, apart from the tolerances Abs and Rel
// of Number.
type Check struct {
	Equals      string `yaml:"equals,omitempty" json:"equals,omitempty"`
	Contains    string `yaml:"contains,omitempty" json:"contains,omitempty"`
	NotContains string `yaml:"not_contains,omitempty" json:"not_contains,omitempty"`
	Regex       string `yaml:"regex,omitempty" json:"regex,omitempty"`
	NotRegex    string `yaml:"not_regex,omitempty" json:"not_regex,omitempty"`
	// Number must occur in the answer, within Abs or Rel.
	Number *float64 `yaml:"number,omitempty" json:"number,omitempty"`
	Abs    float64  `yaml:"abs,omitempty" json:"abs,omitempty"`
	Rel    float64  `yaml:"rel,omitempty" json:"rel,omitempty"`
	// Citation is "any" or an address. The answer must cite it, and every address it cites must
	// occur in a tool result of the conversation.
	Citation string `yaml:"citation,omitempty" json:"citation,omitempty"`

	// Judge is a rule in a person's words, which a judge (a model) says the answer fulfils.
	Judge string `yaml:"judge,omitempty" json:"judge,omitempty"`
	// Grounded requires that each claim of the answer stands in a tool result of the conversation so
	// far, or in what the person said. A judge finds the passages, code looks them up.
	Grounded bool `yaml:"grounded,omitempty" json:"grounded,omitempty"`
	// Like is a text that says the same as the answer, which a judge decides: nothing in it is
	// contradicted, and nothing essential is missing.
	Like string `yaml:"like,omitempty" json:"like,omitempty"`
}

// split returns a check for each field that is set.
func (c Check) split() []Check {
	var all []Check
	add := func(set bool, one Check) {
		if set {
			all = append(all, one)
		}
	}
	add(c.Equals != "", Check{Equals: c.Equals})
	add(c.Contains != "", Check{Contains: c.Contains})
	add(c.NotContains != "", Check{NotContains: c.NotContains})
	add(c.Regex != "", Check{Regex: c.Regex})
	add(c.NotRegex != "", Check{NotRegex: c.NotRegex})
	add(c.Number != nil, Check{Number: c.Number, Abs: c.Abs, Rel: c.Rel})
	add(c.Citation != "", Check{Citation: c.Citation})
	add(c.Judge != "", Check{Judge: c.Judge})
	add(c.Grounded, Check{Grounded: true})
	add(c.Like != "", Check{Like: c.Like})
	return all
}

// Limits bound the cost of a turn. Zero means no bound.
type Limits struct {
	LLMCalls  int `yaml:"llm_calls,omitempty" json:"llm_calls,omitempty"`
	ToolCalls int `yaml:"tool_calls,omitempty" json:"tool_calls,omitempty"`
	Tokens    int `yaml:"tokens,omitempty" json:"tokens,omitempty"`
}

// TapeFile returns the path of the case's tape.
func (c *Case) TapeFile() string {
	name := c.Tape
	if name == "" {
		name = SafeName(c.ID) + ".tape.jsonl"
	}
	return resolvePath(c.File, name)
}

// SafeName turns an id into a file name.
func SafeName(id string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) || r < ' ' {
			return '_'
		}
		return r
	}, id)
}

// ConfigFile returns the path of the case's config, or "".
func (c *Case) ConfigFile() string {
	if c.Config == "" {
		return ""
	}
	return resolvePath(c.File, c.Config)
}

// Valid returns an error unless the case can be run as it is written.
func (c Case) Valid() error { return c.check() }

// check validates a decoded case and compiles its expectations. It returns all errors
// joined.
func (c *Case) check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.V > CaseVersion {
		add("the case has version %d, this program reads up to %d: use a newer molar", c.V, CaseVersion)
	}
	if c.ID == "" {
		add("the case has no id")
	}
	if len(c.Turns) > 0 && (c.User != "" || c.Expect != nil) {
		add("write either turns, or user and expect")
	}
	if len(c.Turns) == 0 {
		turn := Turn{User: c.User}
		if c.Expect != nil {
			turn.Expect = *c.Expect
		}
		c.Turns, c.User, c.Expect = []Turn{turn}, "", nil
	}
	if c.Trials < 0 || c.Trials > maxTrials {
		add("trials: between 0 and %d", maxTrials)
	}
	if c.Judge.Provider != "" && c.Judge.Model == "" {
		add("judge: provider %q needs the model beside it", c.Judge.Provider)
	}
	for name := range c.Gate {
		if _, known := (&Metrics{}).Value(name); !known {
			add("gate: there is no metric %q", name)
		}
	}
	c.plans = nil
	for i := range c.Turns {
		if strings.TrimSpace(c.Turns[i].User) == "" {
			add("turn %d has no user text", i+1)
		}
		plan, err := c.Turns[i].Expect.plan()
		if err != nil {
			add("turn %d: %w", i+1, err)
		}
		c.plans = append(c.plans, plan)
	}
	return errors.Join(faults...)
}

// maxTrials bounds how often a case runs.
const maxTrials = 1000

// plan compiles the expected calls. It returns nil if calls are not judged.
func (e *Expect) plan() (*match.Plan, error) {
	if e.Guardrail != "" && e.Guardrail != "pass" && e.Guardrail != "refuse" {
		return nil, fmt.Errorf("guardrail %q: choose pass or refuse", e.Guardrail)
	}
	if err := e.Answer.check(); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	calls := e.Calls
	if calls == nil {
		if !e.NoCall {
			return nil, nil
		}
		calls = &Calls{}
	}
	p := &match.Plan{Order: calls.Order, Others: calls.Others, Max: calls.Max, NoCall: e.NoCall || calls.NoCall}
	var err error
	if p.NoCall && len(calls.Items) > 0 {
		return nil, errors.New("no_call and items exclude each other")
	}
	if p.Items, err = expected(calls.Items); err != nil {
		return nil, err
	}
	p.Forbid, err = expected(calls.Forbid)
	return p, err
}

func expected(calls []Call) ([]match.Expected, error) {
	refs := make(map[string]bool)
	for _, c := range calls {
		refs[c.Ref] = true
	}
	var all []match.Expected
	for i, c := range calls {
		if c.Name == "" {
			return nil, fmt.Errorf("call %d has no name", i+1)
		}
		e := match.Expected{Ref: c.Ref, Name: c.Name, Server: c.Server, Min: c.Min, Max: c.Max, After: c.After}
		if c.Optional {
			e.Min, e.Max = 0, max(c.Max, 1)
		}
		if e.Max != 0 && e.Max < e.Min || e.Min < 0 || e.Max < 0 {
			return nil, fmt.Errorf("call %d (%s): max is below min", i+1, c.Name)
		}
		for _, ref := range c.After {
			if !refs[ref] {
				return nil, fmt.Errorf("call %d (%s): after %q, which no call has as its ref", i+1, c.Name, ref)
			}
		}
		if c.Args != nil || c.NoArgs {
			e.Args = make(map[string]match.Matcher, len(c.Args))
		}
		for name, v := range c.Args {
			m, err := match.ParseMatcher(v)
			if err != nil {
				return nil, fmt.Errorf("call %d (%s): argument %s: %w", i+1, c.Name, name, err)
			}
			e.Args[name] = m
		}
		if c.Result != nil {
			m, err := match.ParseMatcher(c.Result)
			if err != nil {
				return nil, fmt.Errorf("call %d (%s): result: %w", i+1, c.Name, err)
			}
			e.Result = &m
		}
		all = append(all, e)
	}
	return all, nil
}

// check validates the checks and compiles their patterns, so that errors show when the case is
// loaded.
func (a *Answer) check() error {
	if a == nil {
		return nil
	}
	for i, c := range slices.Concat(a.All, a.Any) {
		switch split := c.split(); {
		case len(split) != 1:
			return fmt.Errorf("check %d: exactly one of equals, contains, not_contains, regex, not_regex, number, citation, judge, grounded, like", i+1)
		case i >= len(a.All) && split[0].kind() != "":
			return fmt.Errorf("any: %s is not allowed there, since a judge could make up for a check that fails; write it beside any, or into all", split[0].kind())
		}
		if _, err := regexp.Compile(c.Regex + c.NotRegex); err != nil {
			return fmt.Errorf("check %d: %w", i+1, err)
		}
	}
	_, err := regexp.Compile(a.Regex)
	return err
}
