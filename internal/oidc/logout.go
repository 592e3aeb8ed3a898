package oidc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// logoutLife is how old a logout token may be, and how far the clock of the provider may be ahead.
const logoutLife = 5 * time.Minute

// LoggedOut passes on whose sessions the provider ends with a logout token (OpenID Connect Back-Channel
// Logout): all of a person, or, with Session, one of them; Subject is empty if the token names only that.
// A token that ended sessions ends no others.
func (p *Provider) LoggedOut(ctx context.Context, text string, end func(Person) error) error {
	k, err := p.get(ctx)
	if err != nil {
		return err
	}
	token, err := k.verifier.VerifyLogout(oidc.ClientContext(ctx, p.cfg.Client), text)
	if err != nil {
		return fmt.Errorf("%w: the logout token is not valid: %w", ErrRefused, err)
	}
	age, hash := p.cfg.Now().Sub(token.IssuedAt), sha256.Sum256([]byte(token.TokenID))
	_, again := p.ended.get(hash)
	switch {
	case !slices.Contains(token.Audience, p.cfg.ClientID):
		return fmt.Errorf("%w: the logout token is for another client", ErrRefused)
	case age > logoutLife || age < -logoutLife:
		return fmt.Errorf("%w: the logout token is not of the last %s", ErrRefused, logoutLife)
	case again:
		return fmt.Errorf("%w: the logout token was used before", ErrRefused)
	}
	who := Person{Issuer: p.cfg.Issuer, Subject: token.Subject, Session: token.SessionID}
	if err := end(who); err != nil {
		return err // the provider may send the same token again
	}
	p.ended.put(hash, who, p.cfg.Now().Add(2*logoutLife))
	return nil
}
