package offer

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
)

// Tools is the catalogue of the attached servers.
type Tools interface {
	// Tools returns the tools of the servers that are ready, and of those that were and are
	// tried again, sorted by server and name. A call to one of the latter waits for one
	// attempt to reach its server.
	Tools() []schemas.Tool
	Status() []schemas.ServerStatus
	// Resource reads a resource of a server: its text, and the images and the like in it.
	Resource(ctx context.Context, server, uri string) (string, []schemas.Part, error)
	// Instructions returns what servers said of how their tools are used, by name, at most
	// 1 KiB each. The texts are the servers', and not to be trusted.
	Instructions() map[string]string
	// WaitStarting blocks until none of the named servers is in its first start, or ctx
	// ends. It waits for no server that was lost.
	WaitStarting(ctx context.Context, servers []string) error
}

// A Ranker reads tools and returns what orders them by how well they fit a question, best
// first, each with a score above zero. What it returns is safe for concurrent use.
type Ranker func(tools []schemas.ToolInfo) func(question string) []Ranked

// Ranked is a tool with its score.
type Ranked struct {
	Name  string
	Score float64
}

// Config has what tools are chosen with.
type Config struct {
	Tools Tools
	// Rank chooses among more tools than fit.
	Rank Ranker
	// Most is how many tools a model is offered, find_tools and those of the client among
	// them.
	Most int
	// AttachWait is how long a turn waits for servers that are still starting.
	AttachWait time.Duration
	Log        *slog.Logger
}

// A Chooser chooses tools. It is safe for concurrent use.
type Chooser struct {
	cfg Config

	mu   sync.Mutex
	last ranker
}

// New returns a chooser.
func New(cfg Config) *Chooser { return &Chooser{cfg: cfg} }

// An Offer is the tools that a model may call in a turn, in the order of the prompt.
type Offer struct {
	Tools   []schemas.ToolInfo
	Handler *toolhandler.Turn
	// Finder is nil where every tool is offered.
	Finder *Finder
	// Results are those of the conversation; nil where no tool is offered.
	Results *Kept
	// Most bounds Tools: services refuse a request with more. 0 means any number.
	Most int
	// Unfit are the tools that were found in the last round and are not offered.
	Unfit []Unfit
}

// Allow says how many bytes the tools may take with those that are found in the next round.
func (o *Offer) Allow(bytes int) {
	if o.Finder == nil {
		return
	}
	left := space{bytes: bytes - Size(o.Tools), tools: math.MaxInt}
	if o.Most > 0 {
		left.tools = o.Most - len(o.Tools)
	}
	o.Finder.allow(left)
}

// Grow takes the results of a round in and adds the tools that were found in it, and those
// that read on in its results. It returns what was added. A tool that was found and has no room
// can be called all the same: its line was read.
func (o *Offer) Grow(round []schemas.ToolResult) []schemas.ToolInfo {
	var added []schemas.ToolInfo
	if o.Finder != nil {
		added, o.Unfit = o.Finder.take()
	}
	if o.Results != nil {
		o.Results.Add(round...)
		for _, tool := range o.Results.Wanted() {
			if !Has(o.Tools, tool.Name) {
				added = append(added, tool)
			}
		}
	}
	if o.Most > 0 {
		added = added[:min(len(added), max(0, o.Most-len(o.Tools)))]
	}
	o.Tools = slices.Concat(o.Tools, added)
	return added
}

// Size is about how many bytes the tools take in a prompt.
func Size(tools []schemas.ToolInfo) int {
	n := 0
	for _, t := range tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	return n
}

// Want says for whom tools are chosen.
type Want struct {
	// Globs are those of the assistant.
	Globs Globs
	// Asked are the questions of the conversation, oldest first, and last the new one.
	Asked []Asked
	// Client are the tools that the client brought. They count, and hide tools of their
	// names.
	Client []schemas.ToolInfo
	// Narrow returns a tool as it may be called, and false for one that may not; nil leaves
	// all as they are.
	Narrow func(schemas.Tool) (schemas.Tool, bool)
	// Bytes is the room for tools in the prompt, and Window what the model's window has for
	// them, where those that were called take more; 0 means any.
	Bytes, Window int
}

