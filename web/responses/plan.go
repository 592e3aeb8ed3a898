package responses

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"molar/agent"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// idPrefix precedes the unique part of a response's id: the id of its turn, or a new id if the
// response continues a paused turn.
const idPrefix = "resp_"

// A plan is what a request asks for: a turn, or decisions about pending calls and questions.
type plan struct {
	request *Request
	tools   *toolbox
	turn    agent.Turn
	// decisions are about pending calls or questions. If there are any, turn is empty.
	decisions []responses.Item
	record    record
}

// plan reads a request, and finds the response or conversation that it continues.
func (s *Surface) plan(ctx context.Context, owner string, q *Request) (*plan, error) {
	tools, err := s.readTools(q)
	if f := q.Text.Format; err == nil && f != nil && f.Type == "json_schema" {
		err = s.schemas.Check(f.Schema, "text.format.schema")
	}
	if err == nil && slices.Contains(q.Include, includeState) {
		_, err = s.sealer(ctx)
	}
	if err != nil {
		return nil, err
	}
	items, err := s.readInput(q)
	if err != nil {
		return nil, err
	}
	p := &plan{request: q, tools: tools}
	if p.decisions, err = decisions(items); err != nil || len(p.decisions) > 0 {
		return p, err
	}
	if items, err = s.resolve(ctx, owner, items); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, wire.Invalid("input", "input must hold at least one item")
	}
	previous, err := s.previous(ctx, owner, q)
	if err != nil {
		return nil, err
	}
	p.turn = q.turn(tools)
	p.turn.ID, p.turn.Owner = schemas.NewID(), owner
	if err := s.mayChoose(p.turn); err != nil {
		return nil, err
	}
	p.record.Input, p.record.rendering = identified(items, p.turn.ID), q.rendering(tools)
	if err := s.address(ctx, p, previous, items); err != nil {
		return nil, err
	}
	return p, p.checkQuestion()
}

// readInput reads the input of a request.
func (s *Surface) readInput(q *Request) ([]responses.Item, error) {
	items, err := read(q.Input)
	if err == nil && len(items) > s.MaxMessages {
		err = wire.Invalid("input", "the request has %d items, and this server accepts %d: send the newest, or raise limits.messages", len(items), s.MaxMessages)
	}
	return items, err
}

// mayChoose refuses a model that the config does not allow to clients with a key.
func (s *Surface) mayChoose(t agent.Turn) error {
	for param, model := range map[string]string{"molar.model": t.Model, "molar.guardrail_model": t.GuardrailModel} {
		if model != "" && !s.MayChoose(t.Assistant, t.Provider, model) {
			return &wire.Error{
				Status: http.StatusForbidden, Kind: wire.TypePermission, Code: "model_not_allowed", Param: param,
				Message: fmt.Sprintf("clients with a key may not choose the model %q here; leave it out, or have it added to llm.*.allow", wire.Clip(model, 100)),
			}
		}
	}
	return nil
}

// turn returns the turn of the request without its input.
func (q *Request) turn(tools *toolbox) agent.Turn {
	t := agent.Turn{
		Assistant:   q.Model,
		Place:       agent.Place{Key: q.key, WholeHistory: q.Truncation == "disabled"},
		ModelChoice: agent.ModelChoice{Provider: q.Molar.Provider, Model: q.Molar.Model, GuardrailModel: q.Molar.GuardrailModel},
		Sampling:    agent.Sampling{Temperature: q.Temperature, TopP: q.TopP, Thinking: q.thinking()},
		ServerTools: agent.ServerTools{NoTools: tools.none, Without: q.Molar.Without, ListTools: len(tools.servers) > 0},
		Client: agent.Client{
			ClientTools: tools.own, MustCall: tools.must, MustCallTool: tools.name,
			OneCall: q.ParallelToolCalls != nil && !*q.ParallelToolCalls,
		},
		Schema: q.schema(),
	}
	t.Narrow = tools.narrowing()
	if q.MaxOutputTokens != nil {
		t.MaxTokens = *q.MaxOutputTokens
	}
	if q.MaxToolCalls != nil {
		t.MaxCalls = *q.MaxToolCalls
	}
	return t
}

// rendering returns what the request determines about how its response is rendered.
func (q *Request) rendering(tools *toolbox) rendering {
	r := rendering{Notes: q.Molar.Events, Functions: tools.functions, Searches: tools.searches, Include: q.Include}
	for _, a := range tools.leftOut {
		r.Warnings = append(r.Warnings, a.warning())
	}
	return r
}

