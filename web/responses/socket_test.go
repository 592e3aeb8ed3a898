package responses_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/web"
)

// A socket is a client's WebSocket.
type socket struct {
	*host
	conn *websocket.Conn
}

func (h *host) dial() *socket {
	h.t.Helper()
	conn, res, err := websocket.Dial(h.t.Context(), h.url+"/v1/responses", nil)
	if err != nil {
		h.t.Fatal(err, res)
	}
	conn.SetReadLimit(1 << 20)
	h.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{h, conn}
}

func (s *socket) send(body string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(body)); err != nil {
		s.t.Fatal(err)
	}
}

// receive returns the messages up to the last one of an answer. It checks each against the schema.
func (s *socket) receive() []object {
	s.t.Helper()
	var events []object
	for {
		_, data, err := s.conn.Read(s.t.Context())
		if err != nil {
			s.t.Fatal(err, types(events))
		}
		if head := read(s.t, data); head["type"] == "error" {
			conforms(s.t, "WebSocketErrorEvent", head)
			return append(events, head)
		}
		ev := checkEvent(s.t, data)
		events = append(events, ev)
		switch ev["type"] {
		case "response.completed", "response.failed", "response.incomplete":
			return events
		}
	}
}

// ask sends the fields of a message and returns the response in the last message of its answer.
func (s *socket) ask(fields string) object {
	s.t.Helper()
	s.send(`{"type":"response.create",` + fields + `}`)
	events := s.receive()
	r, ok := events[len(events)-1]["response"].(object)
	if !ok {
		s.t.Fatalf("%s: %v", fields, events)
	}
	return r
}

// fails sends a message that must fail, and returns status, code and param of the error.
func (s *socket) fails(message string) (status float64, code, param string) {
	s.t.Helper()
	s.send(message)
	events := s.receive()
	last := events[len(events)-1]
	if len(events) != 1 || last["type"] != "error" {
		s.t.Fatalf("%s: %v", message, types(events))
	}
	param, _ = at(last, "error", "param").(string)
	return last["status"].(float64), at(last, "error", "code").(string), param
}

func TestSocket_Turns(t *testing.T) {
	h := serve(t, play(text("Brush "), text("twice."), done()))
	s := h.dial()
	s.send(`{"type":"response.create","input":"one"}`)
	s.send(`{"type":"response.create","input":"two","model":"dental"}`) // waits for its turn
	want := "response.created response.in_progress response.output_item.added response.content_part.added " +
		"response.output_text.delta response.output_text.delta response.output_text.done " +
		"response.content_part.done response.output_item.done response.completed"
	for range 2 {
		if got := strings.Join(types(s.receive()), " "); got != want {
			t.Errorf("events %s", got)
		}
	}
	r := s.ask(`"input":"three"`)
	if again := h.get(id(r)); at(again, "output", 0, "content", 0, "text") != "Brush twice." {
		t.Errorf("response %v", again)
	}
}

// An unstored response can be continued only on its connection, and only if it is the newest.
func TestSocket_Chain(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	s := h.dial()
	first := s.ask(`"input":"one","store":false`)
	second := s.ask(`"input":"two","store":false,"previous_response_id":"` + id(first) + `"`)
	s.ask(`"input":"three","store":false,"previous_response_id":"` + id(second) + `"`)
	var messages []string
	for _, m := range h.turn(2).Messages {
		messages = append(messages, m.Said())
	}
	if got := strings.Join(messages, ","); got != "one,ok,two,ok,three" || !h.turn(2).Stateless {
		t.Errorf("the model would see %s", got)
	}
	gone := `{"type":"response.create","input":"x","store":false,"previous_response_id":"` + id(first) + `"}`
	for name, from := range map[string]*socket{"an older response": s, "another connection": h.dial()} {
		if status, code, _ := from.fails(gone); status != http.StatusBadRequest || code != "previous_response_not_found" {
			t.Errorf("%s: status %v, code %q", name, status, code)
		}
	}
	if status, _ := h.do(http.MethodGet, "/v1/responses/"+id(second), ""); status != http.StatusNotFound {
		t.Errorf("it was stored: status %d", status)
	}
}

func TestSocket_StoredAfterUnstored(t *testing.T) {
	s := serve(t, play(text("ok"), done())).dial()
	first := s.ask(`"input":"one","store":false`)
	if status, _, param := s.fails(`{"type":"response.create","input":"two","previous_response_id":"` + id(first) + `"}`); status != http.StatusBadRequest || param != "store" {
		t.Errorf("status %v, param %q", status, param)
	}
}

// A failed continuation removes the response that it continues.
func TestSocket_Evicts(t *testing.T) {
	for name, fails := range map[string]string{
		"in the request": `"input":[{"type":"function_call_output","call_id":"none","output":"x"}]`, "in the turn": `"input":"break"`,
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, func(_ context.Context, turn agent.Turn, say func(answer.Event) bool) error {
				if q, _ := turn.Question(); q == "break" {
					return agent.ErrUnavailable
				}
				say(text("ok"))
				say(done())
				return nil
			})
			s := h.dial()
			first := s.ask(`"input":"one","store":false`)
			previous := `"store":false,"previous_response_id":"` + id(first) + `"`
			s.send(`{"type":"response.create",` + fails + `,` + previous + `}`)
			events := s.receive()
			if last := events[len(events)-1]; last["type"] == "response.completed" {
				t.Fatalf("%v", types(events))
			}
			if _, code, _ := s.fails(`{"type":"response.create","input":"x",` + previous + `}`); code != "previous_response_not_found" {
				t.Errorf("code %q", code)
			}
			s.ask(`"input":"anew","store":false`)
		})
	}
}

