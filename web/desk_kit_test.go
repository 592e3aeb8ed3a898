package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

// A deskAPI answers the routes of the desk and of the page of one's own things with fixed data in their
// wire format. The other routes are those of the real server.
type deskAPI struct {
	mu      sync.Mutex
	me      string
	wires   bool   // the wire traffic of turns is kept, so that tests can be made
	tests   bool   // a folder takes tests
	folder  bool   // a knowledge folder takes corrections
	refused string // the path whose requests fail
	// approvals are the calls of others that wait for the reader.
	approvals string
	// thread is the conversation of a person who asked for the desk, and closed is set at its end.
	thread []schemas.DeskMessage
	closed bool
	marks  map[string]string
	notes  map[string]string
	spent  bool     // no budget is left for runs of tests
	own    bool     // the turn of the journeys is the reader's own
	made   string   // what was made of the turn of the journeys, as JSON
	sent   []string // the changing requests, each with its body
	asked  []string // the queries of the list
	erased bool
	ended  map[string]bool // the sessions that were ended
}

const reviewer = `{"object":"me","id":"oidc:https://login.example#7","name":"Lan","person":true,"session":true,"scopes":["chat","review"],"groups":["support"],"approver":false}`

func newDeskAPI() *deskAPI {
	return &deskAPI{me: reviewer, wires: true, tests: true, folder: true, approvals: `{"object":"list","data":[]}`, thread: asksForTheDesk(), marks: map[string]string{}, notes: map[string]string{}, ended: map[string]bool{}}
}

