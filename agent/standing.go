package agent

import (
	"context"
	"log/slog"
	"time"

	"molar/schemas"
	"molar/toolhandler"
)

// Grants stores approvals that last beyond one call; one without a conversation counts in all of the
// owner's.
type Grants interface {
	PutGrant(ctx context.Context, owner string, g schemas.Grant) error
	// GrantsOf returns the owner's approvals that count in a conversation.
	GrantsOf(ctx context.Context, owner, conversation string) ([]schemas.Grant, error)
}

// standing gives access to the lasting approvals of a turn's person.
type standing struct {
	Grants
	Owner, Conversation string
	// Started is when the turn began.
	Started time.Time
	Log     *slog.Logger
}

var _ toolhandler.Grants = standing{}

// Granted returns the approvals that count in the turn; none if the store fails.
func (s standing) Granted(ctx context.Context) []schemas.Grant {
	all, err := s.GrantsOf(ctx, s.Owner, s.Conversation)
	if err != nil {
		s.Log.Warn("stored approvals cannot be read, so the person is asked again", "error", err)
		return nil
	}
	return all
}

// Grant stores an approval.
func (s standing) Grant(ctx context.Context, g schemas.Grant, scope toolhandler.Scope) error {
	if scope != toolhandler.Always {
		g.ConversationID = s.Conversation
	}
	g.Started = s.Started
	return s.PutGrant(ctx, s.Owner, g)
}
