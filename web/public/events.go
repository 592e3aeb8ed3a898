package public

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/pages"
	"molar/web/turns"
	"molar/web/wire"
)

// renderEvery is how often the HTML of a growing answer is sent: its open block is sent whole each time,
// and the line of a phone may be slow.
const renderEvery = 200 * time.Millisecond

// events answers GET /embed/turns/{id}/events with the events after Last-Event-ID, or all.
func (s *Surface) events(c *gin.Context, v visitor) {
	last := 0
	if text := c.GetHeader("Last-Event-ID"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			s.fail(c, &failure{Status: http.StatusBadRequest, Code: "invalid"})
			return
		}
		last = n
	}
	defer s.streams.leave(s.client(c))
	if full := s.enter(c); full != nil {
		s.fail(c, full)
		return
	}
	t, ok := s.turn(c, v)
	if !ok {
		return
	}
	has := t.NumberOf(last)
	have, gone, ended := t.Log.State()
	switch {
	case has < gone:
		s.fail(c, failureOf(turns.ErrEventsLost, s.Now()))
	case ended && has >= have && !t.IsBroken():
		c.Status(http.StatusNoContent)
	default:
		s.follow(c, t, last, languageOf(c.Request, ""))
	}
}

// addressStreams is how many streams one address may have open at this process.
const addressStreams = 40

// streams counts the open streams of each address.
type streams struct {
	mu   sync.Mutex
	open map[string]int
}

// enter counts one more, and returns how many there are.
func (s *streams) enter(client string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[client]++
	return s.open[client]
}

func (s *streams) leave(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[client]--; s.open[client] <= 0 {
		delete(s.open, client)
	}
}

// client names the address of a request in this process.
func (s *Surface) client(c *gin.Context) string { return httpguard.ClientName(s.Clients.Of(c.Request)) }

// enter counts a stream of the request's address, which leaves in any case. It returns why it may not be sent.
func (s *Surface) enter(c *gin.Context) *failure {
	if s.streams.enter(s.client(c)) <= addressStreams {
		return nil
	}
	return &failure{Status: http.StatusTooManyRequests, Code: "too_many_requests"}
}

// follow sends the events of a turn after the one with the id last.
func (s *Surface) follow(c *gin.Context, t *turns.Live, last int, lang string) {
	f := t.Follow(c.Request.Context(), last)
	defer f.End()
	st := &stream{Stream: wire.NewStream(c.Writer), surface: s, lang: lang, turn: t.ID}
	if seen, whole := t.SeenUntil(t.NumberOf(last)); whole {
		st.html = pages.NewFeed(s.HTML(), seen)
	}
	st.Committed = true // an error of a turn is an event: the turn has begun, and can be followed
	st.Start(s.KeepAlive, f.Stop)
	defer st.Close()
	for it := range f.Items() {
		if st.send(it) != nil {
			return
		}
	}
	_ = st.send(turns.Item{Err: turns.ErrCut}) // without effect after the end
}

// A stream writes the events of a turn for its visitor.
type stream struct {
	*wire.Stream
	surface *Surface
	lang    string
	turn    string
	html    *pages.Feed
	// rendered is when HTML was sent last.
	rendered time.Time
}

// The data of events.
type (
	startEvent struct {
		Turn string `json:"turn"`
	}
	textEvent struct {
		Text string `json:"text"`
	}
	sourcesEvent struct {
		Sources []source `json:"sources"`
	}
	doneEvent struct {
		// WithDesk is set if the message went to the desk, Handover if one is offered, and why, and
		// Refused if the question was refused.
		WithDesk bool                   `json:"with_desk"`
		Handover schemas.HandoverReason `json:"handover"`
		Refused  bool                   `json:"refused"`
	}
)

// A source is a page that an answer is from.
type source struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// sourcesOf returns the sources that a stranger can open.
func sourcesOf(all []schemas.Source) []source {
	var open []source
	for _, one := range all {
		if u, err := url.Parse(one.URL); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			open = append(open, source{one.Title, one.URL})
		}
	}
	return open
}

// send writes what a visitor may know of an item.
func (st *stream) send(it turns.Item) error {
	st.Lock()
	defer st.Unlock()
	if ended, err := st.Ended(); ended || st.Done {
		return err
	}
	if it.Err != nil {
		return st.finish("error", json.RawMessage(st.errorOf(it.Err)), it.Number)
	}
	ev := it.Event
	switch ev.Kind {
	case answer.KindStart:
		st.add("start", startEvent{st.turn}, it.Number)
	case answer.KindText:
		if ev.Text == "" {
			return nil
		}
		st.html.Add(ev)
		st.add("text", textEvent{ev.Text}, it.Number)
		if now := time.Now(); now.Sub(st.rendered) >= renderEvery {
			st.rendered = now
			st.render(false)
		} else if st.MayWait() {
			return nil
		}
	case answer.KindCommentary, answer.KindReset:
		st.html.SetApart(ev)
		st.add("reset", struct{}{}, it.Number)
	case answer.KindSources:
		st.add("sources", sourcesEvent{sourcesOf(ev.Sources)}, it.Number)
	case answer.KindWarning:
		if told, ours := warnings()[string(ev.Code)]; ours {
			st.add("warning", textEvent{told.in(st.lang)}, it.Number)
		}
	case answer.KindDone:
		return st.finishWith(ev.Done, it.Number)
	default: // how an assistant works is not for strangers
		return nil
	}
	return st.Write()
}

// finishWith writes the end of a turn.
func (st *stream) finishWith(d *answer.Done, number int) error {
	if d == nil {
		d = &answer.Done{}
	}
	if len(d.Unapproved) > 0 {
		st.add("warning", textEvent{denied().in(st.lang)}, 0)
	}
	return st.finish("done", doneEvent{d.WithDesk, d.Handover, d.Refused}, number)
}

// finish writes the last event.
func (st *stream) finish(name string, data any, number int) error {
	st.render(true)
	st.add(name, data, number)
	st.Done = true
	return st.Write()
}

func (st *stream) errorOf(err error) []byte {
	f := failureOf(err, st.surface.Now())
	if f.Code == "budget_exceeded" {
		st.surface.Refused("budget")
	}
	b, _ := json.Marshal(f.told(st.lang)) // strings cannot fail to marshal
	return b
}

// render adds the HTML of the text since its last call. last means that no text will follow.
func (st *stream) render(last bool) {
	if st.html == nil {
		return
	}
	if note := st.html.Note(last); note != nil {
		st.add("html", json.RawMessage(note), 0)
	}
}

// add adds an event; one without a number is not counted when the stream is followed again.
func (st *stream) add(name string, data any, number int) {
	b, err := json.Marshal(data)
	if err != nil {
		return // its data are strings
	}
	if number > 0 {
		st.Buf = append(st.Buf, "id: "+strconv.Itoa(number)+"\n"...)
	}
	st.Buf = append(st.Buf, "event: "+name+"\n"+wire.EventStart...)
	st.Buf = append(st.Buf, b...)
	st.Buf = append(st.Buf, wire.EventEnd...)
}
