package web_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/providers"
	"molar/schemas"
	"molar/web"
	"molar/web/public"
)

// A crowd answers visitors, stores their conversations by owner, and counts their questions.
type crowd struct {
	fakeStore
	somePeople
	mu     sync.Mutex
	talks  map[string][]schemas.StoredMessage
	turns  []agent.Turn
	counts map[string]int
	marks  map[string]schemas.Feedback
	now    time.Time
	down   error
	// gate holds answers back until it is closed, if it is set.
	gate    chan struct{}
	refused []string
}

func (h *crowd) answer(ctx context.Context, t agent.Turn, yield func(answer.Event) bool) error {
	asked, _ := t.Question()
	h.mu.Lock()
	h.turns = append(h.turns, t)
	gate := h.gate
	h.mu.Unlock()
	yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: t.ID, ConversationID: t.ConversationID, Assistant: "dental"}})
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if asked == "spend" {
		return &providers.Error{Kind: providers.KindBudget, Err: errSecret, RetryAfter: time.Hour}
	}
	if asked == "break" {
		return errSecret
	}
	yield(answer.Event{Kind: answer.KindStep, Step: "1", Text: "secret step"})
	yield(answer.Event{Kind: answer.KindWarning, Code: answer.CodeServerMissing, Text: "secret server is gone", Server: "secret", Lasting: true})
	yield(answer.Event{Kind: answer.KindWarning, Code: answer.CodeNoSources, Text: "secret search failed"})
	yield(text("let me look at secret notes"))
	yield(answer.Event{Kind: answer.KindCommentary, Text: "let me look at secret notes"})
	call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "secret__tool", Arguments: `{"secret":1}`}}
	yield(answer.Event{Kind: answer.KindToolCall, Call: &call, Server: "secret", ToolName: "secret"})
	yield(answer.Event{Kind: answer.KindToolResult, Call: &call, Server: "secret", ToolName: "secret", Result: &schemas.ToolResult{Output: json.RawMessage(`"secret"`)}})
	yield(answer.Event{Kind: answer.KindThinking, Text: "secret thought"})
	said := "About **" + asked + "**."
	yield(text(said))
	yield(answer.Event{Kind: answer.KindSources, Sources: []schemas.Source{{Title: "Teeth", URL: "https://example.com/teeth"}, {Title: "Notes", URL: "secret://notes"}}})
	h.mu.Lock()
	n := int64(len(h.talks[t.Owner]))
	h.talks[t.Owner] = append(h.talks[t.Owner],
		schemas.StoredMessage{Seq: n + 1, Role: schemas.RoleUser, Content: asked, TurnID: t.ID, Timestamp: h.now},
		schemas.StoredMessage{Seq: n + 2, Role: schemas.RoleAssistant, Content: said, TurnID: t.ID, Timestamp: h.now, Assistant: "dental", Calls: json.RawMessage(`["secret"]`)})
	h.mu.Unlock()
	yield(answer.Event{Kind: answer.KindDone, Done: &answer.Done{Finish: "stop", Provider: "secret", Model: "secret", Saved: true, Unapproved: []string{"secret__tool"}}})
	return nil
}

var errSecret = &secretError{}

type secretError struct{}

func (*secretError) Error() string { return "the secret endpoint failed" }

func (h *crowd) Messages(_ context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != schemas.VisitorConversation(owner) {
		return nil, "", false, h.down
	}
	return slices.Clone(h.talks[owner]), "a secret summary", true, h.down
}

func (h *crowd) ErasePerson(_ context.Context, owner string) (schemas.Erased, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.talks, owner)
	return schemas.Erased{"conversations": 1}, h.down
}

func (h *crowd) ExportPerson(_ context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		_ = yield(schemas.PersonRecord{Kind: "traces", Data: []byte(`{"prompt":"secret"}`)}, h.down) &&
			yield(schemas.PersonRecord{Kind: "requests for a person", Data: []byte(`{"contact":"0900 of ` + owner + `"}`)}, h.down)
	}
}

