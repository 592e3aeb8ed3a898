package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"molar/internal/store/database"
	"molar/schemas"
)

// PutGrant stores a standing approval of an owner under a new id, and records it in the audit. One of
// the same calls stays as it is.
func (s *State) PutGrant(ctx context.Context, owner string, g schemas.Grant) error {
	// The texts are stored apart, and their digest keeps the index small.
	digest := sumOf(strings.Join([]string{g.Tool, string(g.From), string(g.Width), string(g.Arguments)}, "\x00"))
	return s.db.Write(ctx, "put grant", func(tx *sql.Tx) error {
		if erased, err := erasedIn(ctx, tx, g.ConversationID, owner, g.Started); erased || err != nil {
			return err
		}
		text := s.db.SQL.Text
		n, err := database.Changed(tx.ExecContext(ctx, `INSERT INTO standing_grants (id, owner, conversation_id, tool, origin, width, arguments, digest, given_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (owner, conversation_id, digest) DO NOTHING`,
			"grant_"+uuid.NewString(), owner, g.ConversationID, text(g.Tool), text(string(g.From)), string(g.Width), text(string(g.Arguments)), digest, database.Millis(s.db.Now())))
		if err != nil || n == 0 {
			return err
		}
		return s.auditIn(ctx, tx, grantLine(schemas.EventGrant, owner, g))
	})
}

// grantLine returns the line of the audit about a grant.
func grantLine(event, person string, g schemas.Grant) schemas.AuditLine {
	line := schemas.AuditLine{Person: person, Event: event, Tool: g.Tool, Origin: string(g.From), Scope: "always"}
	if g.ConversationID != "" {
		line.Scope, line.Detail = "conversation", g.ConversationID
	}
	if len(g.Arguments) > 0 {
		line.SHA256 = sumOf(string(g.Arguments))
	}
	line.How = string(g.Width)
	return line
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

const grantColumns = `id, owner, conversation_id, tool, origin, width, arguments, given_at`

// scanGrant reads a row of grantColumns.
func scanGrant(row interface{ Scan(to ...any) error }) (g schemas.Grant, err error) {
	var at int64
	var arguments string
	err = row.Scan(&g.ID, &g.Owner, &g.ConversationID, &g.Tool, &g.From, &g.Width, &arguments, &at)
	if g.GivenAt = database.TimeAt(at); arguments != "" {
		g.Arguments = json.RawMessage(arguments)
	}
	return g, err
}

func (s *State) grants(ctx context.Context, where string, args ...any) ([]schemas.Grant, error) {
	all, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (schemas.Grant, error) { return scanGrant(row) },
		`SELECT `+grantColumns+` FROM standing_grants WHERE `+where+` ORDER BY given_at DESC, id`, args...)
	return all, s.db.Fault("list grants", err)
}

// ListGrants returns an owner's standing approvals, the newest first; an empty owner means every
// owner's.
func (s *State) ListGrants(ctx context.Context, owner string) ([]schemas.Grant, error) {
	return s.grants(ctx, `($1 = '' OR owner = $1)`, owner)
}

// GrantsOf returns an owner's standing approvals that count in a conversation: its own, and those
// of all conversations.
func (s *State) GrantsOf(ctx context.Context, owner, conversation string) ([]schemas.Grant, error) {
	return s.grants(ctx, `owner = $1 AND conversation_id IN ('', $2)`, owner, conversation)
}

// DeleteGrant revokes an owner's approval, and records it in the audit; ok is false if there is no
// such approval. An empty owner revokes anybody's.
func (s *State) DeleteGrant(ctx context.Context, owner, id string) (ok bool, err error) {
	err = s.db.Write(ctx, "delete grant", func(tx *sql.Tx) error {
		g, err := scanGrant(tx.QueryRowContext(ctx, `DELETE FROM standing_grants WHERE id = $1 AND ($2 = '' OR owner = $2)
			RETURNING `+grantColumns, s.db.SQL.Text(id), owner))
		if ok = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.auditIn(ctx, tx, grantLine(schemas.EventRevoke, cmp.Or(owner, schemas.AuditOperator), g))
	})
	return ok, err
}
