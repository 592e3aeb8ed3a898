package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoKey means that no such API key exists.
var ErrNoKey = errors.New("no such API key")

// ErrKeyExists means that there is a key of that name already.
var ErrKeyExists = errors.New("a key of that name exists")

// An APIKey is a key as it is stored: its text is not.
type APIKey struct {
	// ID and Name are unique; a session's name need not be.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Hash is of the key's text, written out.
	Hash   string   `json:"-"`
	Scopes []string `json:"scopes"`
	// Session marks the cookie of a signed-in browser.
	Session   bool      `json:"-"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is zero for a key that does not expire, LastUsed for one that nobody
	// used; both are left out then.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used,omitzero"`
}

// AddKey stores a key. A name that is taken is ErrKeyExists.
func (d *DB) AddKey(ctx context.Context, k APIKey) error {
	session := 0
	if k.Session {
		session = 1
	}
	expires := int64(0)
	if !k.ExpiresAt.IsZero() {
		expires = millis(k.ExpiresAt)
	}
	return d.write(ctx, "add API key", func(tx *sql.Tx) error {
		var taken int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM api_keys WHERE name = $1 AND session = 0 AND $2 = 0`,
			k.Name, session).Scan(&taken); err != nil {
			return err
		}
		if taken > 0 {
			return fmt.Errorf("%w: %q", ErrKeyExists, k.Name)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (id, name, hash, scopes, session, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			k.ID, k.Name, k.Hash, strings.Join(k.Scopes, ","), session, millis(d.now()), expires)
		return err
	})
}

// Keys returns all keys and sessions, the oldest first, also those that have run out.
func (d *DB) Keys(ctx context.Context) ([]APIKey, error) {
	const op = "list API keys"
	rows, err := d.read.QueryContext(ctx, `SELECT id, name, hash, scopes, session, created_at, expires_at, last_used
		FROM api_keys ORDER BY created_at, id`)
	if err != nil {
		return nil, d.fault(op, err)
	}
	defer rows.Close()
	keys := []APIKey{}
	for rows.Next() {
		var k APIKey
		var scopes string
		var session, created, expires, used int64
		if err := rows.Scan(&k.ID, &k.Name, &k.Hash, &scopes, &session, &created, &expires, &used); err != nil {
			return nil, d.fault(op, err)
		}
		k.Scopes, k.Session = strings.Split(scopes, ","), session != 0
		k.CreatedAt, k.ExpiresAt, k.LastUsed = timeAt(created), timeAt(expires), timeAt(used)
		keys = append(keys, k)
	}
	return keys, d.fault(op, rows.Err())
}

// RevokeKey deletes the key, or the session, of that name or id; none is ErrNoKey.
func (d *DB) RevokeKey(ctx context.Context, nameOrID string) error {
	return d.write(ctx, "revoke API key", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM api_keys WHERE id = $1 OR (name = $1 AND session = 0)`, nameOrID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("%w: %q", ErrNoKey, nameOrID)
	})
}

// TouchKeys notes when keys were last used, by their id. Unknown ids are passed over.
func (d *DB) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return d.transact(ctx, d.relaxed, "note the use of API keys", func(tx *sql.Tx) error {
		for id, at := range used {
			if _, err := tx.ExecContext(ctx, `UPDATE api_keys SET last_used = $1 WHERE id = $2 AND last_used < $1`, millis(at), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropSessions deletes the sessions that were not used since a time.
func (d *DB) DropSessions(ctx context.Context, unusedSince time.Time) error {
	return d.transact(ctx, d.relaxed, "drop sessions", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM api_keys WHERE session = 1 AND last_used < $1 AND created_at < $1`, millis(unusedSince))
		return err
	})
}
