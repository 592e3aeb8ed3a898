package mcpclients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// crowd holds the logins of people in memory.
type crowd struct {
	mu  sync.Mutex
	all map[string]*logins
}

func (c *crowd) of(id string) oauth.Store {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]*logins{}
	}
	if c.all[id] == nil {
		c.all[id] = &logins{}
	}
	return c.all[id]
}

// echoOf makes calls answer with the token and the X-User of their request.
func echoOf(as *oauthserver.Server) {
	as.Behave(func(b *oauthserver.Behaviour) {
		b.Handler = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != oauthserver.MCPPath || r.Method != http.MethodPost {
				return false
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return false
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(body, &m) != nil || m.Method != "tools/call" || !as.Admit(r) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`,
				m.ID, r.Header.Get("Authorization")+" "+r.Header.Get("X-User")+" "+r.Header.Get("X-Groups"))
			return true
		}
	})
}

func asPerson(t *testing.T, url string, people mcpclients.People) (*mcpclients.Manager, transport.ServerConfig) {
	t.Helper()
	cfg := transport.ServerConfig{
		Name: "desk", URL: url, AsPerson: true, Headers: map[string]string{"X-User": "${person.id}", "X-Groups": "${person.groups}"},
	}
	m, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{cfg}, People: people})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.Start(t.Context())
	if err := m.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for m.Status()[0].State != schemas.StateReady {
		time.Sleep(time.Millisecond)
	}
	return m, cfg
}

func caller(id string) *schemas.Person {
	return &schemas.Person{Caller: schemas.Caller{ID: id, Groups: []string{"staff", id}}}
}

func tokenOf(t *testing.T, people *crowd, id string, cfg transport.ServerConfig) string {
	t.Helper()
	g, _, err := oauth.Get(t.Context(), people.of(id), cfg.LoginServer())
	if err != nil || g == nil {
		t.Fatalf("the login of %s: %v, %v", id, g, err)
	}
	return g.Access
}

// Two people call at once, and each call carries its own person's token and name only.
func TestAsPerson_NobodyTravelsOverTheConnectionOfAnother(t *testing.T) {
	as := oauthserver.New()
	defer as.Close()
	echoOf(as)
	people := &crowd{}
	m, cfg := asPerson(t, as.MCP(), mcpclients.People{Logins: people.of})
	ids := []string{"anna", "binh"}
	for _, id := range ids {
		logIn(t, people.of(id), cfg)
	}
	if tokenOf(t, people, "anna", cfg) == tokenOf(t, people, "binh", cfg) {
		t.Fatal("both people have the same token")
	}
	var work sync.WaitGroup
	for _, id := range ids {
		want := fmt.Sprintf("Bearer %s %s staff,%s", tokenOf(t, people, id, cfg), id, id)
		for range 100 {
			work.Go(func() {
				r, err := m.CallFor(t.Context(), caller(id), "desk", "add", nil)
				if err != nil || !strings.Contains(string(r.Output), want) {
					t.Errorf("a call of %s answered %s, %v; want %q", id, r.Output, err, want)
				}
			})
		}
	}
	work.Wait()
	if tools := m.Known().Tools(); len(tools) != 1 || tools[0].ToolName != "add" || !tools[0].Personal {
		t.Errorf("the shared list is %+v", tools)
	}
}

// Without a login nothing is called; with one that has been ended, nothing more is.
func TestAsPerson_LoginFirst(t *testing.T) {
	as := oauthserver.New()
	defer as.Close()
	echoOf(as)
	people := &crowd{}
	m, cfg := asPerson(t, as.MCP(), mcpclients.People{Logins: people.of, LoginURL: func(s string) string { return "https://host/v1/logins/" + s + "/begin" }})
	if tools := m.Known().Tools(); len(tools) != 1 || tools[0].ToolName != "connect" {
		t.Errorf("before the first login the tools are %+v, want connect", tools)
	}
	if _, err := m.Call(t.Context(), "desk", "add", nil); err == nil || !strings.Contains(err.Error(), "nobody asks") {
		t.Errorf("a call for nobody got %v", err)
	}
	r, err := m.CallFor(t.Context(), caller("anna"), "desk", "add", nil)
	if err != nil || !r.IsError || !strings.Contains(string(r.Output), "https://host/v1/logins/desk/begin") {
		t.Errorf("without a login a call got %s, %v", r.Output, err)
	}

	// The card leads to the login, and the waiting call goes on by itself.
	binh := caller("binh")
	binh.Ask = func(ctx context.Context, q schemas.Question) (schemas.Answer, error) {
		if q.URL != "https://host/v1/logins/desk/begin" || q.Server != "desk" {
			t.Errorf("the card is %+v", q)
		}
		logIn(t, people.of("binh"), cfg)
		<-ctx.Done() // nobody answers the card
		return schemas.Answer{}, ctx.Err()
	}
	r, err = m.CallFor(t.Context(), binh, "desk", "add", nil)
	if want := "Bearer " + tokenOf(t, people, "binh", cfg) + " binh"; err != nil || !strings.Contains(string(r.Output), want) {
		t.Fatalf("the waiting call got %s, %v; want %q", r.Output, err, want)
	}

	if _, err := oauth.Drop(t.Context(), people.of("binh"), cfg.LoginServer()); err != nil {
		t.Fatal(err)
	}
	before := as.Counts().Calls
	r, err = m.CallFor(t.Context(), caller("binh"), "desk", "add", nil)
	if err != nil || !r.IsError || !strings.Contains(string(r.Output), "nothing was called") || as.Counts().Calls != before {
		t.Errorf("after the logout a call got %s, %v", r.Output, err)
	}
}

// A login is renewed when it expires. When the renewal is refused the person has to log in again, and the
// call that waits for it goes on.
func TestAsPerson_Renewal(t *testing.T) {
	as := oauthserver.New()
	defer as.Close()
	echoOf(as)
	people := &crowd{}
	m, cfg := asPerson(t, as.MCP(), mcpclients.People{Logins: people.of, LoginURL: func(s string) string { return "https://host/v1/logins/" + s + "/begin" }})
	logIn(t, people.of("anna"), cfg)
	cards := 0
	anna := caller("anna")
	anna.Ask = func(ctx context.Context, q schemas.Question) (schemas.Answer, error) {
		if cards++; !q.Login {
			t.Errorf("the card is %+v", q)
		}
		as.Behave(func(b *oauthserver.Behaviour) { b.RenewalFault = "" })
		logIn(t, people.of("anna"), cfg)
		m.LoggedIn("anna", "desk")
		<-ctx.Done()
		return schemas.Answer{}, ctx.Err()
	}
	call := func() string {
		t.Helper()
		r, err := m.CallFor(t.Context(), anna, "desk", "add", nil)
		if want := "Bearer " + tokenOf(t, people, "anna", cfg) + " anna"; err != nil || !strings.Contains(string(r.Output), want) {
			t.Fatalf("a call got %s, %v; want %q", r.Output, err, want)
		}
		return tokenOf(t, people, "anna", cfg)
	}
	expire := func() {
		t.Helper()
		g, _, err := oauth.Get(t.Context(), people.of("anna"), cfg.LoginServer())
		if err != nil {
			t.Fatal(err)
		}
		g.Expires = time.Now().Add(-time.Second)
		if err := oauth.Put(t.Context(), people.of("anna"), cfg.LoginServer(), *g); err != nil {
			t.Fatal(err)
		}
	}
	first := tokenOf(t, people, "anna", cfg)
	expire()
	second := call()
	if second == first || as.Counts().Renewals == 0 || cards != 0 {
		t.Errorf("after %d renewals and %d cards the token is %q, and was %q", as.Counts().Renewals, cards, second, first)
	}
	expire()
	as.Behave(func(b *oauthserver.Behaviour) { b.RenewalFault = "invalid_grant" })
	if third := call(); third == second || cards != 1 {
		t.Errorf("after a refused renewal %d cards were shown, and the token is %q", cards, third)
	}
	if call(); cards != 1 {
		t.Errorf("after the new login %d cards were shown", cards)
	}
}

// A call that the person's login does not allow shows the card: the next login asks for what is missing, and
// the call goes on with it.
func TestAsPerson_LacksScope(t *testing.T) {
	as := oauthserver.New()
	defer as.Close()
	as.Behave(func(b *oauthserver.Behaviour) { b.Scopes = []string{"read", "write"} })
	people := &crowd{}
	m, cfg := asPerson(t, as.MCP(), mcpclients.People{Logins: people.of, LoginURL: func(string) string { return "https://host/begin" }})
	logIn(t, people.of("anna"), cfg)
	r, err := m.CallFor(t.Context(), caller("anna"), "desk", "add", nil)
	if err != nil || !r.IsError || !strings.Contains(string(r.Output), "their login does not allow this") {
		t.Errorf("when nobody can be asked: %s, %v", r.Output, err)
	}
	cards := 0
	anna := caller("anna")
	anna.Ask = func(ctx context.Context, _ schemas.Question) (schemas.Answer, error) {
		cards++
		logIn(t, people.of("anna"), cfg)
		<-ctx.Done()
		return schemas.Answer{}, ctx.Err()
	}
	if r, err = m.CallFor(t.Context(), anna, "desk", "add", nil); err != nil || r.IsError || cards != 1 {
		t.Errorf("after %d cards: %s, %v", cards, r.Output, err)
	}
	if scopes := as.ScopesOf(tokenOf(t, people, "anna", cfg)); !slices.Contains(scopes, "write") {
		t.Errorf("the login has the scopes %v", scopes)
	}
	as.Behave(func(b *oauthserver.Behaviour) { b.Scopes, b.Unnamed = []string{"all"}, true })
	if r, err = m.CallFor(t.Context(), anna, "desk", "add", nil); err == nil || !strings.Contains(err.Error(), "mcpServers.desk.oauth.scopes") || cards != 1 {
		t.Errorf("scopes without a name: %s, %v, %d cards", r.Output, err, cards)
	}
}

// A person's values cannot add a header or a group.
func TestForPerson(t *testing.T) {
	cfg := transport.ServerConfig{Headers: map[string]string{"X-User": "${person.id}/${person.name}", "X-Groups": "${person.groups}"}}
	for _, tt := range []struct {
		name string
		who  schemas.Caller
		want string // "" for an error
	}{
		{"a person", schemas.Caller{ID: "1", Name: "Anna", Groups: []string{"a", "b"}}, "1/Anna a,b"},
		{"no name", schemas.Caller{ID: "1"}, "1/1 "},
		{"a reference in a name", schemas.Caller{ID: "1", Name: "${person.groups}", Groups: []string{"admin"}}, "1/${person.groups} admin"},
		{"a line end", schemas.Caller{ID: "1", Name: "A\r\nX-Admin: yes"}, ""},
		{"a line end in a group", schemas.Caller{ID: "1", Groups: []string{"a\nb"}}, ""},
		{"a comma in a group", schemas.Caller{ID: "1", Groups: []string{"a,admin"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mcpclients.ForPerson(cfg, tt.who)
			if (err != nil) != (tt.want == "") {
				t.Fatalf("error %v", err)
			}
			if text := got.Headers["X-User"] + " " + got.Headers["X-Groups"]; err == nil && text != tt.want {
				t.Errorf("headers are %q, want %q", text, tt.want)
			}
		})
	}
}

// At most 256 people are connected at once: the 257th takes the place of whoever was idle longest.
func TestAsPerson_257People(t *testing.T) {
	var mu sync.Mutex
	sessions := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			mu.Lock()
			sessions[r.Header.Get("X-User")]++
			mu.Unlock()
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, r.Header.Get("X-User"))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	defer srv.Close()
	m, _ := asPerson(t, srv.URL, mcpclients.People{})
	call := func(id string) {
		t.Helper()
		r, err := m.CallFor(t.Context(), caller(id), "desk", "add", nil)
		if err != nil || !strings.Contains(string(r.Output), id) {
			t.Fatalf("%s got %s, %v", id, r.Output, err)
		}
	}
	for i := range 257 {
		call(fmt.Sprintf("p%03d", i))
	}
	call("p256") // still connected
	call("p000") // had to give up the place
	mu.Lock()
	defer mu.Unlock()
	if sessions["p256"] != 1 || sessions["p000"] != 2 || sessions["p002"] != 1 {
		t.Errorf("sessions: p256 %d, p000 %d, p002 %d", sessions["p256"], sessions["p000"], sessions["p002"])
	}
}

// What is decided about a tool holds at once for the people who are connected.
func TestAsPerson_DecisionsReachTheConnected(t *testing.T) {
	web := serveHTTP(t, server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true)))
	m, _ := asPerson(t, web.URL+"/mcp", mcpclients.People{})
	call := func(tool string) error {
		_, err := m.CallFor(t.Context(), caller("anna"), "desk", tool, nil)
		return err
	}
	other, err := m.CallFor(t.Context(), caller("binh"), "desk", "weather", nil) // so that the tools are known
	if err != nil {
		t.Fatal(other, err)
	}
	for _, on := range []bool{false, true, false, true} {
		if err := m.Switch(t.Context(), "desk__add", on); err != nil {
			t.Fatal(err)
		}
		if err := call("weather"); err != nil {
			t.Fatal(err)
		}
		if err := call("add"); (err == nil) != on {
			t.Errorf("switched to %v: %v", on, err)
		}
	}
}