func (h *crowd) PutFeedback(_ context.Context, f schemas.Feedback) (schemas.Feedback, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.talks[f.Owner], func(m schemas.StoredMessage) bool { return m.TurnID == f.TurnID }) {
		return f, false, nil
	}
	h.marks[f.TurnID] = f
	return f, true, nil
}

func (h *crowd) ListFeedback(_ context.Context, owner string, _ schemas.FeedbackFilter) (all []schemas.Feedback, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.marks {
		if f.Owner == owner {
			all = append(all, f)
		}
	}
	return all, h.down
}

// count counts within one hour that never ends.
func (h *crowd) count(_ context.Context, limits []schemas.CountedLimit) (*schemas.LimitRefusal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down != nil {
		return nil, h.down
	}
	for _, l := range limits {
		if h.counts[l.Name] >= l.Count {
			return &schemas.LimitRefusal{Limit: l, Until: h.now.Add(90 * time.Second)}, nil
		}
	}
	for _, l := range limits {
		h.counts[l.Name]++
	}
	return nil, nil
}

// open returns the handler of a host with a key and an assistant for visitors.
func (h *crowd) open(t *testing.T, change func(*web.Config)) http.Handler {
	t.Helper()
	h.talks, h.counts, h.marks, h.now = map[string][]schemas.StoredMessage{}, map[string]int{}, map[string]schemas.Feedback{}, created
	cfg := config(t, script(h.answer))
	ring := httpguard.NewKeyring(nil)
	ring.Set([]httpguard.Key{{ID: "k1", Owner: "staff", Hash: httpguard.HashOf("key"), Scopes: httpguard.Scopes()}})
	clients, err := httpguard.NewAddresses([]string{"192.0.2.1"}) // the address of httptest's requests
	if err != nil {
		t.Fatal(err)
	}
	cfg.Access = web.Access{Keys: ring, Clients: clients}
	cfg.Conversations, cfg.Traces, cfg.Feedback, cfg.People = h, h, h, h
	cfg.Public = &public.Config{
		Assistant: "dental", Origins: []string{"https://www.clinic.example", "https://clinic.example"},
		Title: map[string]string{"vi": "Hỏi phòng khám", "en": `Ask "us" </script>`}, Notice: map[string]string{"en": "A machine answers."},
		Limits: public.Limits{Visitor: schemas.Rate{Count: 2, Per: time.Hour}, Address: schemas.Rate{Count: 5, Per: time.Hour}, All: schemas.Rate{Count: 7, Per: time.Hour}},
		Count:  h.count, Secret: []byte("0123456789abcdef0123456789abcdef"), Keep: 24 * time.Hour,
		Emergency: func(assistant, text string) (string, bool) {
			return "Call 115.", assistant == "dental" && strings.Contains(text, "bleeding")
		},
		Refused: func(limit string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.refused = append(h.refused, limit)
		},
	}
	if change != nil {
		change(&cfg)
	}
	return build(t, cfg)
}

// A guest is a visitor from an address.
type guest struct {
	t             *testing.T
	to            http.Handler
	from          string
	cookie, token string
}

// arrive makes a visitor with a cookie.
func arrive(t *testing.T, to http.Handler, from string) *guest {
	t.Helper()
	g := &guest{t: t, to: to, from: from}
	w := g.send(http.MethodPost, "/embed/visit", `{"storage":false}`)
	if w.Code != http.StatusOK || g.cookie == "" || w.Body.String() != "{}" {
		t.Fatalf("%d %s, cookie %q", w.Code, w.Body, g.cookie)
	}
	return g
}

func (g *guest) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	g.t.Helper()
	r := request(method, path, body)
	r.Header.Set("X-Forwarded-For", g.from)
	if g.cookie != "" {
		r.Header.Set("Cookie", public.Cookie+"="+g.cookie)
	}
	if g.token != "" {
		r.Header.Set(public.Header, g.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := serve(g.to, r)
	for _, c := range w.Result().Cookies() {
		if c.Name == public.Cookie {
			g.cookie = c.Value
		}
	}
	return w
}

func (g *guest) ask(text string) *httptest.ResponseRecorder {
	g.t.Helper()
	body, err := json.Marshal(map[string]string{"text": text, "lang": "en"})
	if err != nil {
		g.t.Fatal(err)
	}
	return g.send(http.MethodPost, "/embed/chat", string(body))
}

func (g *guest) owner() string {
	token, _, _ := strings.Cut(g.cookie, ".")
	return schemas.VisitorOwner(token)
}

// want fails the test unless an answer has a status and holds the texts.
func want(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("the answer lacks %q: %s", text, w.Body)
		}
	}
}