// Asked is a question and what was called for it.
type Asked struct {
	Question string
	Calls    []schemas.ToolCall
}

// Choice is what a model may call.
type Choice struct {
	// Offered stand in the prompt, in this order.
	Offered []schemas.Tool
	// Rest are reached through the finder, which is nil when there are none.
	Rest   []schemas.Tool
	Finder *Finder
}

// Await gives those of the servers that are in their first start a moment.
func (c *Chooser) Await(ctx context.Context, servers ...string) {
	if len(servers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.AttachWait)
	defer cancel()
	if err := c.cfg.Tools.WaitStarting(ctx, servers); err != nil {
		c.cfg.Log.Debug("servers are still starting", "servers", servers)
	}
}

// AwaitNamed gives one server that is in its first start a moment.
func (c *Chooser) AwaitNamed(ctx context.Context, server string) {
	c.Await(ctx, c.Starting(func(name string) bool { return name == server })...)
}

// Starting names the servers in their first start, of those that need lets pass.
func (c *Chooser) Starting(need func(server string) bool) []string {
	var starting []string
	for _, s := range c.cfg.Tools.Status() {
		if need(s.Name) && s.State == schemas.StateStarting && s.Protocol == "" { // it was never ready
			starting = append(starting, s.Name)
		}
	}
	return starting
}

// Choose returns the tools that the model may call.
func (c *Chooser) Choose(ctx context.Context, out *answer.Speaker, want Want) (Choice, error) {
	if len(want.Globs) == 0 {
		return Choice{}, nil
	}
	if err := c.waitForServers(ctx, out, want.Globs); err != nil {
		return Choice{}, err
	}
	var tools []schemas.Tool
	for _, tool := range c.cfg.Tools.Tools() {
		reason := ""
		switch {
		case Has(want.Client, tool.Name):
			reason = "the client brought a tool of the same name"
		case !want.Globs.MayCall(tool.ToolInfo):
			reason = "the assistant's tools do not include it"
		case tool.Withheld != "":
			reason = tool.Withheld
		case tool.Rules.Policy == schemas.PolicyDeny:
			reason = "its policy is deny"
		case want.Narrow != nil:
			narrowed, may := want.Narrow(tool)
			if tool = narrowed; !may {
				reason = "the client did not choose it"
			}
		}
		if reason != "" {
			out.Trace.Withheld(tool.Name, reason)
			continue
		}
		tools = append(tools, tool)
	}
	choice := c.fit(want, tools)
	for _, tool := range choice.Rest {
		out.Trace.Withheld(tool.Name, fmt.Sprintf("the room for tools is taken by %d that fit the conversation better; %s finds it", len(choice.Offered), FindTools))
	}
	return choice, nil
}

// waitForServers gives servers in their first start a moment, and says which are missing.
// One that was lost is waited for only when it is called: its tools are known.
func (c *Chooser) waitForServers(ctx context.Context, out *answer.Speaker, globs Globs) error {
	if starting := c.Starting(globs.MayNeed); len(starting) > 0 {
		if err := out.Step("6.2", "waiting for servers that are starting: "+strings.Join(starting, ", ")); err != nil {
			return err
		}
		c.Await(ctx, starting...)
	}
	return c.missing(out, globs)
}

// missing warns of servers whose tools are not known.
func (c *Chooser) missing(out *answer.Speaker, globs Globs) error {
	known := make(map[string]bool)
	for _, tool := range c.cfg.Tools.Tools() {
		known[tool.Server] = true
	}
	for _, s := range c.cfg.Tools.Status() {
		if known[s.Name] && s.State != schemas.StateFailed || !globs.MayNeed(s.Name) || s.State == schemas.StateReady || s.State == schemas.StateDegraded || s.State == schemas.StateDisabled {
			continue
		}
		reason := fmt.Sprintf("server %q is %s", s.Name, s.State)
		if s.Reason != "" {
			reason += ": " + s.Reason
		}
		out.Trace.Withheld(s.Name+"__*", reason)
		if err := out.Miss(s.Name, "tools are missing: "+reason); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether one of the tools has the name.
func Has(tools []schemas.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t schemas.ToolInfo) bool { return t.Name == name })
}
