package serve

import (
	"context"

	"molar/internal/access"
	"molar/internal/host"
	"molar/internal/oidc"
	"molar/internal/store"
	"molar/schemas"
	"molar/web"
)

// newSignIn returns how people sign in at the identity provider; nil if there is none. All replicas seal
// with the same key, since a browser may come back to another one.
func newSignIn(ctx context.Context, h *host.Host, keys *access.Access) (*access.SignIn, error) {
	cfg := h.Config.Identity.OIDC
	if !cfg.On() {
		return nil, nil //nolint:nilnil // nobody signs in
	}
	client, err := host.Client(h.Config.CAFile)
	if err != nil {
		return nil, err
	}
	key, err := h.DB.Secret(ctx, "sign-in")
	if err != nil {
		return nil, err
	}
	provider, err := oidc.New(oidc.Config{
		Issuer: cfg.Issuer, ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret.Reveal(), Scopes: cfg.Scopes,
		Groups: cfg.Groups, Name: cfg.Name, Audience: cfg.Audience, Key: key, Client: client, Logger: h.Log,
	})
	if err != nil {
		return nil, err
	}
	return keys.SignInAt(provider, cfg.Session), nil
}

// watchIdentity keeps what is known of the identity provider current until ctx ends.
func (p *port) watchIdentity(ctx context.Context) {
	if p.signIn != nil {
		p.signIn.Watch(ctx)
	}
}

// addPeople adds how people sign in, and what is known of them.
func (p *port) addPeople(to *web.Access) {
	to.PublicURL = p.Config.PublicURL
	if p.signIn != nil {
		to.OIDC, to.Provider = p.signIn, p.Config.Identity.OIDC.Label
	}
	to.PublicURL = p.Config.PublicURL
	to.GroupsOf = func(ctx context.Context, owner string) (groups []string, known bool, err error) {
		who, known, err := p.DB.Person(ctx, owner)
		return who.Groups, known, err
	}
	to.See = func(c schemas.Caller) { p.access.See(store.Person{Owner: c.ID, Name: c.Name, Groups: c.Groups}) }
}
