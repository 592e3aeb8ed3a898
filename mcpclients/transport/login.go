package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"molar/mcpclients/oauth"
)

// A LoginError is a server's refusal that requires a login.
type LoginError struct {
	server string
	// Lacking is set if the login exists but lacks scopes; the server need not name them.
	Lacking bool
	scopes  []string
	// silent is set if the server did not announce bearer tokens.
	silent bool
	// noPerson is set if the host logs in without a person, so that no person can help.
	noPerson bool
}

// Wider reports whether another login could be allowed what this one is not.
func (e *LoginError) Wider() bool { return e.Lacking && len(e.scopes) > 0 && !e.noPerson }

func (e *LoginError) Error() string {
	if e.noPerson {
		text := "the server refuses the token that the host got by itself"
		if len(e.scopes) > 0 {
			text += " (missing scope: " + strings.Join(e.scopes, " ") + ")"
		}
		return text + ": correct mcpServers." + e.server + ".oauth"
	}
	text := "the server wants a login: run molar servers login " + e.server
	switch {
	case e.Lacking && len(e.scopes) == 0:
		text = fmt.Sprintf("the login does not allow this: put the scopes it needs into mcpServers.%s.oauth.scopes, and run molar servers login %s", e.server, e.server)
	case e.Lacking:
		text = fmt.Sprintf("the login does not allow this (missing scope: %s): run molar servers login %s", strings.Join(e.scopes, " "), e.server)
	}
	if e.silent {
		text += fmt.Sprintf(", or set the headers it needs in mcpServers.%s.headers", e.server)
	}
	return text
}

// permanentLogin makes the error permanent, since a retry is useless.
func permanentLogin(e *LoginError) error { return &permanentError{Err: e} }

// withLogin returns a client that sends the tokens of login to the server. Without login it
// returns client itself.
func withLogin(client *http.Client, cfg *ServerConfig, login *oauth.Source) *http.Client {
	at, err := url.Parse(cfg.URL)
	if login == nil || err != nil {
		return client
	}
	authorized := *client
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	authorized.Transport = &bearer{
		base: base, at: at, login: login, server: cfg.Name, listens: cfg.Transport() == TypeHTTP,
		secure: at.Scheme == "https" || oauth.IsLoopback(at.Hostname()),
	}
	return &authorized
}

// bearer adds the access token to requests and turns a refusal into a [*LoginError].
type bearer struct {
	base   http.RoundTripper
	at     *url.URL // the only origin that gets the token
	secure bool     // whether nobody can read it on the way
	login  *oauth.Source
	server string
	// listens is set if a GET only listens for the server's own messages.
	listens bool
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if !b.secure || r.URL.Scheme != b.at.Scheme || r.URL.Host != b.at.Host {
		return b.base.RoundTrip(r)
	}
	ctx := r.Context()
	token, err := b.login.Token(ctx)
	if err != nil {
		closeBody(r)
		return nil, unavailable(err)
	}
	resp, err := b.send(r, token, true)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return b.allowed(ctx, resp, err, token)
	}
	challenge := oauth.ParseChallenge(resp.Header)
	discard(resp)
	if token != "" {
		// A 401 means no effect, so the same request is retried with another token.
		next, err := b.login.Refused(ctx, token)
		if err != nil {
			return nil, unavailable(err)
		}
		if next != "" && (r.Body == nil || r.GetBody != nil) {
			resp, err := b.send(r, next, false)
			if err != nil || resp.StatusCode != http.StatusUnauthorized {
				return b.allowed(ctx, resp, err, next)
			}
			discard(resp)
			b.reject(r, next)
		}
	}
	if b.listens && r.Method == http.MethodGet {
		// A retry every second would be useless: the requests report the refusal.
		return &http.Response{
			StatusCode: http.StatusMethodNotAllowed, Status: "405 Method Not Allowed", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody, Request: r,
		}, nil
	}
	return nil, permanentLogin(&LoginError{server: b.server, silent: !challenge.Bearer, noPerson: b.login.Alone()})
}

// reject records a new token that was refused; a refused GET that only listens does not count.
func (b *bearer) reject(r *http.Request, token string) {
	if !b.listens || r.Method != http.MethodGet {
		b.login.Reject(token)
	}
}

// send makes one exchange; first is set if the body was not read yet.
func (b *bearer) send(r *http.Request, token string, first bool) (*http.Response, error) {
	request := r.Clone(r.Context())
	if !first && r.Body != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		request.Body = body
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return b.base.RoundTrip(request)
}

// allowed checks an answer other than 401: a login may lack a scope.
func (b *bearer) allowed(ctx context.Context, resp *http.Response, err error, token string) (*http.Response, error) {
	if err != nil || resp.StatusCode != http.StatusForbidden || token == "" {
		return resp, err
	}
	challenge := oauth.ParseChallenge(resp.Header)
	if challenge.Error != "insufficient_scope" {
		return resp, nil
	}
	discard(resp)
	b.login.Reject(token)
	if err := b.login.Lacking(ctx, challenge.Scopes); err != nil {
		return nil, unavailable(fmt.Errorf("store the scopes that a login lacks: %w", err))
	}
	return nil, permanentLogin(&LoginError{server: b.server, Lacking: true, scopes: challenge.Scopes, noPerson: b.login.Alone()})
}

// unavailable returns the error of a request that lacked a token: it was not sent, or refused.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
}

// AsLogin returns the LoginError in err, or nil.
func AsLogin(err error) *LoginError {
	login, _ := errors.AsType[*LoginError](err)
	return login
}
