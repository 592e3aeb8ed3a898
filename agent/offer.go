package agent

import (
	"context"
	"slices"

	"molar/agent/answer"
	"molar/agent/offer"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// offer decides which tools the model may call in this turn, and traces the reason for each other
// tool. earlier are the rounds of the turn before its client's tools ran.
func (a *Agent) offer(ctx context.Context, w *task, q question, past recalled, found findings, earlier ...schemas.Round) (offer.Offer, error) {
	if w.turn.NoTools {
		return a.guardLinks(w, offer.Offer{Handler: a.cfg.Handler.Begin(toolhandler.TurnConfig{Flow: w.flowOf(q, past, found, earlier), Catalogue: w.catalogue})}), nil
	}
	skills := a.skills(ctx, w)
	want := offer.Want{
		Globs: w.assistant.Tools, Rights: w.turn.Rights, Nobody: w.caller().ID == "", Visitor: w.turn.Visitor, Also: a.also(w), Questions: questions(past, q, earlier), Client: w.turn.ClientTools, Without: w.turn.Without, Narrow: w.narrow(), Skills: skills,
		Bytes: a.toolBytes(ctx, w), Window: a.windowBytes(ctx, w, a.fixedBytes(ctx, w, q, past, found, skills, earlier)),
	}
	choice, err := a.tools.Choose(ctx, w.out, want)
	if err != nil {
		return offer.Offer{}, err
	}
	o := offer.Offer{Want: want, Finder: choice.Finder, Skills: skills, Results: w.readable(ctx, past, earlier), Most: max(1, a.cfg.Limits.Offered-len(w.turn.ClientTools))}
	if w.turn.ListTools {
		if err := w.out.Emit(answer.Event{Kind: answer.KindTools, Tools: offer.Infos(choice.Offered)}); err != nil {
			return offer.Offer{}, err
		}
	}
	var own []toolhandler.HostTool
	if o.Finder != nil && !offer.Has(w.turn.ClientTools, offer.FindTools) {
		own = append(own, o.Finder.Tool())
		o.Tools = append(o.Tools, own[0].Info)
	}
	if skills != nil {
		own = append(own, skills.Tool())
		o.Tools = append(o.Tools, skills.Tool().Info)
		w.out.Trace.Skills(skills.Names(), skills.More())
	}
	if len(o.Tools) > 0 {
		o.Tools = append(o.Tools, choice.Shown...)
	} else {
		o.Tools = slices.Clip(choice.Shown)
	}
	if len(o.Tools)+len(o.Results.Wanted()) > 0 {
		own = append(own, o.Results.Tools()...)
		o.Grow(nil)
	}
	o.Tools, o.Most = append(o.Tools, w.turn.ClientTools...), a.cfg.Limits.Offered
	calls := a.cfg.Limits.Calls
	if n := w.turn.MaxCalls; n > 0 {
		calls = min(calls, n)
	}
	flow := w.flowOf(q, past, found, earlier)
	flow.Described, flow.Rules = unseen(choice.Callable()), a.cfg.Flows
	approver, person := w.whom()
	o.Handler = a.cfg.Handler.Begin(toolhandler.TurnConfig{
		Owner: w.turn.Owner, ID: w.turn.ID, Started: w.turn.Began, Language: q.lang,
		Tools: choice.Callable(),
		Host:  own,
		Flow:  flow, Catalogue: w.catalogue, Audit: a.audit, Visitor: w.turn.Visitor,
		Approver: approver, Consented: q.approved.consents(), ApprovesOwn: w.approvesOwn, Made: made(earlier), Unsure: w.unsure(), Grants: a.grants(w),
		Person: person, Caller: w.caller(),
		Limits: toolhandler.Limits{Calls: calls, Time: a.cfg.Limits.ToolTime},
		Before: w.keeper.RecordCall,
		Show: func(ctx context.Context, r schemas.ToolResult) schemas.ToolResult {
			r.Media = w.fitPictures(r.Media)
			return w.results.Show(ctx, r)
		},
	})
	out := providers.LeftOut(w.route.Provider, o.Tools)
	for _, tool := range o.Tools {
		if reason := out[tool.Name]; reason != "" {
			w.out.Trace.Withheld(tool.Name, reason)
		} else {
			w.traceOffered(&o, tool)
		}
	}
	if slices.ContainsFunc(choice.Offered, func(t schemas.Tool) bool { return !t.Rules.Marks.Trust && t.Server != schemas.ToolServer }) {
		w.out.Watching().Arm() // a server wrote the descriptions
	}
	return a.guardLinks(w, o), w.turn.CheckForced(o.Tools)
}

// traceOffered traces a tool as it is offered.
func (w *task) traceOffered(o *offer.Offer, tool schemas.ToolInfo) {
	shown := ""
	if whole, known := o.Handler.Lookup(tool.Name); known && whole.Name == tool.Name {
		shown = offer.Shortened(whole.ToolInfo, tool)
	}
	w.out.Trace.Offered(tool.Name, shown)
}

// skills returns the assistant's skills; nil if it has none, or the client brought a tool of the name of the one
// that reads them. Their lines take a fixed part of the window, so that they stay the same through a conversation.
func (a *Agent) skills(ctx context.Context, w *task) *offer.Skills {
	library := a.cfg.Skills[w.assistant.Name]
	if library == nil || offer.Has(w.turn.ClientTools, offer.ReadSkill) {
		return nil
	}
	tokens := skillTokens
	if most := a.maxWindow(ctx, w); most > 0 {
		tokens = min(tokens, most/skillShare)
	}
	return offer.NewSkills(library, a.cfg.Rank, tokens*schemaBytes)
}

// unseen returns the servers of tools whose lists no person has confirmed.
func unseen(tools []schemas.Tool) []string {
	var servers []string
	for _, t := range tools {
		if t.Rules.Marks.Unseen && !slices.Contains(servers, t.Server) {
			servers = append(servers, t.Server)
		}
	}
	return servers
}

// also returns the searches that a client asked for and the assistant may be given: those of the web, and
// those of the operator's texts if they are meant for its clients.
func (a *Agent) also(w *task) []string {
	if len(w.turn.Also) == 0 {
		return nil
	}
	var names []string
	for _, tool := range a.cfg.Tools.Tools() {
		if !slices.Contains(w.turn.Also, tool.Name) || tool.Server != schemas.ToolServer {
			continue
		}
		if !isOwn(tool) || w.guard == nil || slices.Contains(w.assistant.Search, tool.ToolName) {
			names = append(names, tool.Name)
		}
	}
	return names
}

// guardLinks filters the addresses of the answer: while a private text is in the prompt, only those
// are links that stood in the conversation: typed, read, or in the operator's texts.
func (a *Agent) guardLinks(w *task, o offer.Offer) offer.Offer {
	if !a.cfg.Off.Links {
		w.out.Address(answer.NewLinks(answer.LinksConfig{
			Private: func() bool { return o.Handler.Flow().HoldsPrivate() },
			Known: func(address string) bool {
				flow := o.Handler.Flow()
				holds := func(text string) bool { return answer.Occurs(text, address) }
				return slices.ContainsFunc(flow.Typed, holds) || slices.ContainsFunc(flow.Own, holds) ||
					slices.ContainsFunc(flow.Readings, func(r toolhandler.Reading) bool { return holds(r.Text) })
			},
		}))
	}
	return o
}

// questions returns the conversation's questions with their calls, and last the new one.
func questions(past recalled, q question, earlier []schemas.Round) []offer.Question {
	all := make([]offer.Question, 0, len(past.exchanges)+1)
	for _, x := range past.exchanges {
		all = append(all, offer.Question{Question: x.Question, Calls: callsOf(x.Rounds())})
	}
	return append(all, offer.Question{Question: q.asked, Calls: callsOf(earlier)})
}

// callsOf returns the calls of rounds.
func callsOf(rounds []schemas.Round) []schemas.ToolCall {
	var calls []schemas.ToolCall
	for _, r := range rounds {
		calls = append(calls, r.Said.Calls()...)
	}
	return calls
}

// made returns the calls of rounds that were made here, and not by the client.
func made(rounds []schemas.Round) []schemas.ToolCall {
	var calls []schemas.ToolCall
	for _, round := range rounds {
		for _, r := range round.Results {
			if call := callOf(round, r.ID); call != nil && r.Server != PauseClient {
				calls = append(calls, *call)
			}
		}
	}
	return calls
}

// resultsOf returns the results of a turn's conversation, still without any.
func (a *Agent) resultsOf(w *task) *offer.Results {
	cfg := offer.ResultsConfig{
		Store: a.cfg.Results, Owner: w.turn.Owner, ConversationID: w.turn.ConversationID, Started: w.started,
		Log: a.log,
		Resource: func(ctx context.Context, server, uri string) (string, []schemas.Part, error) {
			return a.cfg.Tools.Resource(ctx, w.caller(), server, uri)
		},
	}
	if !w.keeper.Keeps() {
		cfg.Store = nil
	}
	return offer.NewResults(cfg)
}

// readable adds the results of the conversation that read_result can read on in.
func (w *task) readable(ctx context.Context, past recalled, earlier []schemas.Round) *offer.Results {
	for _, x := range past.exchanges {
		for _, round := range x.Rounds() {
			w.results.Add(round.Results...)
		}
	}
	for _, round := range earlier {
		w.results.Add(round.Results...)
	}
	if past.summary != "" {
		w.results.Recall(ctx)
	}
	return w.results
}

// showReading offers the tools that read on in what the messages show a part of.
func (w *task) showReading(o *offer.Offer, messages []schemas.Message) {
	if o.Results == nil {
		return
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				o.Results.Cut(*p.Result)
			}
		}
	}
	o.Grow(nil)
}
