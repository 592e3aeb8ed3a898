package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/internal/store/storetest"
	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
	"molar/internal/testkit/stubmcp"
)

// asPersonConfig attaches a server that each person calls as themselves.
func asPersonConfig(g *npm.Guarded, store string) string {
	return "default: plain\nllm: {provider: ollama}\nassistants: {plain: {description: x, tools: ['guarded__*']}}\nmemory: {store: '" + store + "'}\n" +
		"logins: {keys: ['${LOGIN_KEY}']}\nmcpServers:\n  guarded: {url: '" + g.URL + "', as: person, headers: {X-User: '${person.id}'}}\n"
}

// keepKey puts the key for logins beside a config file.
func keepKey(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(strings.TrimSuffix(file, ".yaml")+".env", []byte("LOGIN_KEY="+strings.Repeat("ab", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// asksWho is a model that asks the service who the person is, and connects to it before if it has to.
func asksWho(t *testing.T) *models.Server {
	t.Helper()
	said := regexp.MustCompile(`You are [a-z-]+\.`)
	return startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		if isSummary(r) || len(r.Roles) == 0 {
			return nil
		}
		who, connect := slices.Contains(r.Tools, "guarded__whoami"), slices.Contains(r.Tools, "guarded__connect")
		found := said.FindAllStringIndex(r.Body, -1)
		connected, refused := strings.LastIndex(r.Body, "Connected to guarded"), strings.LastIndex(r.Body, "nothing was called")
		result := -1
		if len(found) > 0 {
			result = found[len(found)-1][0]
		}
		switch after := r.Roles[len(r.Roles)-1] == "tool"; {
		case after && refused > max(connected, result):
			return models.Text("I could not ask: you are not connected.")
		case after && result > connected:
			return models.Text("It says: " + r.Body[result:found[len(found)-1][1]])
		case who:
			return &models.Reply{Calls: []models.Call{{Name: "guarded__whoami"}}}
		case connect:
			return &models.Reply{Calls: []models.Call{{Name: "guarded__connect"}}}
		default:
			return models.Text("There is no tool.")
		}
	}})
}

// A browserTab is a tab of a Chromium.
type browserTab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps the browser in it
}

func (b browserTab) run(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + " " + document.body.innerText`))
		b.t.Fatalf("%s: %v: %s", what, err, page)
	}
}

// sees waits until a condition of the page is true.
func (b browserTab) sees(condition string) {
	b.t.Helper()
	for range 400 { // a navigation ends a wait with an error, so this asks again
		if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(() => { try { return Boolean(`+condition+`); } catch { return false; } })()`)); err == nil && ok {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.run("wait for "+condition, chromedp.Evaluate[chromedp.Void](`(() => { throw new Error("it never came") })()`))
}

func (b browserTab) click(selector string) {
	b.t.Helper()
	b.run("click "+selector, chromedp.Click(selector))
}

// opened returns the tab with an address of this beginning, which another one has opened.
func (b browserTab) opened(prefix string) browserTab {
	b.t.Helper()
	var tab browserTab
	eventually(b.t, "a tab at "+prefix, func() bool {
		all, err := chromedp.Targets(b.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, one := range all {
			if strings.HasPrefix(one.URL, prefix) {
				ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithTargetID(one.TargetID))
				b.t.Cleanup(closeTab)
				tab = browserTab{b.t, ctx}
				return true
			}
		}
		return false
	})
	return tab
}

// signsIn opens the chat page of somebody who has a key.
func (b browserTab) signsIn(address, key string) {
	b.t.Helper()
	b.run("open", chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address+"/"))
	b.sees(`location.pathname === "/login" && !document.getElementById("with-key").hidden`)
	b.run("sign in", chromedp.SendKeys("#key", key+"\r"))
	b.sees(`location.pathname === "/" && document.getElementById("send")`)
}

func (b browserTab) asks(question string) {
	b.t.Helper()
	b.run("ask", chromedp.SendKeys("#question", question+"\r"))
}

