package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"molar/agent"
	"molar/schemas"
	"molar/web/responses/input"
	"molar/web/responses/render"
	"molar/web/wire"
)

// turnIDHeader names the turn to those who want to follow or stop it.
const turnIDHeader = "X-Turn-Id"

// stopWait is how long a request to cancel waits for the end.
const stopWait = 5 * time.Second

// Create answers POST /v1/responses, as a stream or whole.
func (s *Surface) Create(c *gin.Context) {
	w, r := http.ResponseWriter(c.Writer), c.Request
	q, err := readRequest(r)
	if err != nil {
		writeError(w, err)
		return
	}
	l, err := s.start(r, q)
	if err != nil {
		writeError(w, err)
		return
	}
	if !q.outlives() {
		defer s.leave(r.Context(), l)
	}
	switch {
	case q.Stream:
		s.stream(w, r, l, 0)
	case q.Background:
		wire.WriteBody(w, http.StatusOK, l.begun)
	default:
		s.whole(w, r, l)
	}
}

// start begins what the request asks for: a turn, or the rest of one that waited.
func (s *Surface) start(r *http.Request, q *Request) (*live, error) {
	p, err := s.plan(r.Context(), s.Owner(r), q)
	if err != nil {
		return nil, err
	}
	if len(p.decisions) > 0 {
		return s.goOn(r.Context(), s.Owner(r), p)
	}
	return s.begin(r.Context(), p)
}

// leave ends the turn of a client that is gone before its response ended.
func (s *Surface) leave(ctx context.Context, l *live) {
	select {
	case <-l.done:
	default:
		if ctx.Err() != nil {
			l.turn.Abandon()
		}
	}
}

// goOn decides about calls that wait, and tells the rest of their turn as a response of
// its own.
func (s *Surface) goOn(ctx context.Context, owner string, p *plan) (*live, error) {
	var before *live
	for _, d := range p.decisions {
		request := cmp.Or(d.ApprovalRequestID, d.QuestionID)
		l := s.find(owner, responseOf(request))
		if l == nil || l.render == nil || !l.ended() || !l.render.Asked(request) {
			return nil, &wire.Error{
				Status: http.StatusNotFound, Kind: render.TypeNotFound, Code: "approval_not_found", Param: "input",
				Message: "no call waits under this approval_request_id, and no server under this question_id: the turn has ended, or the host was started anew",
			}
		}
		if before != nil && before != l {
			return nil, wire.Invalid("input", "the decisions of one request must be about one response")
		}
		before = l
		err := s.decide(ctx, owner, l.render, d)
		if e := render.Failure(err); err != nil && e.Status != http.StatusNotFound && e.Status != http.StatusConflict {
			return nil, err // one that was decided elsewhere goes on too
		}
	}
	rec := record{
		Input: input.Identified(p.decisions, uuid.NewString()), Previous: before.id, Parent: before.record.Parent,
		Loose: before.record.Loose, System: before.record.System, Listed: before.record.Listed,
	}
	echo := p.request.echo(p.tools)
	echo.PreviousResponseID = &before.id
	l := s.newLive(owner, uuid.NewString(), before.turn, rec, echo, p.request.Molar.Events, before.render)
	l.from = before.next
	l.render.Begin(before.turn.Start())
	s.mu.Lock()
	s.live[l.id] = l
	s.mu.Unlock()
	return l, s.follow(ctx, l)
}

// decide hands on what a person says about the call, or to the server, that waits.
func (s *Surface) decide(ctx context.Context, owner string, r *render.Renderer, d input.Item) error {
	if r.Question == nil {
		if d.Approve == nil {
			return wire.Invalid("input", "the response waits for an mcp_approval_response")
		}
		return s.Turns.Decide(ctx, owner, r.Waits.ID, r.Waits.Token, agent.Decision{Allowed: *d.Approve, Scope: d.Scope})
	}
	answer := schemas.Answer{Action: d.Action}
	if wire.IsSet(d.Content) {
		if err := json.Unmarshal(d.Content, &answer.Content); err != nil {
			return wire.Invalid("input", "the content of a molar:answer must be an object: %v", err)
		}
	}
	return s.Turns.Answer(ctx, owner, r.Question.ID, answer)
}

