package responses

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas/responses"
	"molar/web/turns"
)

// outlives reports whether the response continues without its client. The client may then return
// to any replica.
func (q *Request) outlives() bool { return q.Background || q.Molar.Detach || q.key != "" }

// seek returns a response that is being rendered, here or on another replica; nil if there is
// none.
func (s *Surface) seek(ctx context.Context, owner, id string) (*live, error) {
	if l := s.find(owner, id); l != nil || s.Turns.Sharing == nil {
		return l, nil
	}
	r, err := s.record(ctx, owner, id)
	if err != nil || r == nil || r.Status != responses.StatusInProgress || r.From > 0 {
		return nil, err // a response that continues after an approval is rendered on the replica that received the approval
	}
	return s.renderMirrored(ctx, owner, id, r, true)
}

// current returns the record of a response. A background response whose process has died becomes
// failed, and is stored as failed.
func (s *Surface) current(ctx context.Context, owner, id string) (*record, error) {
	r, err := s.record(ctx, owner, id)
	if err != nil || r == nil || r.Status != responses.StatusInProgress || s.find(owner, id) != nil {
		return r, err
	}
	gone, err := s.Turns.IsGone(ctx, owner, r.Turn)
	if err != nil || !gone {
		return r, err
	}
	var response Response
	if err := json.Unmarshal(r.Response, &response); err != nil {
		return nil, err
	}
	render := newRenderer(renderConfig{
		Response: response, Unique: strings.TrimPrefix(id, idPrefix), Turn: r.Turn, Listed: r.Listed, rendering: r.rendering, Seal: s.sealsFor(owner), Emit: func(encodedEvent) {}, Now: s.Turns.Now,
	}, nil)
	conversation := s.renderRemains(ctx, owner, r, render)
	if r.Conversation == "" {
		r.Conversation = conversation
	}
	render.Response.Molar.ConversationID = r.Conversation
	r.Status = render.Response.Status
	if r.Response, err = json.Marshal(render.Response); err != nil {
		return nil, err
	}
	s.keep(ctx, owner, id, time.Unix(response.CreatedAt, 0), r)
	return r, nil
}

// renderRemains renders a turn whose process has died: from its items in the ledger while they are
// there, else from the stored turn. It returns the conversation of the turn.
func (s *Surface) renderRemains(ctx context.Context, owner string, r *record, render *renderer) (conversation string) {
	stored, kept := answer.Trace{}, agent.StoredPart("")
	trace, known, err := s.Traces.Trace(ctx, owner, r.Turn)
	if err == nil && known {
		err = json.Unmarshal(trace, &stored)
	}
	switch {
	case err != nil:
		s.Turns.Logger.Error("read a stored turn", "turn_id", r.Turn, "error", err)
	case !known:
		kept = agent.StoredNothing
	case stored.Answer == "":
		kept = agent.StoredQuestion
	}
	var items []turns.Item
	if t, ok, err := s.Turns.Find(ctx, owner, r.Turn); err == nil && ok && t.MayBeFollowed() {
		items, _ = t.Log.After(ctx, r.From) // empty if the first ones were dropped
	}
	if len(items) == 0 && r.From == 0 && stored.Answer != "" {
		refused := strings.HasPrefix(render.Response.Text.Format.Type, "json") && !json.Valid([]byte(stored.Answer))
		items = []turns.Item{{Event: answer.Event{Kind: answer.KindText, Text: stored.Answer, Refusal: refused}}}
		if stored.Status == "done" { // only its response was lost
			items = append(items, turns.Item{Event: answer.Event{Kind: answer.KindDone, Done: stored.Done}})
		}
	}
	for _, it := range items {
		if it.Err != nil {
			break
		}
		if render.Take(it) {
			return stored.ConversationID
		}
	}
	render.Take(turns.Item{Err: turns.WithStored(turns.ErrLost, kept)})
	return stored.ConversationID
}

// GoOn renders and stores the background response of a turn that goes on here, as its process is gone.
func (s *Surface) GoOn(t *turns.Live) {
	ctx, cancel := context.WithTimeout(context.Background(), storeFor)
	defer cancel()
	id := idPrefix + t.ID
	r, err := s.record(ctx, t.Owner(), id)
	if err == nil && r != nil && r.Status == responses.StatusInProgress && r.From == 0 {
		_, err = s.renderMirrored(ctx, t.Owner(), id, r, false)
	}
	if err != nil {
		s.Turns.Logger.Error("a response that goes on here is not stored", "response_id", id, "error", err)
	}
}

// renderMirrored renders a response from the items of its turn, which another replica runs, or ran
// before this one: the same items result in the same events there and here. With elsewhere set, the
// other replica stores it.
func (s *Surface) renderMirrored(ctx context.Context, owner, id string, r *record, elsewhere bool) (*live, error) {
	t, ok, err := s.Turns.Find(ctx, owner, r.Turn)
	if err != nil || !ok {
		return nil, err
	}
	var begun Response
	if err := json.Unmarshal(r.Response, &begun); err != nil {
		return nil, err
	}
	if r.includes(includeState) {
		if _, err := s.sealer(ctx); err != nil {
			return nil, err
		}
	}
	l := s.newLive(owner, strings.TrimPrefix(id, idPrefix), t, *r, begun, nil)
	l.elsewhere, l.began = elsewhere, time.Unix(begun.CreatedAt, 0)
	l.render.Response.CreatedAt = begun.CreatedAt
	if first := s.find(owner, id); first != nil { // another request was faster
		return first, nil
	}
	return l, s.follow(ctx, l)
}
