package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients/oauth"
)

func token(t *testing.T, s *oauth.Source) string {
	t.Helper()
	text, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSource_Renews(t *testing.T) {
	s, store, now := guarded(t), &memory{}, newClock()
	s.Behave(func(b *oauthserver.Behaviour) { b.Life = time.Hour })
	c := client(t, now.now)
	src := source(t, s, store, c, io.Discard)
	if got := token(t, src); got != "" {
		t.Error("a token without a login")
	}
	now.pass(time.Minute)
	g := loggedIn(t, c, s, store)
	if got := token(t, src); got != g.Access {
		t.Error("another token than that of the login")
	}
	now.pass(30 * time.Minute)
	if token(t, src) != g.Access || s.Counts().Renewals != 0 {
		t.Error("renewed too early")
	}
	now.pass(30*time.Minute - 20*time.Second) // its expiry is near
	second := token(t, src)
	if second == g.Access || second == "" || s.Counts().Renewals != 1 {
		t.Errorf("not renewed: %+v", s.Counts())
	}
	now.pass(time.Hour)
	if third := token(t, src); third == second || third == "" || s.Counts().Renewals != 2 {
		t.Errorf("not renewed with the rotated token: %+v %q", s.Counts(), s.Faults())
	}
	if faults := s.Faults(); faults != nil {
		t.Errorf("rules that were broken: %q", faults)
	}
}

// Many requests in several processes cause one renewal.
func TestSource_RenewsOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, store := oauthserver.New(), &memory{}
	defer s.Close()
	c := client(t, nil)
	g := loggedIn(t, c, s, store)
	arrived, open := holdRenewals(s)
	var sources []*oauth.Source
	for range 3 { // three processes on one store
		src := source(t, s, store, c, io.Discard)
		defer src.Close()
		sources = append(sources, src)
	}
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for i := range 24 {
		if i == 1 {
			<-arrived
		}
		wg.Go(func() {
			text, err := sources[i%3].Refused(t.Context(), g.Access)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[text]++
		})
	}
	open()
	wg.Wait()
	if n := s.Counts().Renewals; n != 1 || len(got) != 1 || got[""] != 0 {
		t.Errorf("%d renewals, tokens %d: %q", n, len(got), s.Faults())
	}
}

// A caller that is cancelled does not cancel the renewal.
func TestSource_CallerGoesAway(t *testing.T) {
	s, store := guarded(t), &memory{}
	c := client(t, nil)
	g := loggedIn(t, c, s, store)
	arrived, open := holdRenewals(s)
	src := source(t, s, store, c, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := src.Refused(ctx, g.Access); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	open()
	src.Close() // waits for it
	stored, _, err := oauth.Get(t.Context(), store, at(s))
	if err != nil || stored == nil || stored.Access == g.Access || stored.Refresh == g.Refresh {
		t.Errorf("the renewed login was lost: %v", err)
	}
}

func TestSource_RefusedForGood(t *testing.T) {
	s, store := guarded(t), &memory{}
	s.Behave(func(b *oauthserver.Behaviour) { b.Echo = true })
	c := client(t, nil)
	g := loggedIn(t, c, s, store)
	s.Revoke()
	var log bytes.Buffer
	src := source(t, s, store, c, &log)
	next, err := src.Refused(t.Context(), g.Access)
	if err != nil || next != "" {
		t.Fatalf("%q, %v", next, err)
	}
	if token(t, src) != "" || src.Fresh(t.Context()) {
		t.Error("the login goes on")
	}
	if _, err := src.Refused(t.Context(), g.Access); err != nil || s.Counts().Renewals != 1 {
		t.Errorf("%v, %d renewals: the spent token was sent again", err, s.Counts().Renewals)
	}
	if !strings.Contains(log.String(), "molar servers login s") || strings.Contains(log.String(), "canary") {
		t.Errorf("log: %s", log.String())
	}
	again := loggedIn(t, c, s, store)
	if !src.Fresh(t.Context()) || token(t, src) != again.Access {
		t.Error("the next login was not taken up")
	}
}

// A temporary fault ends no login: the old one stays, and renewals are not repeated without
// pauses.
func TestSource_FaultOnTheWay(t *testing.T) {
	s, store, now := guarded(t), &memory{}, newClock()
	s.Behave(func(b *oauthserver.Behaviour) { b.Life, b.RenewalFault = time.Hour, "503" })
	c := client(t, now.now)
	g := loggedIn(t, c, s, store)
	src := source(t, s, store, c, io.Discard)
	now.pass(time.Hour - 10*time.Second)
	if token(t, src) != g.Access {
		t.Error("the token is good for 10 s more")
	}
	now.pass(time.Minute)
	for range 5 {
		if _, err := src.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 503") {
			t.Fatalf("%v", err)
		}
	}
	if n := s.Counts().Renewals; n != 2 {
		t.Errorf("%d renewals, want one for each pause", n)
	}
	s.Behave(func(b *oauthserver.Behaviour) { b.RenewalFault = "" })
	now.pass(10 * time.Second)
	if next := token(t, src); next == "" || next == g.Access {
		t.Error("not renewed once the server was well again")
	}
}

