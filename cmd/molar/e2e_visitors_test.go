package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/store/storetest"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// publicConfig is the config of a clinic whose reception answers everybody.
func publicConfig(t *testing.T, store, limits string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", "default: reception\nllm: {provider: ollama}\nassistants: {reception: {system_prompt: You answer for a clinic.}}\n"+
		"memory: {store: '"+store+"'}\ntelemetry: {wire: 1d}\ntrusted_proxies: [127.0.0.1]\n"+
		"public: {assistant: reception, origins: ['https://www.clinic.example'], keep: 1m, limits: "+limits+"}\n")
}

// A passer is a visitor of the public assistant, whose browser keeps no cookies of frames.
type passer struct {
	t              *testing.T
	address, token string
}

// pass lets a visitor come.
func pass(t *testing.T, s *served, address string) *passer {
	t.Helper()
	p := &passer{t: t, address: address}
	var told struct{ Token string }
	if status, text := p.send(s, http.MethodPost, "/embed/visit", `{"storage":true}`); status != http.StatusOK || json.Unmarshal([]byte(text), &told) != nil || told.Token == "" {
		t.Fatalf("a visit: %d %s", status, text)
	}
	p.token = told.Token
	return p
}

func (p *passer) owner() string { return schemas.VisitorOwner(p.token) }

// send sends a request through the proxy.
func (p *passer) send(s *served, method, path, text string, headers ...string) (int, string) {
	p.t.Helper()
	headers = append(headers, "X-Forwarded-For", p.address)
	if p.token != "" {
		headers = append(headers, "X-Molar-Visitor", p.token)
	}
	res := s.send(p.t, method, path, text, headers...)
	return res.StatusCode, body(p.t, res)
}

// ask asks, and returns the id of the turn and the status.
func (p *passer) ask(s *served, question string) (turn string, status int, text string) {
	p.t.Helper()
	b, _ := json.Marshal(map[string]string{"text": question, "lang": "en"})
	status, text = p.send(s, http.MethodPost, "/embed/chat", string(b))
	_, rest, _ := strings.Cut(text, `{"turn":"`)
	turn, _, _ = strings.Cut(rest, `"`)
	if status == http.StatusOK && (turn == "" || !strings.Contains(text, "event: done")) {
		p.t.Errorf("an answer: %s", text)
	}
	return turn, status, text
}

