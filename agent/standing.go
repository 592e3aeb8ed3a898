package agent

import (
	"context"
	"log/slog"

	"molar/toolhandler"
)

// Grants stores approvals that last beyond one call, by subject; one without a conversation counts
// in all of the owner's.
type Grants interface {
	PutGrant(ctx context.Context, owner, conversation, subject string) error
	Granted(ctx context.Context, owner, conversation, subject string) (bool, error)
}

// standing gives access to the lasting approvals of a turn's person.
type standing struct {
	Grants
	Owner, Conversation string
	Log                 *slog.Logger
}

var _ toolhandler.Grants = standing{}

// Granted reports whether a subject has a lasting approval; false if the store fails.
func (s standing) Granted(ctx context.Context, subject string) bool {
	granted, err := s.Grants.Granted(ctx, s.Owner, s.Conversation, subject)
	if err != nil {
		s.Log.Warn("stored approvals cannot be read, so the person is asked again", "error", err)
	}
	return granted && err == nil
}

// Grant stores an approval.
func (s standing) Grant(ctx context.Context, subject string, scope toolhandler.Scope) error {
	conversation := s.Conversation
	if scope == toolhandler.Always {
		conversation = ""
	}
	return s.PutGrant(ctx, s.Owner, conversation, subject)
}
