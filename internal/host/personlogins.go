package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"molar/internal/config"
	"molar/internal/sealed"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// loginLife is how long a login in the browser may take.
const loginLife = 10 * time.Minute

// PersonLogins are the logins of people at servers that each person calls as themselves.
type PersonLogins struct {
	db     *store.DB
	box    *sealed.Box
	client *oauth.Client
	mcp    *mcpclients.Manager
}

// OpenPersonLogins returns the logins of people, nil if the config has no keys for them.
func (h *Host) OpenPersonLogins() (*PersonLogins, error) {
	box, err := loginBox(h.Config)
	if box == nil || err != nil {
		return nil, err
	}
	web, err := Client(h.Config.CAFile)
	if err != nil {
		return nil, err
	}
	var base http.RoundTripper
	if web != nil {
		base = web.Transport
	}
	client, err := oauth.NewClient(base, nil)
	return &PersonLogins{db: h.DB, box: box, client: client, mcp: h.MCP}, err
}

// loginBox returns what seals the logins of people; nil without keys.
func loginBox(cfg *config.Config) (*sealed.Box, error) {
	if len(cfg.Logins.Keys) == 0 {
		return nil, nil
	}
	keys := make([]string, len(cfg.Logins.Keys))
	for i, key := range cfg.Logins.Keys {
		keys[i] = key.Reveal()
	}
	return sealed.New(keys...)
}

// people returns what the servers need that each person calls as themselves.
func (h *Host) people() (mcpclients.People, error) {
	box, err := loginBox(h.Config)
	if box == nil || err != nil {
		return mcpclients.People{}, err
	}
	at := h.Config.Address(h.Config.Listen)
	return mcpclients.People{
		Logins:   func(id string) oauth.Store { return personStore{h.DB, box, id} },
		LoginURL: func(server string) string { return at + "/v1/logins/" + url.PathEscape(server) + "/begin" },
	}, nil
}

// personStore keeps the logins of one person, sealed for the person and the server.
type personStore struct {
	db    *store.DB
	box   *sealed.Box
	owner string
}

// loginPlace is where a login is sealed for.
func loginPlace(owner, server string) []string { return []string{"login", owner, server} }

// GetLogin returns the person's login. One that cannot be opened counts as none.
func (s personStore) GetLogin(ctx context.Context, server string) (json.RawMessage, int64, error) {
	text, revision, err := s.db.GetPersonLogin(ctx, s.owner, server)
	if err != nil || revision == 0 {
		return nil, 0, err
	}
	state, err := s.box.Open(text, loginPlace(s.owner, server)...)
	if err != nil {
		return json.RawMessage("null"), revision, nil // the next login replaces it
	}
	return state, revision, nil
}

// SwapLogin replaces the person's login if its revision matches.
func (s personStore) SwapLogin(ctx context.Context, server string, revision int64, state json.RawMessage) (bool, error) {
	text := ""
	if state != nil {
		text = s.box.Seal(state, loginPlace(s.owner, server)...)
	}
	return s.db.SwapPersonLogin(ctx, s.owner, server, revision, text)
}

// LeaseLogin lets one process at a time renew the person's login.
func (s personStore) LeaseLogin(ctx context.Context, server string, revision int64, life time.Duration) (bool, error) {
	return s.db.LeasePersonLogin(ctx, s.owner, server, revision, life)
}

// A begunLogin is a login in progress, which the person's browser keeps, sealed.
type begunLogin struct {
	Server string    `json:"server"`
	Login  []byte    `json:"login"`
	To     string    `json:"to,omitempty"`
	Ends   time.Time `json:"ends"`
}

// ErrLogin means that a login in the browser cannot be finished.
var ErrLogin = errors.New("this answers no login that you began here in the last 10 minutes: begin it again")

