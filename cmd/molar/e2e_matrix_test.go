package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
)

// A visitor is one of the people who use the replicas at once.
type visitor struct {
	name, group string
	// client keeps the cookie of their session.
	client *http.Client
	// ids are what they own, by the name of the parameter and the first part of the route.
	ids map[string]string
}

// secret is in every text of the visitor, and of nobody else.
func (v *visitor) secret() string { return "s3cret-" + v.name + "-" }

// A crowd sends the requests of visitors to replicas, one replica after the other.
type crowd struct {
	hosts []*served
	sent  atomic.Int64
}

func (c *crowd) do(v *visitor, method, path, body string) (status int, answer string, err error) {
	res, answer, err := c.send(v, method, path, body)
	if err != nil {
		return 0, "", err
	}
	return res.StatusCode, answer, nil
}

// send is do for tests that need the header of the answer.
func (c *crowd) send(v *visitor, method, path, body string) (res *http.Response, answer string, err error) {
	host := c.hosts[int(c.sent.Add(1))%len(c.hosts)]
	req, err := http.NewRequest(method, host.url+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if res, err = v.client.Do(req); err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res, string(data), err
}

// A matrixRoute is a route of the API as its document describes it.
type matrixRoute struct {
	method, path string
	// scopes are those of which a client needs one; none for everybody.
	scopes []string
}

// matrixRoutes reads the routes that a host describes.
func matrixRoutes(t *testing.T, c *crowd, v *visitor) []matrixRoute {
	t.Helper()
	status, text, err := c.do(v, http.MethodGet, "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			Security []struct{ Key []string }
		}
	}
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &document) != nil {
		t.Fatalf("GET /openapi.json: %d, %v", status, err)
	}
	var all []matrixRoute
	for path, methods := range document.Paths {
		for method, op := range methods {
			r := matrixRoute{method: strings.ToUpper(method), path: path}
			for _, s := range op.Security {
				for _, list := range s.Key {
					r.scopes = append(r.scopes, strings.Split(list, " or ")...)
				}
			}
			all = append(all, r)
		}
	}
	return all
}

// filled returns the route with the ids of a visitor.
func (r matrixRoute) filled(v *visitor) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/v1/"), "/")
	return regexp.MustCompile(`\{[^}]+\}`).ReplaceAllStringFunc(r.path, func(name string) string {
		if id := v.ids[kind+name]; id != "" {
			return id
		}
		return "unknown_1"
	})
}

// openRoutes are the paths that answer everybody: probes, and signing in and out.
func openRoutes() []string { return []string{"/health", "/ready", "/logout", "/v1/signin"} }

// matrixGroups are the groups of the crowd.
const matrixGroups = `groups:
  staff: {assistants: [plain], tools: ["family__*", "!family__note"]}
  sales: {assistants: [plain]}
  desk: {scopes: [chat, review], assistants: [plain]}
  admins: {scopes: [chat, admin, metrics, review]}
`

// matrixScopes are the scopes of a group of matrixGroups.
func matrixScopes(group string) []string {
	return map[string][]string{
		"staff": {"chat"}, "sales": {"chat"}, "desk": {"chat", "review"}, "admins": {"chat", "admin", "metrics", "review"},
	}[group]
}

// Two hundred people of four groups use three replicas at once, and none sees what another owns: not
// by an id of theirs, not in a list, and not by a change.
func TestReplicas_Matrix(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("two hundred people are left out of short tests")
	}
	model := startModel(t, models.Config{Tool: "none", Tokens: 2})
	provider := npm.StartProvider(t, callbackPath)
	hosts := replicas(t, model, 3, plainAssistant+matrixGroups+providerConfig(provider))
	c := &crowd{hosts: hosts}
	people := make([]*visitor, 200)
	for i := range people {
		group := []string{"staff", "sales", "desk", "admins"}[i%4]
		people[i] = &visitor{name: fmt.Sprintf("%s-%03d", group, i), group: group, client: npm.Browser(hosts[0].client.Transport)}
	}
	each := func(do func(v *visitor, i int)) {
		var group sync.WaitGroup
		for at := range 16 {
			group.Go(func() {
				for i := at; i < len(people); i += 16 {
					do(people[i], i)
				}
			})
		}
		group.Wait()
	}
	began := time.Now()
	each(func(v *visitor, i int) { c.enter(t, provider, v, i) })
	t.Logf("%d people signed in within %s", len(people), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		return
	}
	each(func(v *visitor, _ int) { c.settle(t, v) })
	if t.Failed() {
		return
	}
	routes := matrixRoutes(t, c, people[3])
	before := c.sent.Load()
	each(func(v *visitor, i int) { // one of their own group, and one of another
		c.probe(t, routes, v, people[(i+4)%len(people)])
		c.probe(t, routes, v, people[(i+1)%len(people)])
	})
	each(func(v *visitor, _ int) { c.unharmed(t, v) })
	nobody := &visitor{name: "nobody", client: hosts[0].client}
	stranger := &visitor{name: "stranger", client: &http.Client{Transport: bearer(provider.Token(t, "guests-stranger"))}}
	for _, r := range routes {
		for v, want := range map[*visitor]int{nobody: http.StatusUnauthorized, stranger: http.StatusForbidden} {
			if status, text, err := c.do(v, r.method, r.filled(people[0]), ""); err != nil || status != want && !slices.Contains(openRoutes(), r.path) {
				t.Errorf("%s %s of %s: %d %s, %v", r.method, r.path, v.name, status, text, err)
			}
		}
	}
	t.Logf("%d people, %d routes, %d requests", len(people), len(routes), c.sent.Load()-before)
}