// resolve replaces references by the items of stored responses.
func (s *Surface) resolve(ctx context.Context, owner string, items []responses.Item) ([]responses.Item, error) {
	known := map[string][]responses.Item{}
	for i, it := range items {
		if it.Type != "item_reference" {
			continue
		}
		id := responseOf(it.ID)
		if _, read := known[id]; !read {
			r, err := s.record(ctx, owner, id)
			if err != nil {
				return nil, err
			}
			if r != nil {
				in, err1 := r.input()
				out, err2 := r.output()
				if err1 != nil || err2 != nil {
					return nil, wire.ErrInternal
				}
				known[id] = slices.Concat(in, out)
			}
		}
		at := slices.IndexFunc(known[id], func(k responses.Item) bool { return k.ID == it.ID })
		if at < 0 {
			e := wire.Invalid(fmt.Sprintf("input[%d].id", i), "there is no item %q: its response was not stored, was deleted, or is too old", wire.Clip(it.ID, 100))
			e.Code = "item_not_found"
			return nil, e
		}
		items[i] = known[id][at]
	}
	return items, nil
}

// responseOf returns the id of the response that an item belongs to. The id of an item contains its
// unique part between a prefix and a number.
func responseOf(itemID string) string {
	_, rest, _ := strings.Cut(itemID, "_")
	end := strings.LastIndex(rest, "_")
	if end < 0 {
		return ""
	}
	return idPrefix + rest[:end]
}

// previous returns the response that the request continues; nil for none.
func (s *Surface) previous(ctx context.Context, owner string, q *Request) (*record, error) {
	if q.PreviousResponseID == nil || *q.PreviousResponseID == "" {
		return nil, nil //nolint:nilnil // a new chain
	}
	r, err := q.chain.tip(*q.PreviousResponseID), error(nil)
	if r == nil {
		r, err = s.current(ctx, owner, *q.PreviousResponseID)
	}
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, noPrevious(*q.PreviousResponseID)
	case r.Status == responses.StatusQueued || r.Status == responses.StatusInProgress:
		return nil, wire.Invalid("previous_response_id", "the response %q is still in progress", *q.PreviousResponseID)
	case r.Waits:
		return nil, wire.Invalid("input", "the response %q waits for a decision: answer its mcp_approval_request with an mcp_approval_response, or its molar:question with a molar:answer", *q.PreviousResponseID)
	}
	return r, nil
}

// address sets the place of the turn: the branch that it continues, or the history that the request
// or the chain of earlier responses provides.
func (s *Surface) address(ctx context.Context, p *plan, previous *record, items []responses.Item) error {
	conversation, err := s.known(ctx, p.turn.Owner, p.request)
	if err != nil {
		return err
	}
	before, input := s.newTalk(ctx, p.turn.Owner), s.newTalk(ctx, p.turn.Owner)
	if previous != nil {
		if q := p.request; q.stored() && q.chain.tip(*q.PreviousResponseID) != nil {
			return wire.Invalid("store", "the response %q was not stored, so what continues it cannot be: send store false, or all items", *q.PreviousResponseID)
		}
		if err := s.remember(ctx, p.turn.Owner, p.request.chain, previous, before); err != nil {
			return err
		}
		before.Settle()
		p.record.System, p.record.Listed, p.record.Previous = previous.System, slices.Clone(previous.Listed), *p.request.PreviousResponseID
	}
	input.Open = slices.Clone(before.Open)
	if len(input.Open) > 0 {
		input.Messages = slices.Clone(before.Messages)
	}
	if err := input.Read(items, "input"); err != nil {
		return err
	}
	if len(input.Open) > 0 {
		return unanswered(input.Open[0].ID)
	}
	if int64(p.request.size-input.Media) > s.MaxBody {
		return wire.TooLarge(s.MaxBody)
	}
	continues := len(before.Open) > 0
	p.record.System = append(slices.Clone(p.record.System), input.System...)
	p.turn.System = strings.Join(slices.Concat(p.instructions(), p.record.System), "\n\n")
	p.turn.Form = p.request.form()
	p.turn.Attachments, p.turn.Results = input.Files, input.Results
	switch {
	case continues: // continues after the client's own tools
		p.turn.Messages, p.turn.ConversationID, p.turn.Parent = input.Messages, previous.Conversation, previous.Parent
		p.turn.Stateless = previous.Loose
	case previous != nil && !previous.Loose && !input.Answered:
		p.turn.Messages, p.turn.ConversationID, p.turn.Parent = input.Messages, previous.Conversation, &previous.Turn
		p.turn.ReadOnly = !p.request.stored()
	case previous != nil:
		p.turn.Messages, p.turn.Stateless = slices.Concat(before.Messages, input.Messages), true
	case conversation != "" && input.Answered && len(input.Results) == 0:
		return wire.Unsupported("input", "messages of an assistant cannot be added to a conversation of this host: send only those of the person, or leave conversation out")
	case conversation != "":
		p.turn.Messages, p.turn.ConversationID = input.Messages, conversation
		if p.turn.ReadOnly = !p.request.stored(); p.turn.ReadOnly {
			p.record.Reads = conversation
		}
	default:
		p.turn.Messages = input.Messages
		p.turn.Stateless = input.Answered || !p.request.stored()
	}
	p.record.Loose, p.record.Parent = p.turn.Stateless || p.turn.ReadOnly, p.turn.Parent
	return nil
}