func (l *live) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// whole answers with the response once it has ended.
func (s *Surface) whole(w http.ResponseWriter, r *http.Request, l *live) {
	select {
	case <-l.done:
	case <-r.Context().Done():
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wire.WriteLimit)) // a writer without deadlines has none
	w.Header().Set(turnIDHeader, l.turn.ID)
	if l.failure != nil {
		wire.WriteError(w, l.failure)
		return
	}
	wire.WriteBody(w, http.StatusOK, l.final)
}

// stream tells the events after the one with number n, counted from 1. Until something of
// an answer is told, a failure still gets its status.
func (s *Surface) stream(w http.ResponseWriter, r *http.Request, l *live, n int) {
	st := wire.NewStream(w)
	st.Open = func(h http.Header) { h.Set(turnIDHeader, l.turn.ID) }
	st.Committed = n > 0
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	st.Start(s.KeepAlive, gone)
	defer st.Close()
	for ctx.Err() == nil {
		events, err := l.log.After(ctx, n)
		if err != nil || len(events) == 0 {
			s.endStream(st, l, err, ctx.Err() != nil)
			return
		}
		n += len(events)
		if s.send(st, l, events) != nil {
			return
		}
	}
}

// send writes events, now or with those that follow at once.
func (s *Surface) send(st *wire.Stream, l *live, events []render.Told) error {
	st.Lock()
	defer st.Unlock()
	if ended, err := st.Ended(); ended {
		return err
	}
	last := ""
	for _, ev := range events {
		last = ev.Type
		if (last == "error" || last == "response.failed") && !st.Committed && l.isBlankFailure() {
			return nil // endStream answers with a status
		}
		switch last {
		case "response.queued", "response.created", "response.in_progress":
		default:
			st.Committed = true
		}
		st.Buf = append(st.Buf, "event: "+last+"\n"+wire.EventStart...)
		st.Buf = append(st.Buf, ev.Data...)
		st.Buf = append(st.Buf, wire.EventEnd...)
	}
	if last == "response.output_text.delta" && st.MayWait() {
		return nil
	}
	return st.Write()
}

// isBlankFailure reports whether the response, whose last events are told, failed before
// anything of it was.
func (l *live) isBlankFailure() bool {
	<-l.done // at once
	return l.failure != nil && l.blank
}

// endStream closes a stream whose events are all written, or answers with the failure.
func (s *Surface) endStream(st *wire.Stream, l *live, err error, gone bool) {
	st.Lock()
	defer st.Unlock()
	if ended, _ := st.Ended(); ended || gone {
		return
	}
	if err == nil && l.failure != nil && !st.Committed {
		err = l.failure
	}
	if err != nil && !st.Committed {
		writeError(st.Writer(), err)
		return
	}
	if err != nil || l.failure != nil && !l.render.Began { // nothing of a response stands before it
		e := render.Failure(err)
		if err == nil {
			e = l.failure
		}
		b := render.Encode(render.Event{Type: "error", Error: &render.EventError{Type: e.Kind, Code: &e.Code, Message: e.Message}})
		st.Buf = append(st.Buf, "event: error\n"+wire.EventStart...)
		st.Buf = append(append(st.Buf, b.Data...), wire.EventEnd...)
	}
	st.Committed, st.Done = true, true
	st.Buf = append(st.Buf, wire.EventLast...)
	_ = st.Write() // the reader may be gone
}

