package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutGrant stores a standing permission; an existing one stays unchanged.
func (s *State) PutGrant(ctx context.Context, owner, conversation, subject string) error {
	_, err := s.db.Exec(ctx, "put grant", `INSERT INTO grants (id, owner, conversation_id, subject, given_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (owner, conversation_id, subject) DO NOTHING`,
		"grant_"+uuid.NewString(), owner, conversation, s.db.SQL.Text(subject), database.Millis(s.db.Now()))
	return err
}

// Granted reports whether the owner allowed a subject in a conversation, or in all.
func (s *State) Granted(ctx context.Context, owner, conversation, subject string) (granted bool, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM grants WHERE owner = $1 AND subject = $3 AND conversation_id IN ('', $2))`,
		owner, conversation, s.db.SQL.Text(subject)).Scan(&granted)
	return granted, s.db.Fault("find grant", err)
}

// ListGrants returns an owner's permissions, the newest first; an empty owner means every
// owner's.
func (s *State) ListGrants(ctx context.Context, owner string) ([]schemas.Grant, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (g schemas.Grant, err error) {
		var at int64
		err = row.Scan(&g.ID, &g.Owner, &g.ConversationID, &g.Subject, &at)
		g.GivenAt = database.TimeAt(at)
		return g, err
	}, `SELECT id, owner, conversation_id, subject, given_at FROM grants
		WHERE ($1 = '' OR owner = $1) ORDER BY given_at DESC, subject`, owner)
	return all, s.db.Fault("list grants", err)
}

// DeleteGrant revokes an owner's permission; ok is false if there is no such permission.
func (s *State) DeleteGrant(ctx context.Context, owner, id string) (ok bool, err error) {
	n, err := s.db.Exec(ctx, "delete grant", `DELETE FROM grants WHERE id = $1 AND ($2 = '' OR owner = $2)`, s.db.SQL.Text(id), owner)
	return n > 0, err
}