// A visitor asks, reads, marks, exports and forgets one conversation; nothing that the operator knows
// leaves the host, and the turn may do nothing that a visitor may not.
func TestVisitors(t *testing.T) {
	h := &crowd{}
	to := h.open(t, nil)
	g := arrive(t, to, "203.0.113.7")
	asked := g.ask("my molar")
	want(t, asked, http.StatusOK, "event: start\n", "event: reset\n", `strong\u003emy molar\u003c`, `{"sources":[{"title":"Teeth","url":"https://example.com/teeth"}]}`,
		`event: warning`, "Nothing could be looked up", "may not do a part of this", `event: done`+"\n"+`data: {"with_desk":false,"handover":"","refused":false}`)
	turn := h.turns[0]
	if turn.Owner != g.owner() || turn.ConversationID != schemas.VisitorConversation(g.owner()) || !turn.Visitor || !turn.AskNever || turn.SystemFrom != schemas.FromClient ||
		turn.Caller.ID != "" || turn.Rights.Assistant("other") || !turn.Rights.Assistant("dental") || turn.Approver != nil || turn.Person != nil {
		t.Errorf("the turn may do too much: %+v", turn)
	}
	want(t, g.send(http.MethodPost, "/embed/turns/"+turn.ID+"/feedback", `{"mark":"poor","note":"too short"}`), http.StatusNoContent)
	read := g.send(http.MethodGet, "/embed/conversation", "")
	want(t, read, http.StatusOK, `"consent":{"required":false`, `"by":"visitor","text":"my molar"`, `"by":"assistant"`, `"mark":"poor","note":"too short"`)
	want(t, g.send(http.MethodGet, "/embed/news?after=1", ""), http.StatusOK, `"messages":[{"seq":2`)
	exported := g.send(http.MethodGet, "/embed/export", "")
	want(t, exported, http.StatusOK, `"text": "my molar"`, `"mark": "poor"`, "0900 of "+g.owner())
	for what, body := range map[string]string{"the answer": asked.Body.String(), "the conversation": read.Body.String(), "the export": exported.Body.String()} {
		if body = strings.ReplaceAll(body, "let me look at secret notes", ""); strings.Contains(body, "secret") {
			t.Errorf("%s has what is the operator's: %s", what, body)
		}
	}
	want(t, g.send(http.MethodDelete, "/embed/conversation", ""), http.StatusNoContent)
	want(t, g.send(http.MethodGet, "/embed/conversation", ""), http.StatusOK, `"messages":[]`)
	want(t, g.send(http.MethodGet, "/embed/turns/"+turn.ID+"/events", ""), http.StatusNotFound, `"code":"not_found"`)
	g.ask("again")
	want(t, g.ask("and again"), http.StatusTooManyRequests, `"limit":"visitor"`) // what was forgotten still counts
}

