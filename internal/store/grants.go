package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/google/uuid"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutGrant stores a standing permission; an existing one stays unchanged.
func (s *State) PutGrant(ctx context.Context, owner string, g schemas.Grant) error {
	conversation := g.ConversationID
	g.ID, g.ConversationID = "", ""
	subject, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, "put grant", `INSERT INTO grants (id, owner, conversation_id, subject, given_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (owner, conversation_id, subject) DO NOTHING`,
		"grant_"+uuid.NewString(), owner, conversation, s.db.SQL.Text(string(subject)), database.Millis(s.db.Now()))
	return err
}

// GrantsOf returns the owner's permissions that count in a conversation.
func (s *State) GrantsOf(ctx context.Context, owner, conversation string) ([]schemas.Grant, error) {
	return s.grants(ctx, `WHERE owner = $1 AND conversation_id IN ('', $2)`, owner, conversation)
}

// ListGrants returns an owner's permissions, the newest first; an empty owner means every
// owner's.
func (s *State) ListGrants(ctx context.Context, owner string) ([]schemas.Grant, error) {
	return s.grants(ctx, `WHERE ($1 = '' OR owner = $1)`, owner)
}

func (s *State) grants(ctx context.Context, where string, args ...any) ([]schemas.Grant, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (g schemas.Grant, err error) {
		var at int64
		var id, owner, conversation, subject string
		err = row.Scan(&id, &owner, &conversation, &subject, &at)
		if err == nil {
			err = json.Unmarshal([]byte(subject), &g)
		}
		g.ID, g.Owner, g.ConversationID = id, owner, conversation
		g.GivenAt = database.TimeAt(at)
		return g, err
	}, `SELECT id, owner, conversation_id, subject, given_at FROM grants `+where+` ORDER BY given_at DESC, subject`, args...)
	return all, s.db.Fault("list grants", err)
}

// DeleteGrant revokes an owner's permission; ok is false if there is no such permission.
func (s *State) DeleteGrant(ctx context.Context, owner, id string) (ok bool, err error) {
	n, err := s.db.Exec(ctx, "delete grant", `DELETE FROM grants WHERE id = $1 AND ($2 = '' OR owner = $2)`, s.db.SQL.Text(id), owner)
	return n > 0, err
}
