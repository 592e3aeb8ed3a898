package access_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"molar/internal/access"
	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/oidc"
	"molar/internal/store"
	"molar/internal/testkit/npm"
	"molar/schemas"
)

// Who comes back from a real provider gets a session with the rights of their groups, as the config file
// admits them at each moment, until the session ends. Somebody without an admitted group gets none.
func TestSignIn_Finish(t *testing.T) {
	p := npm.StartProvider(t, "/login/callback")
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "molar.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	admits := func(names ...string) config.Map[schemas.Group] {
		var all config.Map[schemas.Group]
		for _, name := range names {
			all = append(all, config.Entry[schemas.Group]{Name: name, Value: schemas.Group{Name: name, Scopes: []string{httpguard.ScopeChat, httpguard.ScopeReview}}})
		}
		return all
	}
	open := func() *access.Access {
		t.Helper()
		a, err := access.Open(t.Context(), access.Config{Store: db, Groups: admits("staff"), Sessions: true, Closed: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		go a.Watch(t.Context(), func() {})
		return a
	}
	a, replica := open(), open()
	provider, err := oidc.New(oidc.Config{Issuer: p.Issuer, ClientID: "molar", Scopes: []string{"openid", "profile"}, Groups: "groups", Name: "name", Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	in := a.SignInAt(provider, time.Hour)
	comesBack := func(login string) (kept string, answer url.Values) {
		t.Helper()
		address, kept, err := in.Begin(t.Context(), "http://127.0.0.1:9/login/callback", "/tools")
		if err != nil {
			t.Fatal(err)
		}
		return kept, p.ComesBack(t, address, login)
	}

	kept, answer := comesBack("staff-ann")
	session, to, refusal, err := in.Finish(t.Context(), kept, answer)
	if err != nil || refusal != nil || to != "/tools" || session == "" {
		t.Fatalf("finish: %q %v %v", to, refusal, err)
	}
	who, refusal := a.Ring().Identify(presents(session, true))
	if want := "oidc:" + p.Issuer + "#staff-ann"; refusal != nil || who.Owner != want || who.Key != want || !who.Person || !who.Session ||
		!slices.Equal(who.Scopes, []string{httpguard.ScopeChat, httpguard.ScopeReview}) || !slices.Equal(who.Rights.Names(), []string{"staff"}) {
		t.Errorf("the session opens %+v, refused: %v", who, refusal)
	}
	if known, ok, err := db.Person(t.Context(), who.Owner); err != nil || !ok || known.Name != "Person staff-ann" || !slices.Equal(known.Groups, []string{"staff"}) {
		t.Errorf("noted: %+v %v %v", known, ok, err)
	}
	if _, _, again, err := in.Finish(t.Context(), kept, answer); err != nil || again == nil || again.Status != http.StatusUnauthorized {
		t.Errorf("the same code again: %v %v", again, err)
	}

	opens := func(at *access.Access, want bool, what string) {
		t.Helper()
		for late := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			_, refusal := at.Ring().Identify(presents(session, true))
			if (refusal == nil) == want {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%s: refused: %v", what, refusal)
			}
		}
	}
	opens(replica, true, "at another replica")
	for _, step := range []struct {
		groups []string
		want   bool
	}{{[]string{"sales"}, false}, {[]string{"staff", "sales"}, true}} {
		if err := replica.UseFile(nil, admits(step.groups...)); err != nil {
			t.Fatal(err)
		}
		opens(replica, step.want, "after a reload")
	}

	kept, answer = comesBack("guest-eve")
	if none, _, refusal, err := in.Finish(t.Context(), kept, answer); err != nil || refusal == nil || refusal.Code != "no_group" || none != "" {
		t.Errorf("without a group: %q %v %v", none, refusal, err)
	}
	if err := a.SignOut(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	opens(a, false, "signed out")
	opens(replica, false, "signed out elsewhere")
}