// Nothing that one visitor presents or names reaches another's conversation.
func TestVisitors_Apart(t *testing.T) {
	h := &crowd{}
	to := h.open(t, nil)
	ann, bob := arrive(t, to, "203.0.113.7"), arrive(t, to, "203.0.113.8")
	want(t, ann.ask("ann's question"), http.StatusOK)
	turn := h.turns[0].ID
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/embed/turns/" + turn + "/events", ""},
		{"DELETE", "/embed/turns/" + turn, ""},
		{"POST", "/embed/turns/" + turn + "/feedback", `{"mark":"poor"}`},
	} {
		want(t, bob.send(tt.method, tt.path, tt.body), http.StatusNotFound, `"code":"not_found"`)
	}
	for _, path := range []string{"/embed/conversation?owner=" + ann.owner(), "/embed/news?conversation_id=" + schemas.VisitorConversation(ann.owner()), "/embed/export?id=" + ann.owner()} {
		if w := bob.send(http.MethodGet, path, ""); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "ann's") {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	}
	want(t, bob.send(http.MethodDelete, "/embed/conversation", ""), http.StatusNoContent)
	want(t, ann.send(http.MethodGet, "/embed/conversation", ""), http.StatusOK, "ann's question")
	owner := ann.owner() // the hash of a token is in logs, and must not open anything
	for _, value := range []string{owner, strings.TrimPrefix(owner, "visitor:"), schemas.VisitorConversation(owner), "", "x", strings.Repeat("A", 44), ann.cookie + "=", " " + ann.cookie} {
		thief := &guest{t: t, to: to, from: "203.0.113.9", token: value}
		if w := thief.send(http.MethodGet, "/embed/conversation", ""); value != "" && w.Code != http.StatusUnauthorized {
			t.Errorf("token %q: %d %s", value, w.Code, w.Body)
		}
	}
}