// answers waits for the n-th answer on the page.
func (b browserTab) answers(n int, text string) {
	b.t.Helper()
	b.sees(`[...document.querySelectorAll(".assistant .prose")].filter((e) => e.textContent.includes("` + text + `")).length === ` + string(rune('0'+n)))
}

// consents sends the form of the authorization server. A tab behind another one draws nothing, so nothing
// can be clicked there with the mouse.
func (b browserTab) consents() {
	b.t.Helper()
	b.run("consent", chromedp.Evaluate[chromedp.Void](`document.querySelector("[type=submit]").click()`))
}

// logsIn follows the card of a pending call: the login and the consent of the authorization server, which
// is another site, and the way back.
func (b browserTab) logsIn(p *npm.Provider, name string) {
	b.t.Helper()
	b.sees(`document.querySelector(".question h3").textContent === "Connect to “guarded”"`)
	b.click(".question a.primary")
	login := b.opened(p.Issuer)
	login.sees(`document.querySelector("[name=login]")`)
	login.run("log in", chromedp.SendKeys("[name=login]", name), chromedp.SendKeys("[name=password]", "any\r"))
	login.sees(`document.querySelector("[value=consent]")`)
	login.consents()
	login.sees(`document.body.textContent.includes("You are connected to guarded.")`)
}

// Two people use a server that knows each of them. The call that waits for a login goes on when its person
// comes back, and each has only their own token.
func TestServe_ToolsAsThePersonInTheBrowser(t *testing.T) {
	t.Parallel()
	first, second := browserTab{t, chromiumTab(t)}, browserTab{t, chromiumTab(t)}
	p := npm.StartProvider(t, callbackPath)
	g := p.StartGuarded(t)
	model := asksWho(t)
	file := writeFile(t, "molar.yaml", asPersonConfig(g, "./molar.db"))
	keepKey(t, file)
	ann, bob := makeKeyFor(t, file, "ann", "chat"), makeKeyFor(t, file, "bob", "chat")
	s := serveHost(t, file, model)

	first.signsIn(s.url, ann)
	first.asks("Who am I?")
	first.logsIn(p, "staff-ann")
	first.answers(1, "It says: You are staff-ann.")
	first.sees(`!document.querySelector(".question")`)

	second.signsIn(s.url, bob) // the tools are known by now, and his first call still waits for his own login
	second.asks("Who am I?")
	second.logsIn(p, "staff-bob")
	second.answers(1, "It says: You are staff-bob.")
	first.asks("And now?")
	first.answers(2, "It says: You are staff-ann.")

	first.run("account", chromedp.Navigate(s.url+"/account"))
	first.sees(`document.querySelector("[aria-label='Disconnect guarded']")`)
	first.click("[aria-label='Disconnect guarded']")
	first.sees(`document.querySelector("a[href='/v1/logins/guarded/begin?to=/account']")`)
	first.run("back", chromedp.Navigate(s.url+"/"))
	first.asks("Who am I after that?")
	first.sees(`document.querySelector(".question a.primary")`)
	first.click(".question button") // not now
	first.answers(1, "I could not ask: you are not connected.")
	second.asks("And now?")
	second.answers(2, "It says: You are staff-bob.")

	first.run("account", chromedp.Navigate(s.url+"/account"))
	first.sees(`document.querySelector("a[href='/v1/logins/guarded/begin?to=/account']")`)
	first.click("a[href='/v1/logins/guarded/begin?to=/account']")
	first.sees(`document.querySelector("[value=consent]")`) // of a client that was registered anew
	first.consents()
	first.sees(`location.pathname === "/account" && document.querySelector("[aria-label='Disconnect guarded']")`)
}