// Retrieve answers GET /v1/responses/{id}: as it is, or as a stream from an event on.
func (s *Surface) Retrieve(c *gin.Context) {
	owner, id := s.Owner(c.Request), c.Param("id")
	r, err := s.current(c.Request.Context(), owner, id)
	switch {
	case err != nil:
		writeError(c.Writer, err)
		return
	case r == nil:
		writeError(c.Writer, noResponse())
		return
	case c.Query("stream") != "true":
		wire.WriteBody(c.Writer, http.StatusOK, r.Response)
		return
	}
	after := 0 // events are numbered from 0, and the log counts from 1
	if text := c.Query("starting_after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			writeError(c.Writer, wire.Invalid("starting_after", "starting_after must be the sequence_number of an event"))
			return
		}
		after = n + 1
	}
	l, err := s.seek(c.Request.Context(), owner, id)
	switch {
	case err != nil:
		writeError(c.Writer, err)
		return
	case l != nil:
		s.stream(c.Writer, c.Request, l, after)
		return
	}
	s.streamAgain(c.Writer, r, after)
}

// streamAgain tells a stored response whose events are not held any more. One who has seen
// some of them gets the last alone, which holds all.
func (s *Surface) streamAgain(w http.ResponseWriter, r *record, after int) {
	all := render.Replay(r.Response)
	if after > 0 && len(all) > 0 {
		all = all[len(all)-1:]
		var last render.Event
		if json.Unmarshal(all[0].Data, &last) == nil && last.Sequence < after {
			last.Sequence = after
			all[0] = render.Encode(last)
		}
	}
	st := wire.NewStream(w)
	st.Start(s.KeepAlive, func() {})
	defer st.Close()
	st.Lock()
	defer st.Unlock()
	for _, ev := range all {
		st.Buf = append(st.Buf, "event: "+ev.Type+"\n"+wire.EventStart...)
		st.Buf = append(append(st.Buf, ev.Data...), wire.EventEnd...)
	}
	st.Committed, st.Done = true, true
	st.Buf = append(st.Buf, wire.EventLast...)
	_ = st.Write() // the reader may be gone
}

// Delete answers DELETE /v1/responses/{id}. What a conversation holds of it stays there.
func (s *Surface) Delete(c *gin.Context) {
	owner, id := s.Owner(c.Request), c.Param("id")
	if l := s.find(owner, id); l != nil {
		if !l.ended() {
			l.turn.Stop()
			if !s.await(c, l) {
				return
			}
		}
		s.mu.Lock()
		delete(s.live, id)
		s.mu.Unlock()
	}
	deleted, err := s.Store.Delete(c.Request.Context(), owner, id)
	switch {
	case err != nil:
		s.Turns.Logger.Error("delete a response", "response_id", id, "error", err)
		writeError(c.Writer, wire.ErrStore)
	case !deleted:
		writeError(c.Writer, noResponse())
	default:
		wire.WriteJSON(c.Writer, DeletedObject{ID: id, Object: "response", Deleted: true})
	}
}

// A DeletedObject says what was deleted.
type DeletedObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// await waits a while for the end of a response.
func (s *Surface) await(c *gin.Context, l *live) bool {
	late := time.NewTimer(stopWait)
	defer late.Stop()
	select {
	case <-l.done:
	case <-late.C:
	case <-c.Request.Context().Done():
		return false
	}
	return true
}

// Cancel answers POST /v1/responses/{id}/cancel.
func (s *Surface) Cancel(c *gin.Context) {
	owner, id := s.Owner(c.Request), c.Param("id")
	l, err := s.seek(c.Request.Context(), owner, id)
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	if l != nil && (!l.ended() || l.record.Waits) && !l.turn.IsOver() {
		l.turn.Stop()
		if !s.await(c, l) {
			return
		}
	}
	r, err := s.current(c.Request.Context(), owner, id)
	switch {
	case err != nil:
		writeError(c.Writer, err)
	case r == nil:
		writeError(c.Writer, noResponse())
	default:
		wire.WriteBody(c.Writer, http.StatusOK, r.Response)
	}
}

// InputItems answers GET /v1/responses/{id}/input_items.
func (s *Surface) InputItems(c *gin.Context) {
	r, err := s.record(c.Request.Context(), s.Owner(c.Request), c.Param("id"))
	switch {
	case err != nil:
		writeError(c.Writer, err)
	case r == nil:
		writeError(c.Writer, noResponse())
	default:
		render.WritePage(c, r.Input)
	}
}