// Each limit lets through exactly what it allows, at whichever replica visitors ask and from whichever
// address of their network, also after a restart. Addresses are stored nowhere and not logged.
func TestVisitors_Limits(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	file := publicConfig(t, storetest.StartPostgres(t).Database(t), "{visitor: 2/h, address: 15/h, all: 20/d}")
	hosts := []*served{serveHost(t, file, model), serveHost(t, file, model)}
	var mu sync.Mutex
	let := map[string]int{}
	var last struct {
		Error struct {
			Code, Limit, Message string
			Until                time.Time
		}
	}
	crowd := func(network string, visitors int) {
		var all sync.WaitGroup
		for i := range visitors {
			all.Go(func() {
				p := pass(t, hosts[i%2], fmt.Sprintf("%s:%x::%d", network, i+1, i+1))
				for n := range 3 {
					_, status, text := p.ask(hosts[(i+n)%2], "When are you open?")
					mu.Lock()
					switch {
					case status == http.StatusOK:
						let[network]++
						let[p.token]++
					case status != http.StatusTooManyRequests || json.Unmarshal([]byte(text), &last) != nil || last.Error.Code != "too_many_questions" || last.Error.Until.Before(time.Now()):
						t.Errorf("refused: %d %s", status, text)
					}
					if let[p.token] > 2 {
						t.Errorf("a visitor asked %d questions", let[p.token])
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	// 12 visitors of one network of 64 bits could ask 24 questions, 4 of another one 8.
	crowd("2001:db8:0:1", 12)
	crowd("2001:db8:0:2", 4)
	if one, two := let["2001:db8:0:1"], let["2001:db8:0:2"]; one != 15 || two != 5 {
		t.Errorf("one network asked %d questions, want 15; another one %d, want 5", one, two)
	}
	until := last.Error.Until
	for i, h := range hosts {
		if h.stop() != 0 {
			t.Error("it did not end well")
		}
		for _, leak := range []string{"2001:db8", "When are you open"} {
			if strings.Contains(h.stderr.String(), leak) {
				t.Errorf("the log holds %q:\n%s", leak, h.stderr)
			}
		}
		hosts[i] = serveHost(t, file, model)
	}
	p := pass(t, hosts[0], "192.0.2.1")
	if _, status, text := p.ask(hosts[0], "When are you open?"); status != http.StatusTooManyRequests || json.Unmarshal([]byte(text), &last) != nil || last.Error.Limit != "all" {
		t.Errorf("after a restart: %d %s", status, text)
	} else if d := last.Error.Until.Sub(until); d.Abs() > time.Second {
		t.Errorf("after a restart they may ask at %s, before at %s", last.Error.Until, until)
	}
	// It stands in no column of whatever table.
	base := openBase(t, storeOf(t, file))
	for _, address := range []string{"2001:db8", "192.0.2.1"} {
		if found := storetest.Holding(t, base.Read, address); len(found) > 0 {
			t.Errorf("%s is stored in %v", address, found)
		}
	}
}

// storeOf returns the database of a config.
func storeOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "memory: {store: '")
	path, _, _ := strings.Cut(rest, "'")
	return path
}

func openBase(t *testing.T, path string) *database.DB {
	t.Helper()
	base, err := database.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = base.Close() })
	return base
}

// A visitor has their own conversation and nothing else: neither what another one has nor anything of
// the rest of the port, with whatever header they present their token. Nor does a key of the port count
// where visitors are.
func TestVisitors_Isolation(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	file := publicConfig(t, filepath.Join(t.TempDir(), "molar.db"), "{}")
	key := makeKeyFor(t, file, "boss", "admin")
	s := serveHost(t, file, model)
	one, two := pass(t, s, "192.0.2.1"), pass(t, s, "192.0.2.1")
	turn, status, text := one.ask(s, "Is penicillin safe for my gums?")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := one.send(s, http.MethodGet, "/embed/conversation", ""); status != http.StatusOK || !strings.Contains(text, "penicillin") {
		t.Errorf("the own conversation: %d %s", status, text)
	}
	for _, path := range []string{"/embed/conversation", "/embed/export", "/embed/news"} {
		if status, text := two.send(s, http.MethodGet, path, ""); status != http.StatusOK || strings.Contains(text, "penicillin") {
			t.Errorf("%s of another one: %d %s", path, status, text)
		}
	}
	conversation := schemas.VisitorConversation(one.owner())
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/embed/turns/" + turn + "/events", ""},
		{http.MethodDelete, "/embed/turns/" + turn, ""},
		{http.MethodPost, "/embed/turns/" + turn + "/feedback", `{"mark":"poor"}`},
	} {
		if status, text := two.send(s, r.method, r.path, r.body); status != http.StatusNotFound {
			t.Errorf("%s %s of another one: %d %s", r.method, r.path, status, text)
		}
	}
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/v1/models", ""},
		{http.MethodGet, "/v1/tools", ""},
		{http.MethodGet, "/v1/conversations", ""},
		{http.MethodGet, "/v1/conversations/" + conversation, ""},
		{http.MethodDelete, "/v1/conversations/" + conversation, ""},
		{http.MethodGet, "/v1/turns/" + turn, ""},
		{http.MethodGet, "/v1/turns/" + turn + "/events", ""},
		{http.MethodGet, "/v1/account/export", ""},
		{http.MethodPost, "/v1/account/erase", `{"confirm":"x"}`},
		{http.MethodPost, "/v1/chat/completions", questionBody("reception", "", "Hello", false)},
		{http.MethodPost, "/v1/chat/completions", questionBody("reception", conversation, "Hello", false)},
		{http.MethodPost, "/v1/responses", `{"model":"reception","input":"Hello"}`},
		{http.MethodGet, "/metrics", ""},
	} {
		for _, presented := range [][]string{
			nil,
			{"Cookie", "__Host-molar_visitor=" + one.token},
			{"Authorization", "Bearer " + one.token},
			{"X-Api-Key", one.token},
		} {
			if status, text := one.send(s, r.method, r.path, r.body, presented...); status != http.StatusNotFound && status != http.StatusUnauthorized || strings.Contains(text, "penicillin") {
				t.Errorf("%s %s with %v: %d %s", r.method, r.path, presented, status, text)
			}
		}
	}
	boss := &passer{t: t, address: "192.0.2.9"}
	if status, text := boss.send(s, http.MethodGet, "/embed/conversation", "", "Authorization", "Bearer "+key); status != http.StatusUnauthorized {
		t.Errorf("with a key: %d %s", status, text)
	}
	if status, text := one.send(s, http.MethodGet, "/embed/conversation", ""); status != http.StatusOK || strings.Count(text, "penicillin") != 1 {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

// A conversation that rests for as long as visitors are kept is erased, with all that is in whatever
// table, and from the bytes of the files. One that does not rest stays, over the restart too.
func TestVisitors_Kept(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := startModel(t, models.Config{Tool: "none", Tokens: 2})
			folder := t.TempDir()
			path := filepath.Join(folder, "molar.db")
			if postgres {
				path = storetest.StartPostgres(t).Database(t)
			}
			file := publicConfig(t, path, "{}")
			s := serveHost(t, file, model)
			gone, stays := pass(t, s, "192.0.2.1"), pass(t, s, "192.0.2.2")
			turn, _, _ := gone.ask(s, "Is penicillin safe for my gums?")
			gone.ask(s, "And ibuprofen?")
			if status, text := gone.send(s, http.MethodPost, "/embed/turns/"+turn+"/feedback", `{"mark":"poor","note":"no paracetamol"}`); status != http.StatusNoContent {
				t.Errorf("mark: %d %s", status, text)
			}
			stays.ask(s, "When are you open?")
			s.stop()
			base := openBase(t, path)
			written := []string{"penicillin", "ibuprofen", "paracetamol", strings.TrimPrefix(gone.owner(), "visitor:")}
			for _, text := range written {
				if len(storetest.Holding(t, base.Read, text)) == 0 {
					t.Errorf("%q is stored nowhere: the test tests nothing", text)
				}
			}
			if !postgres && !inFiles(t, folder, "penicillin") {
				t.Error("the files hold nothing of it: the test tests nothing")
			}
			rested(t, base, gone.owner(), 3*time.Hour)
			s = serveHost(t, file, model)
			eventually(t, "the visitor who rested is erased", func() bool {
				status, text := gone.send(s, http.MethodGet, "/embed/conversation", "")
				return status == http.StatusOK && !strings.Contains(text, "penicillin")
			})
			if status, text := stays.send(s, http.MethodGet, "/embed/conversation", ""); status != http.StatusOK || !strings.Contains(text, "When are you open?") {
				t.Errorf("who did not rest: %d %s", status, text)
			}
			if !postgres {
				eventually(t, "nothing is left in the bytes of the files", func() bool { return !inFiles(t, folder, written...) })
			}
			s.stop()
			for _, text := range written {
				if found := storetest.Holding(t, base.Read, text); len(found) > 0 {
					t.Errorf("%q is still in %v", text, found)
				}
			}
			if len(storetest.Holding(t, base.Read, strings.TrimPrefix(stays.owner(), "visitor:"))) == 0 {
				t.Error("nothing is left of who did not rest")
			}
		})
	}
}

// inFiles reports whether the bytes of a file in a folder hold one of the texts.
func inFiles(t *testing.T, folder string, texts ...string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil && !os.IsNotExist(err) { // a log goes when it is empty
			t.Fatal(err)
		}
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				return true
			}
		}
	}
	return false
}

// rested makes all that an owner did older.
func rested(t *testing.T, base *database.DB, owner string, by time.Duration) {
	t.Helper()
	for _, statement := range []string{
		`UPDATE conversations SET updated_at = updated_at - $2 WHERE owner = $1`,
		`UPDATE traces SET created_at = created_at - $2 WHERE owner = $1`,
		`UPDATE live_turns SET began_at = began_at - $2 WHERE owner = $1`,
		`UPDATE visit_counts SET began_at = began_at - $2 WHERE name = $1`,
	} {
		if _, err := base.Exec(context.WithoutCancel(t.Context()), "rest", statement, owner, by.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
}
