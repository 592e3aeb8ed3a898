package offer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
)

// Tools is the catalogue of the attached servers.
type Tools interface {
	// Tools returns the tools of the ready servers, and of lost ones that are being retried, sorted
	// by server and name. A call to one of the latter waits for one attempt to reach its server.
	Tools() []schemas.Tool
	Status() []schemas.ServerStatus
	// Resource reads a resource of a server for who asks: its text, and the images and the like in it.
	Resource(ctx context.Context, who schemas.Caller, server, uri string) (string, []schemas.Part, error)
	// Instructions returns the servers' instructions for their tools, by name, at most 1 KiB each.
	// The texts are untrusted.
	Instructions() map[string]string
	// WaitStarting blocks until none of the named servers is in its first start, or ctx
	// ends. It waits for no server that was lost.
	WaitStarting(ctx context.Context, servers []string) error
}

// A Ranker indexes tools and returns a func that ranks them by how well they fit a question, best
// first; a score of 0 is no match. The func is safe for concurrent use.
type Ranker func(tools []schemas.ToolInfo) func(question string) []Ranked

// Ranked is a tool with its score.
type Ranked struct {
	Name  string
	Score float64
}

// Config configures a [Chooser].
type Config struct {
	Tools Tools
	// Rank ranks the tools when they do not all fit.
	Rank Ranker
	// Most limits the offered tools, including find_tools and the client's.
	Most int
	// AttachWait is how long a turn waits for servers that are still starting.
	AttachWait time.Duration
	Log        *slog.Logger
}

// A Chooser chooses tools. It is safe for concurrent use.
type Chooser struct {
	cfg Config

	ranks cache[func(question string) []Ranked]
	shown cache[shown]
}

// New returns a chooser.
func New(cfg Config) *Chooser { return &Chooser{cfg: cfg} }

// An Offer holds the tools that a model may call in a turn, in the order of the prompt.
type Offer struct {
	Tools   []schemas.ToolInfo
	Handler *toolhandler.Turn
	// Finder is nil if every tool is offered, and every skill shown.
	Finder *Finder
	// Skills are the assistant's; nil without any.
	Skills *Skills
	// Results are the conversation's results; nil if no tool is offered.
	Results *Results
	// Most bounds Tools: services refuse a request with more. 0 means any number.
	Most int
	// Unfit are the tools that were found in the last round and are not offered.
	Unfit []Unfit
	// Want is what the tools were chosen by; Join chooses by it as well.
	Want Want
}

// Allow sets how many bytes the tools may take, including those found in the next round.
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

// Grow adds the tools that a round found, and those that read the rest of its results, and returns
// them. A found tool without room can be called too: the model has seen its line.
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
	if len(added) > 0 {
		o.Tools = slices.Concat(o.Tools, added)
	}
	return added
}

// TokenBytes is the bytes per token of a tool's schema. It is fixed, so that the room stays the same
// through a conversation.
const TokenBytes = 4

// Size estimates the bytes of tools in a prompt.
func Size(tools []schemas.ToolInfo) int {
	n := 0
	for _, t := range tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	return n
}

// Want is the input of [Chooser.Choose].
type Want struct {
	// Globs are the assistant's.
	Globs Globs
	// Rights are the person's.
	Rights *schemas.Rights
	// Nobody is set if no person asks, so that no tool is called as one.
	Nobody bool
	// Visitor is set for somebody on a public page, who gets what [toolhandler.ForVisitors] allows.
	Visitor bool
	// Without are globs of offered names that are left out.
	Without []string
	// Also are tools, by their offered names, that are offered whatever the globs are.
	Also []string
	// Questions are the questions of the conversation, oldest first, and last the new one.
	Questions []Question
	// Client are the client's tools. They count towards the limits, and hide tools of the same
	// names.
	Client []schemas.ToolInfo
	// Skills are the assistant's; the host's tools for them count towards the limits.
	Skills *Skills
	// Narrow returns a tool as it may be called, and false for one that may not; nil changes
	// nothing.
	Narrow func(schemas.Tool) (schemas.Tool, bool)
	// Bytes is the room for tools in the prompt; called tools may exceed it up to Window, the room
	// in the model's window. 0 means no limit.
	Bytes, Window int
}

// Question is a question and its tool calls.
type Question struct {
	Question string
	Calls    []schemas.ToolCall
}

// Choice is the result of [Chooser.Choose].
type Choice struct {
	// Offered are in the prompt, in this order, as Shown: in brief if the room is small.
	Offered []schemas.Tool
	Shown   []schemas.ToolInfo
	// Rest are reached through the finder, which is nil when there are none and every skill is shown.
	Rest   []schemas.Tool
	Finder *Finder
}

// Callable returns the tools that a turn may call.
func (c Choice) Callable() []schemas.Tool {
	if len(c.Rest) == 0 {
		return c.Offered
	}
	return slices.Concat(c.Offered, c.Rest)
}

// Await waits up to AttachWait for servers in their first start.
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

// AwaitNamed waits up to AttachWait for one server, if it is in its first start.
func (c *Chooser) AwaitNamed(ctx context.Context, server string) {
	c.Await(ctx, c.Starting(func(name string) bool { return name == server })...)
}

// Starting returns the names of servers in their first start that need accepts.
func (c *Chooser) Starting(need func(server string) bool) []string {
	return starting(c.cfg.Tools.Status(), need)
}

func starting(servers []schemas.ServerStatus, need func(server string) bool) []string {
	var starting []string
	for _, s := range servers {
		if need(s.Name) && s.State == schemas.StateStarting && s.Protocol == "" { // it was never ready
			starting = append(starting, s.Name)
		}
	}
	return starting
}