// serve serves the pages of cfg with this API.
func (d *deskAPI) serve(t *testing.T, cfg web.Config) *httptest.Server {
	t.Helper()
	var h http.Handler
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(ts.Close)
	t.Cleanup(ts.CloseClientConnections)
	guard, err := httpguard.New(httpguard.Config{Hosts: []string{ts.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guard, cfg.MaxBody = guard, httpguard.DefaultMaxBody
	h = d.before(build(t, cfg))
	return ts
}

// chatPage answers with the page of the real server, for the reader of this API.
func (d *deskAPI) chatPage(rest http.Handler, w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	me := d.me
	d.mu.Unlock()
	real := httptest.NewRecorder()
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept-Encoding") // its text is changed below
	rest.ServeHTTP(real, plain)
	for name, values := range real.Header() {
		if name != "Content-Length" && name != "Etag" {
			w.Header()[name] = values
		}
	}
	before, after, found := strings.Cut(real.Body.String(), `data-me="`)
	_, after, closed := strings.Cut(after, `"`)
	if !found || !closed {
		http.Error(w, "the page does not say who its reader is", http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, `%sdata-me="%s"%s`, before, html.EscapeString(me), after)
}

// before returns a handler that answers the routes of this API, and passes the others on.
func (d *deskAPI) before(rest http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { d.chatPage(rest, w, r) })
	mux.Handle("/", rest)
	for pattern, answer := range map[string]func(*http.Request) (int, string){
		"GET /v1/me":                           func(*http.Request) (int, string) { return http.StatusOK, d.me },
		"GET /login":                           func(*http.Request) (int, string) { return http.StatusOK, `{}` },
		"POST /logout":                         func(r *http.Request) (int, string) { d.record(r); return http.StatusOK, `{}` },
		"GET /v1/turns":                        d.turns,
		"GET /v1/turns/gaps":                   func(*http.Request) (int, string) { return http.StatusOK, gapsJSON },
		"GET /v1/turns/{id}":                   d.turn,
		"GET /v1/feedback":                     d.feedback,
		"POST /v1/turns/{id}/feedback":         d.mark,
		"POST /v1/turns/{id}/test":             d.test,
		"POST /v1/turns/{id}/test/run":         d.runTest,
		"POST /v1/turns/{id}/correction":       d.correct,
		"GET /v1/account":                      d.account,
		"GET /v1/account/sessions":             d.sessions,
		"DELETE /v1/account/sessions/{id}":     d.endSession,
		"POST /v1/account/erase":               d.erase,
		"GET /v1/account/export":               func(*http.Request) (int, string) { return http.StatusOK, `{"kind":"person"}` },
		"GET /v1/handovers":                    d.handovers,
		"GET /v1/conversations/{id}/messages":  d.messages,
		"POST /v1/conversations/{id}/messages": d.say,
		"GET /v1/approvals":                    func(*http.Request) (int, string) { return http.StatusOK, d.approvals },
		"GET /v1/usage":                        func(*http.Request) (int, string) { return http.StatusOK, usageJSON },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			d.mu.Lock()
			status, body := answer(r)
			if d.refused == r.URL.Path {
				status, body = http.StatusServiceUnavailable, `{"error":{"code":"store_unavailable","message":"the database does not answer"}}`
			}
			d.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	return mux
}

// record keeps a changing request.
func (d *deskAPI) record(r *http.Request) map[string]any {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	text, _ := json.Marshal(body) //nolint:errchkjson // it was JSON
	d.sent = append(d.sent, r.Method+" "+r.URL.Path+" "+string(text))
	return body
}

const notFound = `{"error":{"code":"not_found","message":"no such turn"}}`

// approvalsJSON are two calls that wait for an approver, one with a long text.
const approvalsJSON = `{"object":"list","data":[
 {"id":"approval_1","token":"T","tool":"helpdesk__reset_password","server":"helpdesk","turn_id":"t-payroll","arguments":{},"shown":"{\"account\":\"minh.tran\",\"reason\":\"locked out after a holiday\"}",
  "question":{"what":"Reset password; account: minh.tran; reason: “locked out after a holiday”.","why":"Asked because a member of leads must approve this each time.","where":"Done in the service “helpdesk”."},
  "person":"Nguyễn Thị Minh Khai","approvers":["leads"],"mine":true,"expires":"2026-05-04T03:02:01Z"},
 {"id":"approval_held_2","token":"T","tool":"directory__delete_every_account_of_a_department","server":"directory","turn_id":"","arguments":{},"shown":"{\"path\":\"/a/very/long/path/without/any/space/in/it/so/that/it/must/be/broken/somewhere/on/a/telephone\"}",
  "question":{"what":"Delete every account of a department; path: /a/very/long/path/without/any/space/in/it/so/that/it/must/be/broken/somewhere/on/a/telephone.","why":"Asked because a member of leads must approve this each time.","where":"Done in the service “directory”."},
  "person":"","approvers":["leads"],"mine":true,"expires":"2026-05-04T03:02:01Z"}]}`

// question of the turn that the journeys put right.
const deskQuestion = "How do I reset the password of the payroll system?"

func (d *deskAPI) turns(r *http.Request) (int, string) {
	q := r.URL.Query()
	d.asked = append(d.asked, r.URL.RawQuery)
	row := func(id, outcome, question string) string {
		return fmt.Sprintf(`{"id":%q,"conversation_id":"c-%s","person":"person-7f3a","assistant":"dental","outcome":%q,"mark":%q,"note":"","question":%s,"tools":["knowledge__search"],"made":[%s],"at":"2026-05-04T03:02:01Z"}`,
			id, id, outcome, d.marks[id], question, map[bool]string{true: d.made}[id == "t-payroll"])
	}
	all := []struct{ id, outcome, question string }{
		{"t-payroll", "not_found", `"` + deskQuestion + `"`},
		{"t-refused", "refused", "null"},
		{"t-failed", "failed", `"Máy in tầng 3 báo lỗi E-52, tôi phải làm gì để in được hợp đồng trước 5 giờ chiều nay?"`},
		{"t-approval", "unapproved", `"Reset the account of Minh"`},
		{"t-emergency", "emergency", `"There is smoke in the server room"`},
		{"t-done", "done", `"When does the canteen open?"`},
	}
	if q.Get("after") == "next-page" {
		all = all[:1]
		all[0].id, all[0].question = "t-older", `"An older question"`
	}
	var rows []string
	for _, one := range all {
		if q.Get("outcome") == "" || q.Get("outcome") == one.outcome {
			rows = append(rows, row(one.id, one.outcome, one.question))
		}
	}
	next := ""
	if q.Get("after") == "" && q.Get("outcome") == "" {
		next = `,"next":"next-page"`
	}
	return http.StatusOK, `{"object":"list","data":[` + strings.Join(rows, ",") + `]` + next + `}`
}

const gapsJSON = `{"object":"list","data":[
 {"words":["password","payroll","reset"],"count":7,"assistant":"dental","last":"2026-05-04T03:02:01Z","examples":[
  {"turn":"t-payroll","question":"How do I reset the password of the payroll system?"},{"turn":"t-failed","question":"Payroll password forgotten, how to reset?"}]},
 {"words":["in","máy","tầng"],"count":1,"assistant":"dental","last":"2026-05-03T03:02:01Z","examples":[{"turn":"t-failed","question":"Máy in tầng 3 báo lỗi E-52"}]},
 {"words":[],"count":3,"assistant":"dental","reason":"off topic","last":"2026-05-02T03:02:01Z","examples":[]}]}`

// turn answers with a trace.
func (d *deskAPI) turn(r *http.Request) (int, string) {
	switch r.PathValue("id") {
	case "t-payroll":
		return http.StatusOK, strings.NewReplacer(`"question":"Does my grandmother's implant need another check this year?"`, `"question":"`+deskQuestion+`"`,
			`"answer":"Yes: the last check was **14 months ago**, so one is due."`, `"answer":"I found nothing about the payroll system. Ask the helpdesk."`,
			`"turn_id":"t1"`, `"turn_id":"t-payroll",`+map[bool]string{false: `"person":"person-7f3a",`}[d.own]+`"outcome":"not_found","made":[`+d.made+`]`).Replace(turnTrace)
	case "t-refused":
		return http.StatusOK, `{"turn_id":"t-refused","conversation_id":"c-r","assistant":"dental","started":"2026-05-04T03:02:01Z","took_ms":2,"status":"refused","outcome":"refused","verdict":{"pass":false,"sure":true,"by":"code","reason":"off topic","score":0.1,"took_ms":0.4}}`
	case "t-untraced":
		return http.StatusOK, `{"turn_id":"t-untraced","conversation_id":"c-u","assistant":"dental","started":"2026-05-04T03:02:01Z","status":"done","untraced":true,"question":"When is lunch?","answer":"At noon."}`
	default:
		return http.StatusNotFound, notFound
	}
}

func (d *deskAPI) feedback(*http.Request) (int, string) {
	if mark := d.marks["t-payroll"]; mark != "" {
		return http.StatusOK, `{"object":"list","data":[{"turn_id":"t-payroll","conversation_id":"c1","mark":"` + mark + `","note":"` + d.notes["t-payroll"] + `","marked_at":"2026-05-04T03:02:01Z"` + map[bool]string{false: `,"by":"reviewer"`}[d.own] + `}]}`
	}
	return http.StatusOK, `{"object":"list","data":[]}`
}

func (d *deskAPI) mark(r *http.Request) (int, string) {
	body := d.record(r)
	d.marks[r.PathValue("id")], _ = body["mark"].(string)
	d.notes[r.PathValue("id")], _ = body["note"].(string)
	return http.StatusOK, `{"object":"turn.feedback"}`
}

func (d *deskAPI) test(r *http.Request) (int, string) {
	d.record(r)
	if !d.wires {
		return http.StatusConflict, `{"error":{"code":"turn_not_testable","message":"it has no trace: none was written, or it is no longer kept"}}`
	}
	if !d.tests {
		return http.StatusOK, `{"case":"reset-the-password","files":[{"name":"reset-the-password.yaml","content":"id: reset-the-password\n"}],"command":"molar eval run --live ."}`
	}
	d.made = `{"turn":"t-payroll","kind":"test","path":"tests/desk/cases.yaml","made_at":"2026-05-04T04:02:01Z"}`
	return http.StatusOK, `{"case":"reset-the-password","files":["tests/desk/cases.yaml","tests/desk/tapes/t-payroll.jsonl"],"command":"molar eval run --live tests/desk"}`
}

// runTest finds the test green once an answer is written.
func (d *deskAPI) runTest(r *http.Request) (int, string) {
	d.record(r)
	if d.spent {
		return http.StatusTooManyRequests, `{"error":{"code":"budget_exceeded","message":"today's budget of yours is used up; it begins anew on 2 March 00:00 UTC"}}`
	}
	if strings.Contains(d.made, `"correction"`) {
		return http.StatusOK, `{"case":"reset-the-password","passed":true,"answer":"At the helpdesk, room 12.","reasons":[]}`
	}
	return http.StatusOK, `{"case":"reset-the-password","passed":false,"answer":"I found nothing about the payroll system. Ask the helpdesk.","reasons":[{"code":"same_end","text":"it ended in the same way again: not_found"}]}`
}

func (d *deskAPI) correct(r *http.Request) (int, string) {
	body := d.record(r)
	if !d.folder {
		return http.StatusOK, `{"text":"# How do I reset the password?\n\nAt the helpdesk.\n"}`
	}
	answer, _ := json.Marshal(body["answer"]) //nolint:errchkjson // it was JSON
	d.made = strings.TrimPrefix(d.made+`,{"turn":"t-payroll","kind":"correction","path":"knowledge/corrections/reset-the-password.md","made_at":"2026-05-04T05:02:01Z","answer":`+string(answer)+`}`, ",")
	return http.StatusOK, `{"file":"knowledge/corrections/reset-the-password.md","text":"# How"}`
}

func asksForTheDesk() (thread []schemas.DeskMessage) {
	for i, m := range []schemas.DeskMessage{
		{By: schemas.ByVisitor, Text: "Chi phí cấy ghép một răng hàm khoảng bao nhiêu?"},
		{By: schemas.ByAssistant, Text: "Tôi không tìm thấy thông tin về việc này. Bạn có thể gặp nhân viên, hoặc xem https://clinic.example/a/very/long/address/without/any/space/in/it/so/that/it/must/be/broken"},
		{By: schemas.ByVisitor, Text: "cho tôi gặp nhân viên\nTôi rảnh sau 17 giờ."},
	} {
		m.Seq, m.At = int64(2*i+1), created
		thread = append(thread, m)
	}
	return thread
}

// handover returns a hand-over as the list has it.
func (d *deskAPI) handover(id string, more string) string {
	state := "delivered"
	switch {
	case d.closed:
		state = "closed"
	case len(d.thread) > 3:
		state = "answered"
	}
	return fmt.Sprintf(`{"id":"handover_%s","conversation_id":"visit_%[1]s","assistant":"dental","language":"vi","reason":"words","state":"%s",%s"created_at":"2026-05-04T03:02:01Z","changed_at":"2026-05-04T03:02:01Z"}`, id, state, more)
}

func (d *deskAPI) handovers(r *http.Request) (int, string) {
	rows := []string{`{"id":"handover_b","conversation_id":"visit_b","assistant":"dental","language":"en","reason":"button","state":"delivered","callback":true,"created_at":"2026-05-04T04:02:01Z","changed_at":"2026-05-04T03:02:01Z"}`}
	if !d.closed || r.URL.Query().Get("state") == "all" {
		rows = append(rows, d.handover("a", ""))
	}
	return http.StatusOK, `{"object":"list","data":[` + strings.Join(rows, ",") + `]}`
}

func (d *deskAPI) messages(r *http.Request) (int, string) {
	fresh := []schemas.DeskMessage{}
	for _, m := range d.thread {
		if after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64); m.Seq > after {
			fresh = append(fresh, m)
		}
	}
	data, _ := json.Marshal(fresh) //nolint:errchkjson // texts
	return http.StatusOK, `{"object":"list","data":` + string(data) + `,"handover":` + d.handover("a", `"contact":{"name":"Lê Thị Mai","phone":"0900 000 001"},`) + `}`
}

func (d *deskAPI) say(r *http.Request) (int, string) {
	body := d.record(r)
	if d.closed {
		return http.StatusConflict, `{"error":{"code":"handover_closed","message":"the hand-over is closed"}}`
	}
	if text, ok := body["text"].(string); ok {
		d.thread = append(d.thread, schemas.DeskMessage{Seq: d.thread[len(d.thread)-1].Seq + 2, By: schemas.ByDesk, Text: text, At: created})
	}
	d.closed, _ = body["close"].(bool)
	return http.StatusOK, `{"object":"desk.message"}`
}

func (d *deskAPI) account(*http.Request) (int, string) {
	return http.StatusOK, `{"object":"account","id":"oidc:https://login.example#7","name":"Lan","counts":{"conversations":12,"files":3,"traces":40,"grants":1}}`
}

func (d *deskAPI) sessions(*http.Request) (int, string) {
	var rows []string
	for _, row := range []string{
		`{"id":"s1","created_at":"2026-05-04T03:02:01Z","last_used":"2026-05-04T05:02:01Z","expires_at":"2026-05-04T15:02:01Z"}`,
		`{"id":"s2","created_at":"2026-05-01T03:02:01Z","last_used":"2026-05-02T05:02:01Z","expires_at":"2026-05-05T15:02:01Z"}`,
	} {
		if !d.ended[row[7:9]] {
			rows = append(rows, row)
		}
	}
	return http.StatusOK, `{"object":"list","data":[` + strings.Join(rows, ",") + `]}`
}

func (d *deskAPI) endSession(r *http.Request) (int, string) {
	d.record(r)
	d.ended[r.PathValue("id")] = true
	return http.StatusOK, `{"deleted":true}`
}

func (d *deskAPI) erase(r *http.Request) (int, string) {
	if body := d.record(r); body["confirm"] != "Lan" {
		return http.StatusBadRequest, `{"error":{"code":"invalid_request","message":"confirm must be your name"}}`
	}
	d.erased = true
	return http.StatusOK, `{"object":"account.erased","counts":{"conversations":12,"files":3,"traces":40,"grants":1},"kept":[{"turn":"t1","kind":"correction","path":"office/corrections/lunch.md"},{"turn":"t2","kind":"test"}]}`
}

const usageJSON = `{"object":"list","data":[{"name":"person:ann","calls":9,"prompt_tokens":9,"completion_tokens":9,"cost":9},{"name":"oidc:https://login.example#7","calls":31,"prompt_tokens":41200,"cached_tokens":0,"completion_tokens":3800,"cost":1.25}]}`