// logsIn logs the person of a browser in at the server, and returns the last page.
func (c caller) logsIn(t *testing.T, p *npm.Provider, name string) string {
	t.Helper()
	_, page, err := p.SignIn(t.Context(), c.client, c.url+"/v1/logins/guarded/begin", name)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// goesOn opens the address to which a page goes on by itself.
func (c caller) goesOn(page string) (status int, text string) {
	c.t.Helper()
	found := regexp.MustCompile(`content="0;url=([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		c.t.Fatalf("the page does not go on: %s", page)
	}
	status, text, _ = c.do(http.MethodGet, html.UnescapeString(found[1]), "")
	return status, text
}

// finishing returns a copy of a browser that holds the login in progress of another one.
func (c caller) finishing(other caller) caller {
	c.t.Helper()
	at, err := url.Parse(c.url + "/oauth/finish")
	if err != nil {
		c.t.Fatal(err)
	}
	isLogin := func(one *http.Cookie) bool { return one.Name == "molar_login" }
	mine := slices.DeleteFunc(c.client.Jar.Cookies(at), isLogin)
	theirs := other.client.Jar.Cookies(at)
	if !slices.ContainsFunc(theirs, isLogin) {
		c.t.Fatal("the browser holds no login in progress")
	}
	c.client = npm.Browser(nil)
	c.client.Jar.SetCookies(at, append(mine, theirs[slices.IndexFunc(theirs, isLogin)]))
	return c
}

// A login that was begun at one replica is finished at another, works at both, and has ended at both as
// soon as its person ends it at one.
func TestReplicas_ToolsAsThePerson(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, callbackPath)
	g := p.StartGuarded(t)
	model := asksWho(t)
	file := writeFile(t, "molar.yaml", asPersonConfig(g, storetest.StartPostgres(t).Database(t))+providerConfig(p))
	keepKey(t, file)
	hosts := []*served{serveHost(t, file, model), serveHost(t, file, model)}
	ann, _, _ := hosts[0].signsIn(t, p, "staff-ann")
	bob, _, _ := hosts[1].signsIn(t, p, "staff-bob")
	says := func(c caller, want string) {
		t.Helper()
		status, text, _ := c.do(http.MethodPost, "/v1/chat/completions", questionBody("plain", "", "Who am I?", false))
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %q", c.url, status, text, want)
		}
	}
	says(ann, "you are not connected")
	page := ann.logsIn(t, p, "staff-ann")
	if status, text := ann.at(hosts[1]).goesOn(page); status != http.StatusOK || !strings.Contains(text, "You are connected to guarded") {
		t.Fatalf("finished at the other replica: %d %s", status, text)
	}
	for _, h := range hosts {
		says(ann.at(h), "It says: You are staff-ann.")
		says(bob.at(h), "you are not connected")
		if list := ann.at(h).want(http.StatusOK, "", http.MethodGet, "/v1/prompts", ""); !strings.Contains(list, "Greets staff-ann") {
			t.Errorf("her prompts at %s: %s", h.url, list)
		}
		if list := bob.at(h).want(http.StatusOK, "", http.MethodGet, "/v1/prompts", ""); strings.Contains(list, "greet") {
			t.Errorf("his prompts at %s: %s", h.url, list)
		}
		// A prompt and a resource are read over the connection of who asks.
		for question, read := range map[string]string{"/greet": "Greet staff-ann warmly.", "What does @guarded:card://me say?": "The card of staff-ann."} {
			for b, want := range map[*caller]bool{&ann: true, &bob: false} {
				model.Reset()
				if status, text, _ := b.at(h).do(http.MethodPost, "/v1/chat/completions", questionBody("plain", "", question, false)); status != http.StatusOK {
					t.Errorf("%s: %d %s", question, status, text)
				}
				holds := func(r models.Request) bool { return strings.Contains(r.Body, read) }
				if got := slices.ContainsFunc(asked(model), holds); got != want {
					t.Errorf("%s: the model reads it: %t, want %t", question, got, want)
				}
			}
		}
	}
	if status, text := bob.goesOn(bob.logsIn(t, p, "staff-bob")); status != http.StatusOK {
		t.Fatalf("bob: %d %s", status, text)
	}
	ann.at(hosts[0]).want(http.StatusOK, "", http.MethodDelete, "/v1/logins/guarded", "")
	began := time.Now()
	for _, h := range hosts {
		says(ann.at(h), "you are not connected")
		says(bob.at(h), "It says: You are staff-bob.")
	}
	t.Logf("ended at both after %s at most", time.Since(began).Round(time.Millisecond))
}

// Nobody can finish a login but the person who began it, in their browser, with its own answer, once.
func TestServe_LoginRoutes(t *testing.T) {
	t.Parallel()
	p := npm.StartProvider(t, callbackPath)
	g := p.StartGuarded(t)
	file := writeFile(t, "molar.yaml", asPersonConfig(g, "./molar.db")+providerConfig(p))
	keepKey(t, file)
	never := makeKey(t, file, "robot", "--scope", "chat", "--ask", "never")
	s := serveHost(t, file, nil)
	ann, _, _ := s.signsIn(t, p, "staff-ann")
	bob, _, _ := s.signsIn(t, p, "staff-bob")
	stranger := caller{t: t, url: s.url, client: s.client}

	for _, route := range [][2]string{{http.MethodGet, "/v1/logins"}, {http.MethodGet, "/v1/logins/guarded/begin"}, {http.MethodDelete, "/v1/logins/guarded"}, {http.MethodGet, "/oauth/finish"}} {
		stranger.want(http.StatusUnauthorized, "invalid_api_key", route[0], route[1], "")
		stranger.with(never).want(http.StatusForbidden, "no_person", route[0], route[1], "")
	}
	if status, text, _ := stranger.do(http.MethodGet, "/oauth/callback?state=x&code=%22%3E%3Cscript%3E", ""); status != http.StatusOK || strings.Contains(text, "<script>") {
		t.Errorf("back from another site: %d %s", status, text)
	}
	ann.want(http.StatusNotFound, "login_not_found", http.MethodDelete, "/v1/logins/guarded", "")

	page := ann.logsIn(t, p, "staff-ann")
	query := regexp.MustCompile(`/oauth/finish\?([^"]+)`).FindStringSubmatch(page)
	if query == nil {
		t.Fatalf("the login of ann: %s", page)
	}
	answer, err := url.ParseQuery(html.UnescapeString(query[1]))
	if err != nil || answer.Get("code") == "" {
		t.Fatalf("the answer %v, %v", answer, err)
	}
	finish := func(c caller, answer url.Values) (int, string) {
		status, text, _ := c.do(http.MethodGet, "/oauth/finish?"+answer.Encode(), "")
		return status, text
	}
	copied := func() caller { return ann.finishing(ann) } // finishing takes the cookie away
	other := url.Values{"state": {"another"}, "code": {answer.Get("code")}, "iss": {answer.Get("iss")}}
	for what, try := range map[string]func() (int, string){
		"another state":                func() (int, string) { return finish(copied(), other) },
		"no answer":                    func() (int, string) { return finish(copied(), nil) },
		"another person":               func() (int, string) { return finish(bob, answer) },
		"another person, ann's cookie": func() (int, string) { return finish(bob.finishing(ann), answer) },
	} {
		if status, text := try(); status != http.StatusBadRequest || !strings.Contains(text, "You are not connected") {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	kept := copied()
	if status, text := finish(ann, answer); status != http.StatusOK {
		t.Fatalf("ann: %d %s", status, text)
	}
	if status, _ := finish(ann, answer); status != http.StatusBadRequest {
		t.Errorf("again: %d", status)
	}
	if status, _ := finish(kept, answer); status != http.StatusBadRequest {
		t.Errorf("again, with the cookie of before: %d", status)
	}
	if list := ann.want(http.StatusOK, "", http.MethodGet, "/v1/logins", ""); !strings.Contains(list, `"connected":true`) || strings.Contains(list, "eyJ") {
		t.Errorf("the logins of ann: %s", list)
	}
	if list := bob.want(http.StatusOK, "", http.MethodGet, "/v1/logins", ""); strings.Contains(list, `"connected":true`) {
		t.Errorf("the logins of bob: %s", list)
	}
}

// A headerLog collects the headers of all requests that a server gets.
type headerLog struct {
	mu   sync.Mutex
	seen []http.Header
}

func (l *headerLog) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.seen = append(l.seen, r.Header.Clone())
		l.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// Of what a client sends to identify itself, no server and no model gets anything. A server that each
// person calls as themselves gets what the config says, and that of this person.
func TestServe_ClientsHeadersAreNotPassedOn(t *testing.T) {
	t.Parallel()
	var logs [3]headerLog // of two servers and of the model
	var urls [2]string
	for i := range urls {
		srv := httptest.NewServer(logs[i].before(stubmcp.New(stubmcp.Config{})))
		t.Cleanup(srv.Close)
		urls[i] = srv.URL
	}
	inner := models.New(models.Config{Script: func(r models.Request) *models.Reply {
		for _, server := range []string{"mine", "ours"} {
			for _, tool := range []string{stubmcp.ToolName, "connect"} {
				name := server + "__" + tool
				if slices.Contains(r.Tools, name) && !strings.Contains(r.Body, `"name":"`+name+`","arguments"`) && !isSummary(r) {
					return &models.Reply{Calls: []models.Call{{Name: name, Args: []byte(`{"family_id":"1a955fff"}`)}}}
				}
			}
		}
		return models.Text("All were asked.")
	}})
	model := httptest.NewServer(logs[2].before(inner))
	t.Cleanup(model.Close)
	file := writeFile(t, "molar.yaml", "default: plain\nllm: {provider: ollama}\nassistants: {plain: {description: x, tools: ['*__*']}}\nmemory: {store: ./molar.db}\n"+
		"mcpServers:\n  ours: {url: '"+urls[1]+"', trust: true, tools: {'*': {policy: allow}}}\n"+
		"  mine: {url: '"+urls[0]+"', as: person, trust: true, headers: {Authorization: Bearer of-the-config, X-User: '${person.id}'}, tools: {'*': {policy: allow}}}\n")
	ann, bob := makeKeyFor(t, file, "ann", "chat"), makeKeyFor(t, file, "bob", "chat")
	env := homeEnv(t, nil)
	env["OLLAMA_BASE_URL"] = model.URL
	s := serveIn(t, env, file)
	owners := map[string]string{}
	for _, key := range []string{ann, bob} {
		owners[key] = caller{t: t, url: s.url, client: s.client, key: key}.me().ID
		res := s.send(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", "", "Ask all of them", false),
			"Authorization", "Bearer "+key, "Cookie", "canary=1", "X-Api-Key", key, "X-User", "canary", "X-Forwarded-User", "canary", "X-Canary", "canary")
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "All were asked.") {
			t.Fatalf("%d %s, %v", res.StatusCode, body, err)
		}
	}
	s.stop()
	users := map[string]bool{}
	for i := range logs {
		if len(logs[i].seen) == 0 {
			t.Errorf("server %d was not asked", i)
		}
		for _, header := range logs[i].seen {
			for name, values := range header {
				all := strings.Join(values, ",")
				if strings.Contains(all, ann) || strings.Contains(all, bob) || strings.Contains(all, "canary") {
					t.Errorf("server %d got %s: %s", i, name, all)
				}
			}
			want := ""
			if i == 0 {
				want = "Bearer of-the-config"
				users[header.Get("X-User")] = true
			}
			if got := header.Get("Authorization"); got != want {
				t.Errorf("server %d got the authorization %q, want %q", i, got, want)
			}
		}
	}
	if len(users) != 2 || !users[owners[ann]] || !users[owners[bob]] {
		t.Errorf("the server of each person was told %v, want %v", users, owners)
	}
}