// A conversation that a response only reads precedes the chain of the connection.
func TestSocket_ReadsConversation(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	s := h.dial()
	first := s.ask(`"input":"one","store":false,"conversation":"known"`)
	if turn := h.turn(0); !turn.ReadOnly || turn.ConversationID != "known" {
		t.Errorf("turn %+v", turn)
	}
	s.ask(`"input":"two","store":false,"previous_response_id":"` + id(first) + `"`)
	if m := h.turn(1).Messages; len(m) != 5 || m[0].Said() != "where?" || m[2].Said() != "one" || !h.turn(1).Stateless {
		t.Errorf("messages %+v", m)
	}
}

func TestSocket_Refuses(t *testing.T) {
	h := serve(t, play(done()))
	s := h.dial()
	for message, param := range map[string]string{
		`{"type":"response.create","input":"x","stream":true}`:           "stream",
		`{"type":"response.create","input":"x","stream_options":{}}`:     "stream_options",
		`{"type":"response.create","input":"x","background":false}`:      "background",
		`{"type":"response.create","input":"x","generate":false}`:        "generate",
		`{"type":"response.create"}`:                                     "input",
		`{"type":"response.cancel"}`:                                     "type",
		`{"input":"x"}`:                                                  "type",
		`not json`:                                                       "",
		`{"type":"response.create","input":"x","top_logprobs":3}`:        "top_logprobs",
		`{"type":"response.create","input":"x","input":"y"}`:             "",
		`{"type":"response.create","input":"x","conversation":"a b"}`:    "conversation",
		`{"type":"response.create","input":[{"role":"x","content":""}]}`: "input[0].role",
	} {
		if status, _, got := s.fails(message); status != http.StatusBadRequest || got != param {
			t.Errorf("%s: status %v, param %q", message, status, got)
		}
	}
	if len(h.asked) != 0 {
		t.Errorf("%d turns were begun", len(h.asked))
	}
}

// The guard also checks the handshake.
func TestSocket_Guarded(t *testing.T) {
	h := serve(t, play(done()))
	for name, options := range map[string]*websocket.DialOptions{
		"origin": {HTTPHeader: http.Header{"Origin": {"https://evil.example"}}}, "host": {Host: "evil.example"},
	} {
		_, res, err := websocket.Dial(t.Context(), h.url+"/v1/responses", options)
		if err == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v, %v", name, err, res)
		}
	}
	if status, data := h.do(http.MethodGet, "/v1/responses", ""); status != http.StatusUpgradeRequired || at(read(t, data), "error", "code") != "upgrade_required" {
		t.Errorf("status %d: %s", status, data)
	}
}

// Each message counts as a turn of the connection's key, and requires that the key is still valid.
func TestSocket_Keys(t *testing.T) {
	ring := httpguard.NewKeyring(nil)
	ring.Set([]httpguard.Key{{ID: "k", Owner: "k", Hash: httpguard.HashOf("text"), Scopes: []string{httpguard.ScopeChat}}})
	limit, err := httpguard.NewLimiter(1.0/3600, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := serveWith(t, play(text("ok"), done()), func(c *web.Config) { c.Access = web.Access{Keys: ring, Turns: limit} })
	if _, res, err := websocket.Dial(t.Context(), h.url+"/v1/responses", nil); err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %v, %v", err, res)
	}
	conn, _, err := websocket.Dial(t.Context(), h.url+"/v1/responses", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer text"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // the test is over
	s := &socket{h, conn}
	for range 2 {
		s.ask(`"input":"x"`)
	}
	if owner := h.turn(0).Owner; owner != "k" {
		t.Errorf("owner %q", owner)
	}
	const message = `{"type":"response.create","input":"x"}`
	if status, _, _ := s.fails(message); status != http.StatusTooManyRequests {
		t.Errorf("a third turn: status %v", status)
	}
	ring.Set([]httpguard.Key{{ID: "other", Hash: httpguard.HashOf("other")}})
	if status, _, _ := s.fails(message); status != http.StatusUnauthorized {
		t.Errorf("after the key ended: status %v", status)
	}
}

// If a client leaves, its turn ends.
func TestSocket_ClientLeaves(t *testing.T) {
	ended := make(chan struct{})
	h := serve(t, func(ctx context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		say(text("One "))
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	s := h.dial()
	s.send(`{"type":"response.create","input":"x"}`)
	for message := ""; !strings.Contains(message, "One "); { // the first events come before the turn runs
		_, data, err := s.conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		message = string(data)
	}
	_ = s.conn.CloseNow()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the turn runs on")
	}
}

// A message that is too long ends the connection, and so does the shutdown of the host.
func TestSocket_Ends(t *testing.T) {
	var cfg web.Config
	h := serveWith(t, play(text("ok"), done()), func(c *web.Config) { c.MaxBody = 1000; cfg = *c })
	long := h.dial()
	input, _ := json.Marshal(strings.Repeat("x", 2000))
	long.send(`{"type":"response.create","input":` + string(input) + `}`)
	if _, _, err := long.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v", err)
	}
	s := h.dial()
	s.ask(`"input":"one"`)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		cfg.Turns.Drain(t.Context())
	}()
	if _, _, err := s.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("closed with %v", err)
	}
	<-drained
}
