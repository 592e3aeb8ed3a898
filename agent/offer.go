package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/schemas"
	"molar/toolhandler"
)

// offerTools decides which tools the model may call in this turn, and writes down
// the reason for each that it may not.
func (r *run) offerTools(ctx context.Context) error {
	if r.turn.NoTools {
		r.tools = r.a.cfg.Handler.Begin(toolhandler.TurnConfig{})
		return nil
	}
	tools, err := r.serverTools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		r.offered = append(r.offered, tool.ToolInfo)
		r.trace.offered(tool.Name)
	}
	for _, tool := range r.turn.ClientTools {
		r.offered = append(r.offered, tool)
		r.trace.offered(tool.Name)
	}
	r.tools = r.a.cfg.Handler.Begin(toolhandler.TurnConfig{
		Tools:    tools,
		Read:     r.serversRead(),
		Approver: r.turn.Approver,
		Limits:   toolhandler.Limits{Calls: r.a.cfg.Limits.Calls, Time: r.a.cfg.Limits.ToolTime},
	})
	return r.checkForced()
}

// serverTools are the tools of the attached servers that the model may call.
func (r *run) serverTools(ctx context.Context) ([]schemas.Tool, error) {
	if len(r.assistant.Tools) == 0 {
		return nil, nil
	}
	if err := r.waitForServers(ctx); err != nil {
		return nil, err
	}
	var tools []schemas.Tool
	for _, tool := range r.a.cfg.Tools.Tools() {
		switch {
		case r.isTheirs(tool.Name):
			r.trace.withheld(tool.Name, "the client brought a tool of the same name")
		case !r.assistant.mayCall(tool.ToolInfo):
			r.trace.withheld(tool.Name, "the assistant's tools do not include it")
		case tool.Withheld != "":
			r.trace.withheld(tool.Name, tool.Withheld)
		case tool.Rules.Policy == schemas.PolicyDeny:
			r.trace.withheld(tool.Name, "its policy is deny")
		default:
			tools = append(tools, tool)
		}
	}
	return r.best(tools), nil
}

// waitForServers gives servers that are still starting a moment, and says which are
// missing.
func (r *run) waitForServers(ctx context.Context) error {
	var starting, lost []string
	for _, s := range r.a.cfg.Tools.Status() {
		switch {
		case !r.assistant.mayNeed(s.Name):
		case s.State == schemas.StateStarting && s.Protocol == "": // it was never ready
			starting = append(starting, s.Name)
		case s.State == schemas.StateStarting, s.State == schemas.StateBackoff:
			lost = append(lost, s.Name)
		}
	}
	if needed := append(slices.Clone(starting), lost...); len(needed) > 0 {
		if err := r.emit(Event{Kind: EventStep, Step: "6.2", Text: "waiting for servers that are starting: " + strings.Join(needed, ", ")}); err != nil {
			return err
		}
	}
	r.await(ctx, lost, min(r.a.cfg.Limits.AttachWait, returnWait))
	r.await(ctx, starting, r.a.cfg.Limits.AttachWait)
	for _, s := range r.a.cfg.Tools.Status() {
		if !r.assistant.mayNeed(s.Name) || s.State == schemas.StateReady || s.State == schemas.StateDegraded || s.State == schemas.StateDisabled {
			continue
		}
		reason := fmt.Sprintf("server %q is %s", s.Name, s.State)
		if s.Reason != "" {
			reason += ": " + s.Reason
		}
		r.trace.withheld(s.Name+"__*", reason)
		if err := r.warn("tools are missing: " + reason); err != nil {
			return err
		}
	}
	return nil
}

// returnWait is how long a turn waits for a server that was lost: it asks for an
// attempt at once, but a server that does not come back must not hold every turn up.
const returnWait = time.Second

// await waits for servers, at most so long.
func (r *run) await(ctx context.Context, servers []string, most time.Duration) {
	if len(servers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := r.a.cfg.Tools.Wait(ctx, servers); err != nil {
		r.a.log.Debug("servers are still starting", "servers", servers)
	}
}

// best cuts the tools to as many as a model is offered, ranked by how well they fit
// the question. The order of the tools is kept, so that prompts cache well.
func (r *run) best(tools []schemas.Tool) []schemas.Tool {
	limit := max(0, r.a.cfg.Limits.Offered-len(r.turn.ClientTools))
	if len(tools) <= limit {
		return tools
	}
	keep := make(map[string]bool, limit)
	for i, ranked := range r.rank(tools) {
		if i < limit {
			keep[ranked.Name] = true
			continue
		}
		r.trace.withheld(ranked.Name, fmt.Sprintf("only %d tools are offered, and %d fit the question better (score %.2f)", limit, i, ranked.Score))
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t schemas.Tool) bool { return !keep[t.Name] })
}

// rank orders tools by how well they fit the question; without a ranker, as they are.
func (r *run) rank(tools []schemas.Tool) []Ranked {
	infos := make([]schemas.ToolInfo, len(tools))
	ranked := make([]Ranked, len(tools))
	for i, t := range tools {
		infos[i], ranked[i] = t.ToolInfo, Ranked{Name: t.Name}
	}
	if r.a.cfg.Rank == nil {
		return ranked
	}
	return r.a.cfg.Rank(r.asked, infos)
}

// serversRead are the servers whose results the model sees before any call.
func (r *run) serversRead() []string {
	read := slices.Clone(r.opening.ServersRead)
	if r.paused != nil {
		read = append(read, r.paused.ServersRead...)
	}
	if len(r.turn.Results) > 0 {
		read = append(read, clientServer)
	}
	for _, result := range r.found {
		read = append(read, result.Server)
	}
	if r.prompted != "" {
		read = append(read, r.prompted)
	}
	for _, a := range r.turn.Attachments {
		if a.Server != "" {
			read = append(read, a.Server)
		}
	}
	slices.Sort(read)
	return slices.Compact(read)
}
