package responses

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"molar/agent/answer"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/turns"
	"molar/web/wire"
)

// Limits of the ended responses that can be followed: their age, number and size; and the time
// limit for storing one.
const (
	followFor   = 60 * time.Second
	maxEnded    = 256
	maxEndedLog = 64 << 20 // bytes
	storeFor    = 5 * time.Second
)

// A live is a response that is being rendered, or was rendered recently.
type live struct {
	id, owner string
	turn      *turns.Live
	// begun is the response in its first state, as JSON; input are the items of its request.
	begun []byte
	input []json.RawMessage
	// from is the number of the turn's last item that belongs to the previous response.
	from   int
	record record
	render *renderer
	log    *turns.Log[encodedEvent]
	// done is closed at the end of the response; final and failure are set before.
	done    chan struct{}
	final   []byte
	failure *wire.Error
	// elsewhere means that another replica runs the turn, and stores the response.
	elsewhere bool
	// blank means that it failed before its first item.
	blank   bool
	began   time.Time
	endedAt time.Time
	// next is the number of its last item of the turn, after which the response that continues
	// this one begins.
	next int
}

// begin runs the turn of a plan and renders its response, or finds the one that its key
// started.
func (s *Surface) begin(ctx context.Context, p *plan) (*live, error) {
	l, t, err := s.register(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return s.again(ctx, p.turn.Owner, t)
	case t.ID != p.turn.ID:
		return l, nil
	}
	return l, s.follow(ctx, l)
}

// register starts the turn and records its response immediately, so that a known key always has
// one. If the key belongs to an earlier turn, register returns that turn, and its response if it is
// still in memory.
func (s *Surface) register(ctx context.Context, p *plan) (*live, *turns.Live, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOld()
	t, err := s.Turns.Begin(ctx, turns.Request{Turn: p.turn, Hash: p.request.hash, Detach: true, Asks: true, Answers: p.request.Molar.Events, Shared: p.request.outlives()})
	if err != nil {
		return nil, nil, err
	}
	if t.ID != p.turn.ID {
		return s.live[idPrefix+t.ID], t, nil
	}
	l := s.newLive(p.turn.Owner, p.turn.ID, t, p.record, p.request.echo(p.tools), nil)
	s.live[l.id] = l
	return l, t, nil
}

// again returns a response that replays the stored response of a turn.
func (s *Surface) again(ctx context.Context, owner string, t *turns.Live) (*live, error) {
	r, err := s.record(ctx, owner, idPrefix+t.ID)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, wire.Invalid("", "this Idempotency-Key belongs to a turn that is no response, or whose response is not stored")
	}
	l := s.newLive(owner, t.ID, t, *r, Response{}, nil)
	s.replay(l, r)
	l.log.End()
	close(l.done)
	return l, nil
}

// replay adds the events of a stored response to l.
func (s *Surface) replay(l *live, r *record) {
	for _, t := range replay(r.Response) {
		l.log.Add(t)
	}
	l.final, l.record = r.Response, *r
}

func (s *Surface) newLive(owner, unique string, t *turns.Live, rec record, r Response, after *renderer) *live {
	l := &live{id: idPrefix + unique, owner: owner, turn: t, record: rec, input: rec.Input, log: turns.NewLog(encodedEvent.Size), done: make(chan struct{})}
	l.began = s.Turns.Now()
	r.ID, r.CreatedAt = l.id, l.began.Unix()
	l.render = newRenderer(renderConfig{
		Response: r, Unique: unique, Turn: t.ID, Listed: slices.Clone(rec.Listed), rendering: rec.rendering, Seal: s.sealsFor(owner), Emit: l.log.Add, Now: s.Turns.Now,
	}, after)
	return l
}

// follow starts to render the response in parallel with its turn.
func (s *Surface) follow(ctx context.Context, l *live) error {
	l.begun, _ = json.Marshal(l.render.Response) // it consists of values that marshal
	l.record.Turn, l.record.From = l.turn.ID, l.from
	if l.render.Response.Background && !l.elsewhere {
		l.record.Status, l.record.Response = responses.StatusInProgress, l.begun
		s.keep(ctx, l.owner, l.id, l.began, &l.record)
	}
	s.mu.Lock()
	s.forgetOld()
	s.live[l.id] = l
	s.mu.Unlock()
	return s.Turns.Set.Go(func() { //nolint:contextcheck // it outlives the request
		ctx := context.Background() // it ends when the turn does
		n, ended := l.from, false
		for !ended {
			items, err := l.turn.Log.After(ctx, n)
			if err == nil && len(items) == 0 {
				err = turns.ErrCut
			}
			if err != nil {
				items = []turns.Item{{Err: err}}
			}
			for _, it := range items {
				n++
				if again := s.replayed(ctx, l, it); again {
					return
				}
				if ended = l.render.Take(it); ended {
					break
				}
			}
		}
		l.next = n
		s.finish(ctx, l)
	})
}

