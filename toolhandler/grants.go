package toolhandler

import (
	"context"
	"log/slog"
	"slices"

	"molar/schemas"
)

// A Scope is the reach of a person's approval.
type Scope string

// The scopes. Both cover only the tool and its destinations, see [Approval.Subject].
const (
	Once           Scope = "once"
	InConversation Scope = "conversation"
	Always         Scope = "always"
)

// Grants stores approvals beyond one call.
type Grants interface {
	// Granted reports whether a subject has a standing approval.
	Granted(ctx context.Context, subject string) bool
	Grant(ctx context.Context, subject string, scope Scope) error
}

// scopes returns the scopes that a person may choose for the tool. A destructive tool always
// asks.
func (t *Turn) scopes(tool schemas.Tool) []Scope {
	if t.grants == nil || destroys(tool) {
		return []Scope{Once}
	}
	return []Scope{Once, InConversation, Always}
}

// granted reports whether a standing approval covers the call.
func (t *Turn) granted(ctx context.Context, a Approval) bool {
	return slices.Contains(t.scopes(a.Tool), InConversation) && t.grants.Granted(ctx, a.Subject())
}

// grant stores an approval beyond the call.
func (t *Turn) grant(ctx context.Context, a Approval, scope Scope) {
	if scope == "" || scope == Once || !slices.Contains(t.scopes(a.Tool), scope) {
		return
	}
	if err := t.grants.Grant(ctx, a.Subject(), scope); err != nil {
		t.h.log.Warn("the approval of later calls could not be stored", slog.String("tool", a.Tool.Name), slog.Any("error", err))
	}
}