// List returns the servers at which a person can log in, and whether they have.
func (l *PersonLogins) List(ctx context.Context, who schemas.Caller) ([]schemas.PersonLogin, error) {
	kept, err := l.db.ListPersonLogins(ctx, who.ID)
	if err != nil {
		return nil, err
	}
	all := []schemas.PersonLogin{}
	names := l.mcp.PersonServers()
	for _, k := range kept {
		names = append(names, k.Server)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		one := schemas.PersonLogin{Server: name}
		for _, k := range kept {
			var g oauth.Grant
			state, err := l.box.Open(k.State, loginPlace(who.ID, name)...)
			if k.Server == name && err == nil && json.Unmarshal(state, &g) == nil {
				one.Connected, one.Since, one.Issuer, one.Scopes = g.Access != "", k.Since, g.Issuer, g.Scopes
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// Begin begins a login and returns the address at which the person logs in, and the sealed login for
// the person's browser to keep. They come back to the address redirect, and to is where they go then.
func (l *PersonLogins) Begin(ctx context.Context, who schemas.Caller, server, redirect, to string) (address, kept string, err error) {
	s, err := l.mcp.PersonServer(server, who)
	if err != nil {
		return "", "", err
	}
	before, _, err := oauth.Get(ctx, personStore{l.db, l.box, who.ID}, s)
	if err != nil {
		return "", "", err
	}
	login, err := l.client.Begin(ctx, s, redirect, before)
	if err != nil {
		return "", "", fmt.Errorf("log in to %s: %w", server, err)
	}
	saved, err := login.Save()
	if err != nil {
		return "", "", err
	}
	text, err := json.Marshal(begunLogin{server, saved, to, time.Now().Add(loginLife)})
	return login.URL, l.box.Seal(text, "begun", who.ID), err
}

// Finish finishes a login with what the person's browser kept and the query that it came back with,
// and returns the server, and where the person goes then.
func (l *PersonLogins) Finish(ctx context.Context, who schemas.Caller, kept string, query url.Values) (server, to string, err error) {
	var begun begunLogin
	text, err := l.box.Open(kept, "begun", who.ID)
	if err != nil || json.Unmarshal(text, &begun) != nil || time.Now().After(begun.Ends) {
		return "", "", ErrLogin
	}
	s, err := l.mcp.PersonServer(begun.Server, who)
	if err != nil {
		return "", "", err
	}
	login, err := l.client.Resume(s, begun.Login)
	if err != nil {
		return "", "", err
	}
	grant, err := login.Finish(ctx, query)
	if errors.Is(err, oauth.ErrState) {
		return "", "", ErrLogin
	}
	if err != nil {
		return "", "", fmt.Errorf("log in to %s: %w", s.Name, err)
	}
	if err := oauth.Put(ctx, personStore{l.db, l.box, who.ID}, s, grant); err != nil {
		return "", "", err
	}
	l.mcp.LoggedIn(who.ID, s.Name)
	return s.Name, begun.To, l.db.Audit(ctx, schemas.AuditLine{Event: schemas.EventLogin, Person: who.ID, Server: s.Name, Detail: "at " + grant.Issuer})
}

// End deletes a person's login, closes their connection and revokes the tokens where the
// authorization server can. false means that there was none.
func (l *PersonLogins) End(ctx context.Context, who schemas.Caller, server string) (bool, error) {
	of := personStore{l.db, l.box, who.ID}
	state, revision, err := of.GetLogin(ctx, server)
	if err != nil || revision == 0 {
		return false, err
	}
	if ended, err := oauth.Drop(ctx, of, oauth.Server{Name: server}); err != nil || !ended {
		return false, err
	}
	l.mcp.Disconnect(who.ID, server)
	detail := ""
	var g oauth.Grant
	if s, err := l.mcp.PersonServer(server, who); err == nil && json.Unmarshal(state, &g) == nil {
		if l.client.Revoke(ctx, s, g) != nil {
			detail = "the tokens could not be revoked, and end when they expire"
		}
	} else if !errors.Is(err, transport.ErrUnknownServer) && err != nil {
		return true, err
	}
	return true, l.db.Audit(ctx, schemas.AuditLine{Event: schemas.EventLogout, Person: who.ID, Server: server, Detail: detail})
}
