package oauth

import (
	"encoding/json"
	"fmt"
)

// A savedLogin is a login in progress outside the process. It holds secrets.
type savedLogin struct {
	Issuer      string `json:"issuer"`
	Grant       Grant  `json:"grant"`
	NamesIssuer bool   `json:"names_issuer,omitempty"`
	Redirect    string `json:"redirect"`
	State       string `json:"state"`
	Verifier    string `json:"verifier"`
}

// Save returns the login in progress, so that another process can finish it. It holds secrets.
func (l *Login) Save() ([]byte, error) {
	return json.Marshal(savedLogin{l.Issuer, l.grant, l.namesIssuer, l.redirect, l.state, l.verifier})
}

// Resume returns a login that was saved, at the same server.
func (c *Client) Resume(s Server, saved []byte) (*Login, error) {
	var l savedLogin
	if err := json.Unmarshal(saved, &l); err != nil || l.State == "" {
		return nil, fmt.Errorf("%w: log in again", ErrState)
	}
	if !l.Grant.fits(s) {
		return nil, fmt.Errorf("the server %s was changed during the login: log in again", s.Name)
	}
	return &Login{
		client: c, server: s, Issuer: l.Issuer, grant: l.Grant, namesIssuer: l.NamesIssuer,
		redirect: l.Redirect, state: l.State, verifier: l.Verifier,
	}, nil
}
