package host

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/sealed"
	"molar/internal/store"
	"molar/internal/testkit/oauthserver"
	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// A person logs in with their browser, alone; another person can neither finish the login nor use it.
func TestPersonLogins(t *testing.T) {
	as := oauthserver.New()
	defer as.Close()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	box, err := sealed.New(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	mcp, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{{Name: "desk", URL: as.MCP(), AsPerson: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer mcp.Close()
	client, err := oauth.NewClient(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &PersonLogins{db: db, box: box, client: client, mcp: mcp}
	anna, binh := schemas.Caller{ID: "anna"}, schemas.Caller{ID: "binh"}

	address, kept, err := l.Begin(t.Context(), anna, "desk", "http://localhost:8080/oauth/callback", "/account")
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil || !strings.HasPrefix(back.String(), "http://localhost:8080/oauth/callback?") {
		t.Fatalf("the browser came back to %v, %v", back, err)
	}
	for name, try := range map[string]func() error{
		"another person": func() error { _, _, err := l.Finish(t.Context(), binh, kept, back.Query()); return err },
		"another state": func() error {
			_, _, err := l.Finish(t.Context(), anna, kept, url.Values{"state": {"x"}, "code": {back.Query().Get("code")}})
			return err
		},
		"another browser": func() error { _, _, err := l.Finish(t.Context(), anna, "", back.Query()); return err },
	} {
		if err := try(); !errors.Is(err, ErrLogin) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var begun begunLogin
	if text, err := box.Open(kept, "begun", "anna"); err != nil || json.Unmarshal(text, &begun) != nil {
		t.Fatal(err)
	}
	begun.Ends = time.Now()
	expired, err := json.Marshal(begun)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Finish(t.Context(), anna, box.Seal(expired, "begun", "anna"), back.Query()); !errors.Is(err, ErrLogin) {
		t.Errorf("after its time: %v", err)
	}
	if server, to, err := l.Finish(t.Context(), anna, kept, back.Query()); err != nil || server != "desk" || to != "/account" {
		t.Fatalf("finish: %q, %q, %v", server, to, err)
	}

	text, _, err := db.GetPersonLogin(t.Context(), "anna", "desk")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range as.Secrets() {
		if strings.Contains(text, secret) {
			t.Error("a token is stored in clear")
		}
	}
	// A row that is copied to another person does not open.
	if _, err := db.SwapPersonLogin(t.Context(), "binh", "desk", 0, text); err != nil {
		t.Fatal(err)
	}
	if g, _, err := oauth.Get(t.Context(), personStore{db, box, "binh"}, oauth.Server{Name: "desk", URL: as.MCP()}); err != nil || g != nil {
		t.Errorf("the copied row gave %v, %v", g, err)
	}
	if all, err := l.List(t.Context(), anna); err != nil || len(all) != 1 || !all[0].Connected {
		t.Errorf("the logins of anna are %+v, %v", all, err)
	}
	if all, err := l.List(t.Context(), binh); err != nil || len(all) != 1 || all[0].Connected {
		t.Errorf("the logins of binh are %+v, %v", all, err)
	}
	if ended, err := l.End(t.Context(), anna, "desk"); err != nil || !ended || as.Counts().Revoked != 1 {
		t.Errorf("end: %v, %v, revoked %d", ended, err, as.Counts().Revoked)
	}
	if ended, err := l.End(t.Context(), anna, "desk"); err != nil || ended {
		t.Errorf("end twice: %v, %v", ended, err)
	}
}