// A renewed login that cannot be stored is not lost.
func TestSource_StoreFails(t *testing.T) {
	s, store, now := guarded(t), &memory{}, newClock()
	c := client(t, now.now)
	g := loggedIn(t, c, s, store)
	src := source(t, s, store, c, io.Discard)
	token(t, src)
	store.breakWrites(errors.New("the disk is full"))
	next, err := src.Refused(t.Context(), g.Access)
	if err != nil || next == "" || next == g.Access {
		t.Fatalf("%q, %v", next, err)
	}
	now.pass(time.Minute)
	if token(t, src) != next {
		t.Error("the renewed token was lost")
	}
	store.breakWrites(nil)
	now.pass(time.Minute)
	if token(t, src) != next {
		t.Error("the renewed token was lost as the store came back")
	}
	if stored, _, _ := oauth.Get(t.Context(), store, at(s)); stored == nil || stored.Access != next {
		t.Error("it was not stored after all")
	}
}

// A logout or a new login during a renewal overrides it.
func TestSource_PersonWins(t *testing.T) {
	for _, out := range []bool{true, false} {
		s, store := guarded(t), &memory{}
		c := client(t, nil)
		g := loggedIn(t, c, s, store)
		arrived, open := holdRenewals(s)
		src := source(t, s, store, c, io.Discard)
		done := make(chan string, 1)
		go func() {
			next, err := src.Refused(t.Context(), g.Access)
			if err != nil {
				t.Error(err)
			}
			done <- next
		}()
		<-arrived
		want := ""
		if out {
			if _, err := oauth.Drop(t.Context(), store, at(s)); err != nil {
				t.Fatal(err)
			}
		} else {
			want = loggedIn(t, c, s, store).Access
		}
		open()
		if got := <-done; got != want {
			t.Errorf("logged out %v: got another token than the person's", out)
		}
		stored, _, err := oauth.Get(t.Context(), store, at(s))
		if err != nil || (stored == nil) != out || stored != nil && stored.Access != want {
			t.Errorf("logged out %v: the store holds something else, %v", out, err)
		}
	}
}

// holdRenewals blocks renewals until open is called; the first one closes arrived.
func holdRenewals(s *oauthserver.Server) (arrived <-chan struct{}, open func()) {
	first, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Behave(func(b *oauthserver.Behaviour) {
		b.OnRenewal = func() {
			once.Do(func() { close(first) })
			<-gate
		}
	})
	return first, func() { close(gate) }
}

// A login for another address, or of another client, is not returned.
func TestGet_Binds(t *testing.T) {
	s, store := guarded(t), &memory{}
	loggedIn(t, client(t, nil), s, store)
	for what, change := range map[string]func(*oauth.Server){
		"host":   func(o *oauth.Server) { o.URL = "http://127.0.0.1:1/mcp" },
		"path":   func(o *oauth.Server) { o.URL += "/other" },
		"client": func(o *oauth.Server) { o.ClientID = "another" },
	} {
		server := at(s)
		change(&server)
		if g, _, err := oauth.Get(t.Context(), store, server); err != nil || g != nil {
			t.Errorf("another %s: the login was used, %v", what, err)
		}
	}
	server := at(s)
	server.URL += "?key=other"
	if g, _, err := oauth.Get(t.Context(), store, server); err != nil || g == nil {
		t.Errorf("another query is the same server: %v", err)
	}
}

func TestSource_Lacking(t *testing.T) {
	s, store := guarded(t), &memory{}
	c := client(t, nil)
	loggedIn(t, c, s, store)
	src := source(t, s, store, c, io.Discard)
	for range 2 {
		if err := src.Lacking(t.Context(), []string{"write", "read"}); err != nil {
			t.Fatal(err)
		}
	}
	g := loggedIn(t, c, s, store)
	if strings.Join(g.Scopes, " ") != "read write" || g.Wanted != nil {
		t.Errorf("the next login got %q, wanting %q", g.Scopes, g.Wanted)
	}
}