// replayed switches to the stored response if the turn is a replay: its Idempotency-Key was
// sent again after a restart.
func (s *Surface) replayed(ctx context.Context, l *live, it turns.Item) bool {
	if it.Event.Kind != answer.KindStart || it.Event.Start == nil || it.Event.Start.TurnID == "" || it.Event.Start.TurnID == l.turn.ID {
		return false
	}
	r, err := s.record(ctx, l.owner, idPrefix+it.Event.Start.TurnID)
	if err != nil || r == nil || r.Status == responses.StatusInProgress {
		return false
	}
	s.replay(l, r)
	s.end(l)
	return true
}

// finish stores the response before it sends its end, so that a client that has seen the end
// can continue it.
func (s *Surface) finish(ctx context.Context, l *live) {
	r := l.render
	if start := l.turn.Start(); start != nil {
		l.record.Conversation = start.ConversationID
		r.Response.Molar.ConversationID = start.ConversationID
	}
	if r.Failure != nil {
		l.failure, l.blank = r.Failure, len(r.Response.Output) == 0
	}
	l.record.Turn, l.record.Listed, l.record.Status = r.Turn, r.Listed, r.Response.Status
	l.record.Waits, l.record.Calls = r.Approval != nil || r.Question != nil, r.ClientCalls
	if r.Response.Molar.Refused || r.Response.Molar.Unsaved { // no conversation holds the turn
		l.record.Loose = true
	}
	l.final, _ = json.Marshal(r.Response)
	l.record.Response = l.final
	if r.Response.Store && (r.Began || r.Response.Background) && !l.elsewhere {
		s.keep(ctx, l.owner, l.id, l.began, &l.record)
	}
	if r.Began {
		r.Last()
	}
	s.end(l)
}

func (s *Surface) end(l *live) {
	s.mu.Lock()
	l.endedAt = s.Turns.Now()
	s.ended = append(s.ended, l)
	s.endedLog += l.log.Bytes()
	s.mu.Unlock()
	l.log.End()
	close(l.done)
}

func (s *Surface) keep(ctx context.Context, owner, id string, began time.Time, r *record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	body, err := json.Marshal(r)
	if err == nil {
		err = s.Store.PutResponse(ctx, schemas.StoredResponse{Owner: owner, ID: id, ConversationID: r.Conversation, CreatedAt: began, Body: body})
	}
	if err != nil {
		s.Turns.Logger.Error("a response could not be stored", "response_id", id, "error", err)
	}
}

// find returns a response that is being rendered, or was rendered recently; nil if there is none.
func (s *Surface) find(owner, id string) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOld()
	if l := s.live[id]; l != nil && l.owner == owner {
		return l
	}
	return nil
}

// forgetOld drops ended responses that are too old or too many. A response whose turn waits for a
// person stays.
func (s *Surface) forgetOld() {
	now := s.Turns.Now()
	for range len(s.ended) {
		l := s.ended[0]
		if now.Sub(l.endedAt) < followFor && len(s.ended) <= maxEnded && s.endedLog <= maxEndedLog {
			return
		}
		s.ended[0] = nil
		s.ended = s.ended[1:]
		if s.live[l.id] == l && !l.turn.IsOver() {
			l.endedAt = now
			s.ended = append(s.ended, l)
			continue
		}
		s.endedLog -= l.log.Bytes()
		if s.live[l.id] == l {
			delete(s.live, l.id)
		}
	}
}

// record returns the stored record of a response; nil if there is none.
func (s *Surface) record(ctx context.Context, owner, id string) (*record, error) {
	if l := s.find(owner, id); l != nil {
		select {
		case <-l.done:
			if !l.render.Response.Store {
				return nil, nil //nolint:nilnil // it can only be followed
			}
			return &l.record, nil
		default:
			return &record{Response: l.begun, Input: l.input, Status: responses.StatusInProgress}, nil
		}
	}
	stored, ok, err := s.Store.GetResponse(ctx, owner, id)
	if err != nil {
		s.Turns.Logger.Error("read a response", "response_id", id, "error", err)
		return nil, wire.ErrStore
	}
	if !ok {
		return nil, nil //nolint:nilnil // unknown
	}
	var r record
	if err := json.Unmarshal(stored.Body, &r); err != nil {
		return nil, err
	}
	if !wire.IsSet(r.Response) {
		return nil, nil //nolint:nilnil // a conversation, or the items of an import
	}
	return &r, nil
}
