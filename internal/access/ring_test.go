package access_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/access"
	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/schemas"
)

// presents returns a request with a key, or with a session.
func presents(text string, session bool) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if session {
		r.AddCookie(&http.Cookie{Name: httpguard.SessionCookie, Value: text})
	} else {
		r.Header.Set("X-Api-Key", text)
	}
	return r
}

// During a rotation both texts open the same key; afterwards the new one alone does, and the sessions that
// the old one made end with it.
func TestAccess_Rotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := store.APIKey{ID: "key_1", Name: "ci", Scopes: []string{"chat"}, Hash: httpguard.HashOf("old").String()}
		m := &memory{keys: []store.APIKey{key}}
		a := open(t, m, true)
		before, refusal, err := a.SignInKey(t.Context(), "old")
		if err != nil || refusal != nil {
			t.Fatal(err, refusal)
		}
		m.change(func(k *store.APIKey) {
			k.Previous, k.PreviousUntil, k.Hash = key.Hash, time.Now().Add(time.Hour), httpguard.HashOf("new").String()
		})
		after, refusal := "", (*httpguard.Refusal)(nil)
		check := func(when string, oldOpens bool) {
			t.Helper()
			for _, tt := range []struct {
				text    string
				session bool
				want    bool
			}{{"new", false, true}, {after, true, true}, {"old", false, oldOpens}, {before, true, oldOpens}} {
				who, refusal := a.Ring().Identify(presents(tt.text, tt.session))
				if (refusal == nil) != tt.want || tt.want && (who.Owner != "key_1" || who.Key != "key_1") {
					t.Errorf("%s, %q: %+v, refused: %v", when, tt.text, who, refusal)
				}
			}
		}
		go a.Watch(t.Context(), func() {})
		time.Sleep(2 * time.Second)
		if after, refusal, err = a.SignInKey(t.Context(), "new"); err != nil || refusal != nil {
			t.Fatal(err, refusal)
		}
		check("during the overlap", true)
		time.Sleep(time.Hour)
		check("after it", false)
		m.change(nil)
		time.Sleep(2 * time.Second)
		if _, refusal := a.Ring().Identify(presents(after, true)); refusal == nil {
			t.Error("a session outlives its key")
		}
	})
}

// Groups limit a key, the person for whom a key acts lends it what they may do now, and without an
// admitted group neither opens anything.
func TestAccess_RightsOfKeys(t *testing.T) {
	staff := config.Map[schemas.Group]{{Name: "staff", Value: schemas.Group{Name: "staff", Scopes: []string{"chat", "review"}}}}
	ann := store.Person{Owner: "person:ann", Groups: []string{"staff"}}
	gone := store.Person{Owner: "person:bob", Groups: []string{"left"}}
	all := []string{"chat", "admin"}
	for name, tt := range map[string]struct {
		key    store.APIKey
		groups config.Map[schemas.Group]
		scopes []string // none means that it opens nothing
		owner  string
	}{
		"neither":                {store.APIKey{}, staff, all, "key_1"},
		"a group":                {store.APIKey{Groups: []string{"staff"}}, staff, []string{"chat"}, "key_1"},
		"a group that is gone":   {store.APIKey{Groups: []string{"old"}}, staff, nil, ""},
		"no group is left":       {store.APIKey{Groups: []string{"staff"}}, nil, nil, ""},
		"a person":               {store.APIKey{Owner: ann.Owner, Of: &ann}, staff, []string{"chat"}, ann.Owner},
		"a person, no groups":    {store.APIKey{Owner: ann.Owner, Of: &ann}, nil, []string{"chat"}, ann.Owner},
		"a person who left":      {store.APIKey{Owner: gone.Owner, Of: &gone}, staff, nil, ""},
		"a person who is erased": {store.APIKey{Owner: ann.Owner}, staff, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := tt.key
			k.ID, k.Name, k.Scopes, k.Hash = "key_1", "k", all, httpguard.HashOf("k").String()
			a, err := access.Open(t.Context(), access.Config{
				Store: &memory{keys: []store.APIKey{k, {ID: "key_2", Name: "other", Hash: httpguard.HashOf("other").String()}}}, Groups: tt.groups, Sessions: true, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			who, refusal := a.Ring().Identify(presents("k", false))
			if (refusal == nil) != (tt.scopes != nil) || who.Owner != tt.owner || who.Person != (tt.owner == ann.Owner) {
				t.Fatalf("%+v, refused: %v", who, refusal)
			}
			if diff := cmp.Diff(tt.scopes, who.Scopes); diff != "" {
				t.Errorf("scopes (-want +got)\n%s", diff)
			}
		})
	}
}

// A link of a key works once, and a key for programs signs no browser in.
func TestAccess_SignInAsAKey(t *testing.T) {
	m := &memory{keys: []store.APIKey{
		{ID: "key_1", Name: "laptop", Scopes: []string{"chat"}, Hash: httpguard.HashOf("laptop").String()},
		{ID: "key_2", Name: "prom", Scopes: []string{"metrics"}, Hash: httpguard.HashOf("prom").String()},
	}}
	a := open(t, m, true)
	token, hash := access.NewToken()
	if err := m.AddLink(t.Context(), hash, "key_1", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	session, ok, err := a.SignIn(t.Context(), token)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if who, refusal := a.Ring().Identify(presents(session, true)); refusal != nil || who.Owner != "key_1" || !who.Session || who.Credential == "key_1" {
		t.Errorf("%+v, refused: %v", who, refusal)
	}
	if _, ok, err := a.SignIn(t.Context(), token); ok || err != nil {
		t.Errorf("the link works twice: %v %v", ok, err)
	}
	if _, refusal, err := a.SignInKey(t.Context(), "prom"); err != nil || refusal == nil || refusal.Code != "key_opens_no_page" {
		t.Errorf("a key for metrics signs in: %v %v", refusal, err)
	}
	if err := a.SignOut(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if _, refusal := a.Ring().Identify(presents(session, true)); refusal == nil {
		t.Error("the session is open after signing out")
	}
}
