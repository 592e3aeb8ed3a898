package toolhandler

import (
	"context"
	"log/slog"
	"slices"

	"molar/schemas"
)

// A Scope is how far a person's yes reaches.
type Scope string

// The scopes. Both reach no further than the tool and where its arguments go, see
// [Approval.Subject].
const (
	Once           Scope = "once"
	InConversation Scope = "conversation"
	Always         Scope = "always"
)

// Grants keeps what a person allowed beyond one call.
type Grants interface {
	// Granted reports whether a subject has a yes that stands.
	Granted(ctx context.Context, subject string) bool
	Grant(ctx context.Context, subject string, scope Scope) error
}

// scopes are how far a yes to a call of the tool may reach. What announces itself as
// destructive always asks.
func (t *Turn) scopes(tool schemas.Tool) []Scope {
	if t.grants == nil || destroys(tool) {
		return []Scope{Once}
	}
	return []Scope{Once, InConversation, Always}
}

// granted reports whether the call has a yes that stands.
func (t *Turn) granted(ctx context.Context, a Approval) bool {
	return slices.Contains(t.scopes(a.Tool), InConversation) && t.grants.Granted(ctx, a.Subject())
}

// grant keeps a yes beyond the call.
func (t *Turn) grant(ctx context.Context, a Approval, scope Scope) {
	if scope == "" || scope == Once || !slices.Contains(t.scopes(a.Tool), scope) {
		return
	}
	if err := t.grants.Grant(ctx, a.Subject(), scope); err != nil {
		t.h.log.Warn("what a person allowed beyond this call could not be kept", slog.String("tool", a.Tool.Name), slog.Any("error", err))
	}
}
