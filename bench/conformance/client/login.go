package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
)

// The port that the browser would come back to. Nothing listens there: the address is
// read from the redirect, as a person does with --no-browser.
const redirectPort = 8765

// A person logs in when the server asks for it, as "molar servers login" has it.
type person struct {
	kept   onlyLogin
	server transport.ServerConfig
}

// logIn goes through one login. The suite's authorization server asks nobody.
func (p *person) logIn(ctx context.Context) error {
	client, err := oauth.NewClient(nil, nil)
	if err != nil {
		return err
	}
	s := p.server.LoginServer()
	before, _, err := oauth.Get(ctx, &p.kept, s)
	if err != nil {
		return err
	}
	login, err := client.Begin(ctx, s, oauth.RedirectURI(redirectPort), before)
	if err != nil {
		return err
	}
	back, err := openIn(ctx, login.URL)
	if err != nil {
		return err
	}
	grant, err := login.Finish(ctx, back)
	if err != nil {
		return err
	}
	return oauth.Put(ctx, &p.kept, s, grant)
}

// openIn is the browser: it returns the query that it was sent back with.
func openIn(ctx context.Context, address string) (url.Values, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	back, err := resp.Location()
	if err != nil {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("the authorization server answered %s: %s", resp.Status, body)
	}
	return back.Query(), nil
}

// onlyLogin keeps one login in memory.
type onlyLogin struct {
	mu       sync.Mutex
	state    json.RawMessage
	revision int64
}

func (l *onlyLogin) GetLogin(context.Context, string) (json.RawMessage, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.revision, nil
}

func (l *onlyLogin) SwapLogin(_ context.Context, _ string, revision int64, state json.RawMessage) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision != l.revision || state == nil {
		return false, errors.New("only one person logs in here")
	}
	l.state, l.revision = state, l.revision+1
	return true, nil
}

func (l *onlyLogin) LeaseLogin(context.Context, string, int64, time.Duration) (bool, error) {
	return true, nil
}