// known returns the id of the conversation that the request names, empty for none. It refuses one
// that the owner does not have. While the store does not answer, every id counts as known: the turn
// then says whether it could be saved.
func (s *Surface) known(ctx context.Context, owner string, q *Request) (string, error) {
	id, err := q.conversation()
	if err != nil || id == "" {
		return "", err
	}
	if head, err := s.Conversation(ctx, owner, id); err == nil && head == nil {
		return "", noConversation(id)
	}
	return id, nil
}

func (p *plan) instructions() []string {
	if p.request.Instructions == nil || *p.request.Instructions == "" {
		return nil
	}
	return []string{*p.request.Instructions}
}

// remember reads the history up to the end of a response: the stored branch of the conversation,
// and the later responses of the chain that are not part of a conversation. The calls that its
// client has to run are open afterwards.
func (s *Surface) remember(ctx context.Context, owner string, h *socketChain, r *record, into *talk) error {
	var chain []*record
	for r != nil && len(chain) <= s.MaxMessages {
		if !r.Loose && len(r.Calls) == 0 {
			messages, err := s.Conversations.Branch(ctx, owner, r.Conversation, r.Turn)
			if err == nil {
				if err := s.addStored(ctx, owner, r.Conversation, messages, into); err != nil {
					return err
				}
				break
			}
		}
		if r.Reads != "" {
			if err := s.addConversation(ctx, owner, r.Reads, into); err != nil {
				return err
			}
		}
		chain = append(chain, r)
		before, err := h.record(r.Previous), error(nil)
		if before == nil && r.Previous != "" {
			before, err = s.record(ctx, owner, r.Previous)
		}
		if err != nil {
			return err
		}
		r = before // nil if it was deleted: the history begins after it
	}
	for _, r := range slices.Backward(chain) {
		in, err := r.input()
		if err != nil {
			return err
		}
		out, err := r.output()
		if err != nil {
			return err
		}
		if err := into.Read(slices.Concat(in, out), "previous_response_id"); err != nil {
			return err
		}
	}
	into.System = nil // the record has the system text
	return nil
}

// addConversation adds the newest branch of a conversation; nothing for an unknown one.
func (s *Surface) addConversation(ctx context.Context, owner, id string, into *talk) error {
	messages, _, _, err := s.Conversations.Messages(ctx, owner, id)
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return s.storeFailed(id, err)
	}
	return s.addStored(ctx, owner, id, messages, into)
}

// addStored adds messages of a conversation, with the names of the files attached to its
// questions.
func (s *Surface) addStored(ctx context.Context, owner, conversation string, messages []schemas.StoredMessage, into *talk) error {
	var files []schemas.File
	if s.Files != nil {
		var err error
		if files, err = s.Files.Files(ctx, owner, conversation); err != nil && !errors.Is(err, agent.ErrNotFound) {
			return s.storeFailed(conversation, err)
		}
	}
	messages = slices.Clone(messages)
	for _, f := range files {
		for i := range messages {
			if messages[i].Seq == f.Seq {
				messages[i].Files = append(messages[i].Files, f)
			}
		}
	}
	into.AddStored(messages)
	return nil
}

// checkQuestion refuses a request whose last message of a person has no text.
func (p *plan) checkQuestion() error {
	if len(p.turn.Results) > 0 {
		return nil
	}
	for _, m := range slices.Backward(p.turn.Messages) {
		if m.Role == schemas.RoleUser && strings.TrimSpace(m.Said()) != "" {
			return nil
		}
		if m.Role == schemas.RoleUser {
			break
		}
	}
	return wire.Invalid("input", "input must hold a message of role user that has a text")
}