// enter signs a visitor in at the provider.
func (c *crowd) enter(t *testing.T, p *npm.Provider, v *visitor, i int) {
	res, text, err := p.SignIn(t.Context(), v.client, c.hosts[i%len(c.hosts)].url+"/login/oidc", v.name)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%s signs in: %v %s", v.name, err, text)
	}
}

// bearer sends this token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// settle lets a visitor own one of each kind of thing.
func (c *crowd) settle(t *testing.T, v *visitor) {
	v.ids = map[string]string{}
	own := func(chat string) string {
		status, text, err := c.do(v, http.MethodPost, "/v1/chat/completions", questionBody("plain", chat, "I am "+v.secret()+" and ask.", false))
		var a struct {
			Molar struct {
				TurnID         string `json:"turn_id"`
				ConversationID string `json:"conversation_id"`
			}
		}
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &a) != nil {
			t.Errorf("%s asks: %d %s, %v", v.name, status, text, err)
		}
		v.ids["turns{id}"], v.ids["conversations{id}"] = a.Molar.TurnID, a.Molar.ConversationID
		return a.Molar.TurnID
	}
	own("chat_same") // all of them use one id
	turn := own("")
	if status, text, err := c.do(v, http.MethodPost, "/v1/turns/"+turn+"/feedback", `{"mark":"down","note":"`+v.secret()+`"}`); err != nil || status != http.StatusOK {
		t.Errorf("%s marks: %d %s, %v", v.name, status, text, err)
	}
	status, text, err := c.do(v, http.MethodPost, "/v1/responses", `{"model":"plain","input":"I am `+v.secret()+` and respond."}`)
	var r struct{ ID string }
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &r) != nil {
		t.Errorf("%s asks for a response: %d %s, %v", v.name, status, text, err)
	}
	v.ids["responses{id}"] = r.ID
}

// probe tries every route with the ids of somebody else.
func (c *crowd) probe(t *testing.T, routes []matrixRoute, v, other *visitor) {
	secrets := regexp.MustCompile(`s3cret-\w+-\d+-`)
	for _, r := range routes {
		may := len(r.scopes) == 0 || slices.ContainsFunc(r.scopes, func(s string) bool { return slices.Contains(matrixScopes(v.group), s) })
		path := r.filled(other)
		if r.method != http.MethodGet && path == r.path {
			continue // it is about nobody's id
		}
		status, text, err := c.do(v, r.method, path, map[bool]string{true: "", false: "{}"}[r.method == http.MethodGet])
		if err != nil {
			t.Errorf("%s %s of %s: %v", r.method, path, v.name, err)
			continue
		}
		if (status == http.StatusForbidden) == may && len(r.scopes) > 0 {
			t.Errorf("%s %s of %s in %s: %d %s", r.method, r.path, v.name, v.group, status, text)
		}
		if path != r.path && strings.Contains(path, "_") && status == http.StatusOK && !c.shared(r, v) {
			t.Errorf("%s %s of %s with an id of %s: %d %s", r.method, r.path, v.name, other.name, status, text)
		}
		if c.shared(r, v) {
			continue
		}
		for _, found := range secrets.FindAllString(text, -1) {
			if found != v.secret() {
				t.Errorf("%s %s of %s shows what %s owns", r.method, r.path, v.name, found)
			}
		}
	}
}

// shared reports whether the route shows a visitor things of everybody.
func (c *crowd) shared(r matrixRoute, v *visitor) bool {
	scopes := matrixScopes(v.group)
	return slices.Contains(scopes, "review") && (strings.HasPrefix(r.path, "/v1/turns") || r.path == "/v1/feedback") && r.method == http.MethodGet
}

// unharmed checks that everything of a visitor is there as it was.
func (c *crowd) unharmed(t *testing.T, v *visitor) {
	for _, path := range []string{"/v1/conversations/chat_same", "/v1/conversations/" + v.ids["conversations{id}"], "/v1/turns/" + v.ids["turns{id}"], "/v1/responses/" + v.ids["responses{id}"], "/v1/feedback?mark=down&limit=1000"} {
		status, text, err := c.do(v, http.MethodGet, path, "")
		if err != nil || status != http.StatusOK || !strings.Contains(text, v.secret()) && !strings.HasPrefix(path, "/v1/responses") {
			t.Errorf("%s reads %s: %d %s, %v", v.name, path, status, text, err)
		}
	}
}
