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
	"molar/schemas/responses"
	"molar/web/wire"
)

// turnIDHeader names the turn for clients that follow or stop it.
const turnIDHeader = "X-Turn-Id"

// stopWait is how long a request to cancel a response waits for its end.
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

// start starts the requested turn, or continues a paused one.
func (s *Surface) start(r *http.Request, q *Request) (*live, error) {
	p, err := s.plan(r.Context(), s.Owner(r), q)
	if err != nil {
		return nil, err
	}
	if len(p.decisions) > 0 {
		return s.resume(r.Context(), s.Decider(r), p)
	}
	s.SetOrigins(r, &p.turn)
	return s.begin(r.Context(), p)
}

// leave ends the turn if its client has disconnected before the response ended.
func (s *Surface) leave(ctx context.Context, l *live) {
	select {
	case <-l.done:
	default:
		if ctx.Err() != nil {
			l.turn.Abandon()
		}
	}
}

// resume passes decisions to the pending calls or questions, and renders the rest of their turn as
// a new response.
func (s *Surface) resume(ctx context.Context, by schemas.Decider, p *plan) (*live, error) {
	owner := by.Owner
	var before *live
	for _, d := range p.decisions {
		request := cmp.Or(d.ApprovalRequestID, d.QuestionID)
		l := s.find(owner, responseOf(request))
		if l == nil || l.render == nil || !l.ended() || !l.render.EndedIn(request) {
			return nil, &wire.Error{
				Status: http.StatusNotFound, Kind: typeNotFound, Code: "approval_not_found", Param: "input",
				Message: "no call waits under this approval_request_id, and no server under this question_id: the turn has ended, or the host was restarted",
			}
		}
		if before != nil && before != l {
			return nil, wire.Invalid("input", "the decisions of one request must be about one response")
		}
		before = l
		err := s.decide(ctx, by, l.render, d)
		if e := failure(err); err != nil && e.Status != http.StatusNotFound && e.Status != http.StatusConflict {
			return nil, err // a call that was decided elsewhere continues too
		}
	}
	rec := record{
		Input: identified(p.decisions, uuid.NewString()), Previous: before.id, Parent: before.record.Parent,
		Loose: before.record.Loose, System: before.record.System, Listed: before.record.Listed,
		rendering: p.request.rendering(p.tools),
	}
	if len(p.request.Tools) == 0 { // a decision need not repeat the tools
		rec.Functions, rec.Searches = before.record.Functions, before.record.Searches
	}
	echo := p.request.echo(p.tools)
	echo.PreviousResponseID = &before.id
	l := s.newLive(owner, schemas.NewID(), before.turn, rec, echo, before.render)
	l.from = before.next
	l.render.Begin(before.turn.Start())
	s.mu.Lock()
	s.live[l.id] = l
	s.mu.Unlock()
	return l, s.follow(ctx, l)
}

// decide passes a person's decision to the pending call, or the answer to the waiting server.
func (s *Surface) decide(ctx context.Context, by schemas.Decider, r *renderer, d responses.Item) error {
	if r.Question == nil {
		if d.Approve == nil {
			return wire.Invalid("input", "the response waits for an mcp_approval_response")
		}
		return s.Turns.Decide(ctx, by, r.Approval.ID, r.Approval.Token, agent.Decision{Allowed: *d.Approve, Scope: agent.Scope(d.Scope), Destination: d.Destination})
	}
	var answer schemas.Answer
	if wire.IsSet(d.Action) {
		if err := wire.Decode(d.Action, &answer.Action, "input.action"); err != nil {
			return err
		}
	}
	if wire.IsSet(d.Content) {
		if err := json.Unmarshal(d.Content, &answer.Content); err != nil {
			return wire.Invalid("input", "the content of a molar:answer must be an object: %v", err)
		}
	}
	return s.Turns.Answer(ctx, by.Owner, r.Question.ID, answer)
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
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wire.WriteLimit)) // the error means a writer without deadlines
	w.Header().Set(turnIDHeader, l.turn.ID)
	if l.failure != nil {
		wire.WriteError(w, l.failure)
		return
	}
	wire.WriteBody(w, http.StatusOK, l.final)
}

// Retrieve answers GET /v1/responses/{id}: whole, or as a stream after an event.
func (s *Surface) Retrieve(c *gin.Context) {
	owner, id := s.Owner(c.Request), c.Param("id")
	stream, err := strconv.ParseBool(cmp.Or(c.Query("stream"), "false"))
	if err != nil {
		err = wire.Invalid("stream", "stream must be true or false")
	}
	if err = cmp.Or(err, checkQuery(c)); err != nil {
		writeError(c.Writer, err)
		return
	}
	r, err := s.current(c.Request.Context(), owner, id)
	switch {
	case err != nil:
		writeError(c.Writer, err)
		return
	case r == nil:
		writeError(c.Writer, noResponse())
		return
	case !stream:
		wire.WriteBody(c.Writer, http.StatusOK, r.Response)
		return
	}
	after := 0 // events are numbered from 0, log entries from 1
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

// Delete answers DELETE /v1/responses/{id}. Its turn stays in the conversation.
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
	deleted, err := s.Store.DeleteResponse(c.Request.Context(), owner, id)
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

// A DeletedObject reports a deletion.
type DeletedObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// await waits for the end of a response, up to stopWait. It returns false if the client has
// disconnected.
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
		writePage(c, r.Input, nil)
	}
}