// A visitor's token opens nothing but the routes of visitors, and keys open none of these.
func TestVisitors_NothingElse(t *testing.T) {
	to := (&crowd{}).open(t, nil)
	g := arrive(t, to, "203.0.113.7")
	for _, method := range []string{"GET", "POST", "DELETE", "PATCH"} {
		for _, path := range []string{
			"/", "/v1/models", "/v1/conversations", "/v1/conversations/" + schemas.VisitorConversation(g.owner()), "/v1/chat/completions", "/chat", "/v1/responses",
			"/v1/turns/t1", "/v1/turns/t1/events", "/v1/tools", "/v1/account", "/v1/account/export", "/v1/people", "/v1/me", "/v1/feedback", "/v1/setup", "/openapi.json", "/desk", "/metrics", "/embedded", "/static/chat.js",
		} {
			if w := g.send(method, path, ""); w.Code != http.StatusNotFound {
				t.Errorf("%s %s with a visitor's cookie: %d %s", method, path, w.Code, w.Body)
			}
			header := &guest{t: t, to: to, from: g.from, token: g.cookie}
			if w := header.send(method, path, "", "Authorization", "Bearer wrong"); w.Code != http.StatusNotFound {
				t.Errorf("%s %s with a visitor's header: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	staff := &guest{t: t, to: to, from: g.from}
	want(t, staff.send(http.MethodGet, "/embed/conversation", "", "Authorization", "Bearer key"), http.StatusUnauthorized, `"code":"no_visitor"`)
	want(t, staff.send(http.MethodGet, "/v1/models", "", "Authorization", "Bearer key"), http.StatusOK)
	for _, path := range []string{"/embed/", "/embed/static/", "/embed/static/..%2f..%2fpublic.go", "/embed/static/.gitkeep", "/embed/mark", "/embed/nothing", "/embed/static/embed.html"} {
		if w := g.send(http.MethodGet, path, ""); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Pages of other sites, and bodies that are not what the frame sends, are refused.
func TestVisitors_Refused(t *testing.T) {
	h := &crowd{}
	to := h.open(t, nil)
	g := arrive(t, to, "203.0.113.7")
	long := strings.Repeat("ă", public.MaxText+1)
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		code               string
		headers            []string
	}{
		"another origin":       {"POST", "/embed/chat", `{"text":"hi"}`, 403, "cross_origin", []string{"Origin", "https://evil.example"}},
		"the site itself":      {"POST", "/embed/chat", `{"text":"hi"}`, 403, "cross_origin", []string{"Origin", "https://www.clinic.example"}},
		"no origin":            {"POST", "/embed/chat", `{"text":"hi"}`, 403, "cross_origin", []string{"Origin", "null"}},
		"a cross-site fetch":   {"DELETE", "/embed/conversation", "", 403, "cross_origin", []string{"Sec-Fetch-Site", "cross-site"}},
		"another origin reads": {"GET", "/embed/conversation", "", 403, "cross_origin", []string{"Origin", "https://evil.example"}},
		"the loader":           {"GET", "/embed.js", "", 403, "cross_origin", []string{"Origin", "https://evil.example"}},
		"a form":               {"POST", "/embed/chat", `text=hi`, 415, "unsupported_media_type", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"an unknown field":     {"POST", "/embed/chat", `{"text":"hi","molar":{"model":"big"}}`, 400, "invalid", nil},
		"a conversation":       {"POST", "/embed/chat", `{"text":"hi","conversation_id":"c1"}`, 400, "invalid", nil},
		"a system text":        {"POST", "/embed/chat", `{"text":"hi","system":"x"}`, 400, "invalid", nil},
		"two texts":            {"POST", "/embed/chat", `{"text":"hi","text":"ho"}`, 400, "invalid", nil},
		"two objects":          {"POST", "/embed/chat", `{"text":"hi"}{}`, 400, "invalid", nil},
		"no JSON":              {"POST", "/embed/chat", `hi`, 400, "invalid", nil},
		"no text":              {"POST", "/embed/chat", `{"text":" \n"}`, 400, "empty", nil},
		"a long text":          {"POST", "/embed/chat", `{"text":"` + long + `"}`, 413, "too_long", nil},
		"a large body":         {"POST", "/embed/chat", `{"text":"` + strings.Repeat("x", 40<<10) + `"}`, 413, "too_long", nil},
		"a mark":               {"POST", "/embed/turns/t1/feedback", `{"mark":"up"}`, 400, "invalid", nil},
		"a long note":          {"POST", "/embed/turns/t1/feedback", `{"mark":"good","note":"` + strings.Repeat("x", schemas.MaxNote+1) + `"}`, 400, "invalid", nil},
		"an event":             {"GET", "/embed/turns/t1/events", "", 400, "invalid", []string{"Last-Event-ID", "-1"}},
		"news of nothing":      {"GET", "/embed/news?after=x", "", 400, "invalid", nil},
		"no desk":              {"POST", "/embed/handover", `{"consent":true,"reason":"button"}`, 404, "not_found", nil},
		"another method":       {"PUT", "/embed/chat", "", 405, "method_not_allowed", nil},
	} {
		w := g.send(tt.method, tt.path, tt.body, tt.headers...)
		if code, _, _ := errorOf(t, w.Body.Bytes()); w.Code != tt.status || code != tt.code {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another origin may read the answer", name)
		}
	}
	if len(h.turns) > 0 {
		t.Errorf("%d turns ran", len(h.turns))
	}
	vi := g.send(http.MethodPost, "/embed/chat", `{"text":"`+long+`","lang":"vi"}`)
	want(t, vi, http.StatusRequestEntityTooLarge, "Câu hỏi dài quá 2000 ký tự")
	want(t, g.send(http.MethodGet, "/embed/turns/t1/events?lang=en", "", "Accept-Language", "vi"), http.StatusNotFound, "There is nothing here.")
}

// Limits hold by visitor, by address and for all. An emergency counts against its address alone, and its
// refusal still says what to do.
func TestVisitors_Limits(t *testing.T) {
	h := &crowd{}
	to := h.open(t, nil)
	g := arrive(t, to, "2001:db8:1:2::1")
	for range 2 {
		want(t, g.ask("a tooth"), http.StatusOK)
	}
	w := g.ask("a tooth")
	want(t, w, http.StatusTooManyRequests, `"code":"too_many_questions"`, `"limit":"visitor"`, `"until":"2026-05-04T03:03:31Z"`, "Please ask again")
	if w.Header().Get("Retry-After") != "90" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	want(t, g.ask("it is bleeding"), http.StatusOK)
	for range 2 { // others of its network
		want(t, arrive(t, to, "2001:db8:1:2:ffff::9").ask("a tooth"), http.StatusOK)
	}
	want(t, arrive(t, to, "2001:db8:1:2:ffff::9").ask("a tooth"), http.StatusTooManyRequests, `"limit":"address"`)
	want(t, g.ask("it is bleeding"), http.StatusTooManyRequests, `"limit":"address"`, `"notice":"Call 115."`)
	for i := range 3 {
		want(t, arrive(t, to, "203.0.113."+string(rune('1'+i))).ask("a tooth"), http.StatusOK)
	}
	want(t, arrive(t, to, "203.0.113.20").ask("a tooth"), http.StatusTooManyRequests, `"limit":"all"`)
	want(t, arrive(t, to, "203.0.113.20").ask("it is bleeding"), http.StatusOK)
	h.down = errSecret
	want(t, arrive(t, to, "203.0.113.21").ask("a tooth"), http.StatusServiceUnavailable, `"code":"unavailable"`)
	want(t, arrive(t, to, "203.0.113.21").ask("it is bleeding"), http.StatusOK) // better uncounted than unanswered
	if diff := cmp.Diff([]string{"visitor", "address", "address", "all"}, h.refused); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for name := range h.counts {
		if strings.Contains(name, "203.0") || strings.Contains(name, "2001") || strings.Contains(name, g.cookie) {
			t.Errorf("a count gives away who it is: %s", name)
		}
	}
}

// The errors of a turn are told without what the operator knows.
func TestVisitors_Failures(t *testing.T) {
	h := &crowd{}
	g := arrive(t, h.open(t, nil), "203.0.113.7")
	broken := g.ask("break")
	want(t, broken, http.StatusOK, "event: error\n", `"code":"unavailable"`)
	spent := g.ask("spend")
	want(t, spent, http.StatusOK, "event: error\n", `"code":"budget_exceeded"`, `"until":"2026-05-04T04:02:01Z"`)
	if body := broken.Body.String() + spent.Body.String(); strings.Contains(body, "secret") {
		t.Errorf("an error has what is the operator's: %s", body)
	}
}

// A visitor has one turn at a time, which goes on without its client, can be followed after an event, and stopped.
func TestVisitors_OneTurn(t *testing.T) {
	h := &crowd{gate: make(chan struct{})}
	to := h.open(t, nil)
	g := arrive(t, to, "203.0.113.7")
	ctx, leave := context.WithCancel(t.Context())
	r := request(http.MethodPost, "/embed/chat", `{"text":"a tooth"}`).WithContext(ctx)
	r.Header.Set("Cookie", public.Cookie+"="+g.cookie)
	left := make(chan struct{})
	go func() { serve(to, r); close(left) }()
	begun := func(n int) string {
		for {
			h.mu.Lock()
			turns := slices.Clone(h.turns)
			h.mu.Unlock()
			if len(turns) == n {
				return turns[n-1].ID
			}
			time.Sleep(time.Millisecond)
		}
	}
	turn := begun(1)
	want(t, g.ask("it is bleeding"), http.StatusConflict, `"code":"busy"`, `"notice":"Call 115."`)
	leave()
	<-left
	close(h.gate)
	followed := g.send(http.MethodGet, "/embed/turns/"+turn+"/events", "", "Last-Event-ID", "1")
	want(t, followed, http.StatusOK, `strong\u003ea tooth\u003c`, "event: done")
	if strings.Contains(followed.Body.String(), "event: start") {
		t.Errorf("an event comes again: %s", followed.Body)
	}
	h.mu.Lock()
	h.gate = make(chan struct{})
	h.mu.Unlock()
	go func() {
		turn := begun(2)
		want(t, g.send(http.MethodDelete, "/embed/turns/"+turn, ""), http.StatusNoContent)
	}()
	want(t, g.ask("a tooth"), http.StatusOK, "event: error\n", `"code":"stopped"`)
}

// One address holds so many streams open, and no more: others are answered meanwhile.
func TestVisitors_Streams(t *testing.T) {
	h := &crowd{gate: make(chan struct{})}
	to := h.open(t, func(cfg *web.Config) {
		many := schemas.Rate{Count: 1000, Per: time.Hour}
		cfg.Public.Limits = public.Limits{Visitor: many, Address: many, All: many}
	})
	guests := make([]*guest, 40)
	for i := range guests {
		guests[i] = arrive(t, to, "203.0.113.7")
	}
	last, other := arrive(t, to, "203.0.113.7"), arrive(t, to, "203.0.113.8")
	var open sync.WaitGroup
	for _, g := range guests {
		open.Go(func() { want(t, g.ask("a tooth"), http.StatusOK, "event: done") })
	}
	for held := 0; held < len(guests); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		held = len(h.turns)
		h.mu.Unlock()
	}
	want(t, last.ask("a tooth"), http.StatusTooManyRequests, `"code":"too_many_requests"`)
	want(t, last.ask("it is bleeding"), http.StatusTooManyRequests, `"code":"too_many_requests"`, `"notice":"Call 115."`)
	open.Go(func() { want(t, other.ask("a tooth"), http.StatusOK, "event: done") })
	for held := 0; held < len(guests)+1; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		held = len(h.turns)
		h.mu.Unlock()
	}
	close(h.gate)
	open.Wait()
	want(t, last.ask("a tooth"), http.StatusOK, "event: done")
}

// Where a visitor has to agree first, no question passes without the hash of the newest notice; the browser
// keeps what was agreed to.
func TestVisitors_Consent(t *testing.T) {
	h := &crowd{}
	to := h.open(t, func(cfg *web.Config) { cfg.Public.Consent, cfg.Public.Keep = true, 2*time.Hour })
	g := arrive(t, to, "203.0.113.7")
	var read struct {
		Consent struct {
			Required, Agreed bool
			Hash             string
		}
	}
	state := func() {
		t.Helper()
		w := g.send(http.MethodGet, "/embed/conversation", "")
		if err := json.Unmarshal(w.Body.Bytes(), &read); err != nil || !read.Consent.Required || read.Consent.Hash == "" {
			t.Fatalf("%v: %s", err, w.Body)
		}
	}
	state()
	if read.Consent.Agreed {
		t.Error("a new visitor has agreed")
	}
	for _, consent := range []string{"", "0123456789abcdef"} {
		want(t, g.send(http.MethodPost, "/embed/chat", `{"text":"it is bleeding","lang":"en","consent":"`+consent+`"}`), http.StatusForbidden, `"code":"consent_required"`, `"notice":"Call 115."`)
	}
	w := g.send(http.MethodPost, "/embed/chat", `{"text":"hi","consent":"`+read.Consent.Hash+`"}`)
	want(t, w, http.StatusOK)
	const attributes = "; Path=/; Max-Age=7200; HttpOnly; Secure; SameSite=None; Partitioned"
	if set := w.Header().Get("Set-Cookie"); !strings.HasPrefix(set, public.Cookie+"=") || !strings.HasSuffix(set, "."+read.Consent.Hash+attributes) {
		t.Errorf("cookie %q", set)
	}
	state()
	if !read.Consent.Agreed {
		t.Error("the browser keeps that the visitor agreed, but they count as new")
	}
	want(t, g.ask("hi"), http.StatusOK)
	want(t, g.send(http.MethodDelete, "/embed/conversation", ""), http.StatusNoContent)
	if state(); read.Consent.Agreed {
		t.Error("a forgotten visitor has agreed")
	}
}

// aDesk has one hand-over at a time.
type aDesk struct {
	open schemas.Handover
	did  []string
}

func (d *aDesk) Status(_ context.Context, owner, conversation, language string) (schemas.HandoverStatus, error) {
	status := schemas.HandoverStatus{On: true, Open: true, Ask: []string{"phone"}}
	if d.open.Owner == owner && d.open.ConversationID == conversation {
		status.State, status.Text = d.open.State, language+": being sent"
	}
	return status, nil
}

func (d *aDesk) Open(_ context.Context, owner, _ string) (schemas.Handover, bool, error) {
	return d.open, d.open.Owner == owner, nil
}

func (d *aDesk) Request(_ context.Context, h schemas.Handover) (schemas.Handover, error) {
	if h.Contact["phone"] == "" || h.Contact["phone"] == "x" {
		return h, schemas.ContactError("phone")
	}
	h.State = schemas.HandoverSending
	d.open = h
	return h, nil
}

func (d *aDesk) Close(_ context.Context, h schemas.Handover, by string) error {
	d.did = append(d.did, "close by "+by)
	d.open = schemas.Handover{}
	return nil
}

func (d *aDesk) Forget(ctx context.Context, owner, conversation string, erase func(context.Context) error) error {
	d.did = append(d.did, "forget "+owner+" "+conversation)
	return erase(ctx)
}

// A visitor who agrees is handed over with what the form asks for, and may go on with the assistant; another
// visitor knows nothing of it.
func TestVisitors_Handover(t *testing.T) {
	h, desk := &crowd{}, &aDesk{}
	to := h.open(t, func(cfg *web.Config) { cfg.Public.Desk = desk })
	g, other := arrive(t, to, "203.0.113.7"), arrive(t, to, "203.0.113.8")
	want(t, g.send(http.MethodGet, "/embed/conversation", ""), http.StatusOK, `"handover":{"on":true,"open":true,"ask":["phone"],"state":"","text":""}`)
	for _, tt := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"consent":false,"reason":"button","contact":{"phone":"1"}}`, 403, "desk_consent"},
		{`{"consent":true,"reason":"boredom","contact":{"phone":"1"}}`, 400, "invalid"},
		{`{"consent":true,"reason":"button","contact":{"phone":"1"},"owner":"visitor:x"}`, 400, "invalid"},
		{`{"consent":true,"reason":"button","contact":{"phone":7}}`, 400, "invalid"},
		{`{"consent":true,"reason":"button"}`, 400, "contact_required"},
		{`{"consent":true,"reason":"button","contact":{"phone":"x"}}`, 400, "contact_invalid"},
	} {
		w := g.send(http.MethodPost, "/embed/handover", tt.body)
		if code, _, _ := errorOf(t, w.Body.Bytes()); w.Code != tt.status || code != tt.code {
			t.Errorf("%s: %d %s", tt.body, w.Code, w.Body)
		}
	}
	const form = `{"consent":true,"reason":"words","contact":{"phone":"0900"},"lang":"vi"}`
	want(t, g.send(http.MethodPost, "/embed/handover", form), http.StatusOK, `"state":"sending"`, "vi: being sent")
	if diff := cmp.Diff(schemas.Handover{
		Owner: g.owner(), ConversationID: schemas.VisitorConversation(g.owner()), Assistant: "dental", Language: "vi", Reason: schemas.HandoverWords,
		Contact: map[string]string{"phone": "0900"}, State: schemas.HandoverSending,
	}, desk.open); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want(t, other.send(http.MethodGet, "/embed/news", ""), http.StatusOK, `"state":""`)
	want(t, other.send(http.MethodDelete, "/embed/handover", ""), http.StatusNoContent)
	want(t, g.send(http.MethodGet, "/embed/news?lang=en", ""), http.StatusOK, `"state":"sending"`, "en: being sent")
	want(t, g.send(http.MethodDelete, "/embed/handover", ""), http.StatusNoContent)
	want(t, g.send(http.MethodDelete, "/embed/conversation", ""), http.StatusNoContent)
	if diff := cmp.Diff([]string{"close by person", "forget " + g.owner() + " " + schemas.VisitorConversation(g.owner())}, desk.did); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for range 2 {
		want(t, g.send(http.MethodPost, "/embed/handover", form), http.StatusOK)
	}
	want(t, g.send(http.MethodPost, "/embed/handover", form), http.StatusTooManyRequests, `"code":"too_many_requests"`)
}

// Where no cookie comes back, the frame keeps the token and sends it itself.
func TestVisitors_Storage(t *testing.T) {
	to := (&crowd{}).open(t, nil)
	g := &guest{t: t, to: to, from: "203.0.113.7"}
	w := g.send(http.MethodPost, "/embed/visit", `{"storage":true}`)
	var made struct{ Token string }
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || len(made.Token) != 43 || g.cookie != "" {
		t.Fatalf("%v: %d %s, cookie %q", err, w.Code, w.Body, g.cookie)
	}
	g.token = made.Token
	want(t, g.ask("a tooth"), http.StatusOK)
	want(t, g.send(http.MethodGet, "/embed/conversation", ""), http.StatusOK, "a tooth")
	if g.cookie != "" {
		t.Error("a cookie was set for a browser that keeps none")
	}
}
