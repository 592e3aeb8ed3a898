package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// ErrNoKey means that there is no such API key.
const ErrNoKey = database.RefusalError("no such API key")

// ErrKeyExists means that a key of that name exists.
const ErrKeyExists = database.RefusalError("a key of that name exists")

// An APIKey is a key as stored, without its text.
type APIKey struct {
	// ID and Name are unique; a session's name need not be.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Hash is of the key's text, written out.
	Hash   string   `json:"-"`
	Scopes []string `json:"scopes"`
	schemas.KeyManner
	// Session marks the cookie of a signed-in browser.
	Session   bool      `json:"-"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is zero for a key that does not expire, LastUsed for an unused one; both are
	// left out then.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used,omitzero"`
}

// keyLine returns the line of the audit about a key or a session. Only the operator has the link of a
// session, and makes keys.
func keyLine(id, name string, session bool, ofKey, ofSession string) schemas.AuditLine {
	line := schemas.AuditLine{Event: ofKey, Detail: fmt.Sprintf("%s %q", id, name)}
	if session {
		line.Event = ofSession
	}
	return line
}

// AddKey stores a key, and records it in the audit. An existing name is ErrKeyExists.
func (s *State) AddKey(ctx context.Context, k APIKey) error {
	session := 0
	if k.Session {
		session = 1
	}
	expires := int64(0)
	if !k.ExpiresAt.IsZero() {
		expires = database.Millis(k.ExpiresAt)
	}
	return s.db.Write(ctx, "add API key", func(tx *sql.Tx) error {
		var taken int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM api_keys WHERE name = $1 AND session = 0 AND $2 = 0`,
			k.Name, session).Scan(&taken); err != nil {
			return err
		}
		if taken > 0 {
			return fmt.Errorf("%w: %q", ErrKeyExists, k.Name)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (id, name, hash, scopes, session, created_at, expires_at, input, system, ask)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			k.ID, k.Name, k.Hash, strings.Join(k.Scopes, ","), session, database.Millis(s.db.Now()), expires, k.Input, k.System, k.Ask)
		if err != nil {
			return err
		}
		line := keyLine(k.ID, k.Name, k.Session, schemas.EventKeyCreated, schemas.EventLogin)
		line.Scope = strings.Join(k.Scopes, ",")
		line.Detail = strings.Join(append([]string{line.Detail}, k.Lines()...), ", ")
		return s.auditIn(ctx, tx, line)
	})
}

// Keys returns all keys and sessions, the oldest first, expired ones included.
func (s *State) Keys(ctx context.Context) ([]APIKey, error) {
	keys, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (k APIKey, err error) {
		var scopes string
		var session, created, expires, used int64
		err = row.Scan(&k.ID, &k.Name, &k.Hash, &scopes, &session, &created, &expires, &used, &k.Input, &k.System, &k.Ask)
		k.Scopes, k.Session = strings.Split(scopes, ","), session != 0
		k.CreatedAt, k.ExpiresAt, k.LastUsed = database.TimeAt(created), database.TimeAt(expires), database.TimeAt(used)
		return k, err
	}, `SELECT id, name, hash, scopes, session, created_at, expires_at, last_used, input, system, ask FROM api_keys ORDER BY created_at, id`)
	return keys, s.db.Fault("list API keys", err)
}

// RevokeKey deletes the key or session with that name or id, and records it in the audit; if there is
// none it returns ErrNoKey.
func (s *State) RevokeKey(ctx context.Context, nameOrID string) error {
	return s.db.Write(ctx, "revoke API key", func(tx *sql.Tx) error {
		gone, err := database.List(ctx, tx, func(row *sql.Rows) (line schemas.AuditLine, err error) {
			var id, name string
			var session int
			err = row.Scan(&id, &name, &session)
			return keyLine(id, name, session != 0, schemas.EventKeyRevoked, schemas.EventLogout), err
		}, `DELETE FROM api_keys WHERE id = $1 OR (name = $1 AND session = 0) RETURNING id, name, session`, nameOrID)
		if err == nil && len(gone) == 0 {
			err = fmt.Errorf("%w: %q", ErrNoKey, nameOrID)
		}
		for _, line := range gone {
			if err == nil {
				err = s.auditIn(ctx, tx, line)
			}
		}
		return err
	})
}

// TouchKeys stores when keys were last used, by their id. It skips unknown ids.
func (s *State) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return s.db.WriteRelaxed(ctx, "note the use of API keys", func(tx *sql.Tx) error {
		for id, at := range used {
			if _, err := tx.ExecContext(ctx, `UPDATE api_keys SET last_used = $1 WHERE id = $2 AND last_used < $1`, database.Millis(at), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropSessions deletes the sessions that were not used since a time.
func (s *State) DropSessions(ctx context.Context, unusedSince time.Time) error {
	return s.db.WriteRelaxed(ctx, "drop sessions", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM api_keys WHERE session = 1 AND last_used < $1 AND created_at < $1`, database.Millis(unusedSince))
		return err
	})
}
