package web_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/internal/httpguard"
	"molar/web"
	"molar/web/turns"
)

// A stream that somebody follows ends with their session, and the detached turn itself goes on.
func TestFollow_EndsWithTheSession(t *testing.T) {
	ring := httpguard.NewKeyring(nil)
	key := httpguard.Key{ID: "k1", Owner: "ann", Scopes: []string{"chat"}, Hash: httpguard.HashOf("ann")}
	session := httpguard.Key{ID: "s1", Owner: "ann", Scopes: []string{"chat"}, Hash: httpguard.HashOf("cookie"), Session: true}
	ring.Set([]httpguard.Key{key, session})
	gate := make(chan struct{}, 2)
	cfg := config(t, gated(gate, nil, "one ", "two"))
	cfg.Turns = turns.NewSet(nil, nil)
	cfg.Owner = func(r *http.Request) string { return httpguard.PrincipalOf(r.Context()).Owner }
	cfg.Access = web.Access{Keys: ring}
	ts := live(t, cfg)
	defer ts.Client().CloseIdleConnections()

	gate <- struct{}{}
	begun := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"detach":true},`+question+`}`, "Authorization", "Bearer ann")
	defer begun.Body.Close()
	at := "/v1/turns/" + begun.Header.Get("X-Turn-Id")
	followed := get(t, ts.Client(), ts.URL+at+"/events", "Cookie", httpguard.SessionCookie+"=cookie")
	defer followed.Body.Close()
	lines := bufio.NewScanner(followed.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "one ") {
	}

	ring.Set([]httpguard.Key{key}) // the session is revoked
	ended := make(chan string)
	go func() {
		var rest strings.Builder
		for lines.Scan() {
			rest.WriteString(lines.Text())
		}
		ended <- rest.String()
	}()
	select {
	case rest := <-ended:
		if strings.Contains(rest, "two") {
			t.Errorf("after the session came %q", rest)
		}
	case <-time.After(10 * time.Second):
		t.Error("the stream goes on after its session")
	}
	gate <- struct{}{}
	own := get(t, ts.Client(), ts.URL+at+"/events", "Authorization", "Bearer ann")
	if text := readAll(t, own); own.StatusCode != http.StatusOK || !strings.Contains(text, "two") {
		t.Errorf("the turn of the owner: %d %s", own.StatusCode, text)
	}
}