// Choose returns the tools that the model may call.
func (c *Chooser) Choose(ctx context.Context, out *answer.Speaker, want Want) (Choice, error) {
	if len(want.Globs)+len(want.Also) == 0 {
		return Choice{Finder: want.Skills.finder()}, nil
	}
	if err := c.waitForServers(ctx, out, want.Globs); err != nil {
		return Choice{}, err
	}
	tools := want.callable(c.cfg.Tools.Tools(), out.Trace.Withheld)
	choice := c.fit(want, tools)
	for _, tool := range choice.Rest {
		out.Trace.Withheld(tool.Name, fmt.Sprintf("the room for tools is taken by %d that fit the conversation better; %s finds it", len(choice.Offered), FindTools))
	}
	return choice, nil
}

// callable returns the tools that a turn may call, and reports why it may not call the others.
func (want *Want) callable(all []schemas.Tool, withheld func(name, reason string)) []schemas.Tool {
	tools := make([]schemas.Tool, 0, len(all))
	for _, tool := range all {
		reason := ""
		switch {
		case Has(want.Client, tool.Name):
			reason = "the client brought a tool of the same name"
		case !want.Globs.MayCall(tool.ToolInfo) && !slices.Contains(want.Also, tool.Name):
			reason = "the assistant's tools do not include it"
		case !want.Rights.Tool(tool.ToolInfo):
			reason = "no group of the person allows it"
		case tool.Personal && want.Nobody:
			reason = "each person calls it as themselves, and no person asks here"
		case tool.Withheld != "":
			reason = tool.Withheld
		case tool.Rules.Policy == schemas.PolicyDeny:
			reason = "its policy is deny"
		case want.Visitor && toolhandler.ForVisitors(tool) != "":
			reason = toolhandler.ForVisitors(tool)
		case schemas.MatchGlobs(want.Without, tool.Name):
			reason = "left out for this question, as the person asked"
		case want.Narrow != nil:
			narrowed, may := want.Narrow(tool)
			if tool = narrowed; !may {
				reason = "the client did not choose it"
			}
		}
		if reason != "" {
			withheld(tool.Name, reason)
			continue
		}
		tools = append(tools, tool)
	}
	return tools
}

// Join makes the tools callable that a server lists since its person has connected in a round. It offers
// as many of them as there is room for, and returns these; the model has seen the names of the others.
func (c *Chooser) Join(o *Offer, round []schemas.ToolResult, withheld func(name, reason string)) []schemas.ToolInfo {
	fresh := slices.DeleteFunc(slices.Clone(c.cfg.Tools.Tools()), func(tool schemas.Tool) bool {
		if !tool.Personal || !slices.ContainsFunc(round, func(r schemas.ToolResult) bool { return r.Server == tool.Server && !r.IsError }) {
			return true
		}
		_, known := o.Handler.Lookup(tool.Name)
		return known
	})
	if len(fresh) == 0 {
		return nil
	}
	fresh = o.Want.callable(fresh, withheld)
	o.Handler.Join(fresh...)
	left := cmp.Or(o.Want.Bytes, math.MaxInt) - Size(o.Tools)
	var added []schemas.ToolInfo
	for _, tool := range fresh {
		if Size([]schemas.ToolInfo{tool.ToolInfo}) > left {
			tool.ToolInfo = brief(tool.ToolInfo, o.Want.Bytes)
		}
		left -= Size([]schemas.ToolInfo{tool.ToolInfo})
		if left < 0 || o.Most > 0 && len(o.Tools)+len(added) >= o.Most {
			break
		}
		added = append(added, tool.ToolInfo)
	}
	o.Tools = slices.Concat(o.Tools, added)
	return added
}

// waitForServers waits a moment for servers in their first start, and warns of missing ones. A lost
// server is waited for only when it is called: its tools are known.
func (c *Chooser) waitForServers(ctx context.Context, out *answer.Speaker, globs Globs) error {
	servers := c.cfg.Tools.Status()
	if starting := starting(servers, globs.MayNeed); len(starting) > 0 {
		if err := out.Step("6.2", "waiting for servers that are starting: "+strings.Join(starting, ", ")); err != nil {
			return err
		}
		c.Await(ctx, starting...)
		servers = c.cfg.Tools.Status()
	}
	return c.missing(out, globs, servers)
}

// missing warns of servers whose tools are not known.
func (c *Chooser) missing(out *answer.Speaker, globs Globs, servers []schemas.ServerStatus) error {
	for _, s := range servers {
		if s.State == schemas.StateReady || s.State == schemas.StateDegraded || s.State == schemas.StateDisabled || !globs.MayNeed(s.Name) {
			continue
		}
		known := slices.ContainsFunc(c.cfg.Tools.Tools(), func(t schemas.Tool) bool { return t.Server == s.Name })
		if known && s.State != schemas.StateFailed {
			continue
		}
		reason := fmt.Sprintf("server %q %s", s.Name, s.State.Predicate())
		if s.Reason != "" {
			reason += ": " + s.Reason
		}
		out.Trace.Withheld(s.Name+"__*", reason)
		if err := out.WarnOfHost(answer.CodeServerMissing, s.Name, "tools are missing: "+reason); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether one of the tools has the name.
func Has(tools []schemas.ToolInfo, name string) bool {
	return slices.ContainsFunc(tools, func(t schemas.ToolInfo) bool { return t.Name == name })
}
