package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
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
	Session bool `json:"-"`
	// Owner is the person whose session it is, or for whom a key acts; empty for neither.
	Owner string `json:"person,omitempty"`
	// Groups are the key's own; those of Owner are in Of.
	Groups []string `json:"groups,omitempty"`
	// Parent is the key with which a session was made, and with which it ends.
	Parent string `json:"-"`
	// MadeWith is the hash of the key's text with which a session was made, and with which it ends, or the
	// identity provider's name for its session, with which a person signed in; empty
	// for one that was made by a link.
	MadeWith string `json:"-"`
	// Previous is the hash that the key had before its rotation, which works until PreviousUntil.
	Previous      string    `json:"-"`
	PreviousUntil time.Time `json:"previous_until,omitzero"`
	// Of is the person with Owner; nil if nobody is known by it. It is read, and not stored.
	Of        *Person   `json:"-"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is zero for a key that does not expire, LastUsed for an unused one; both are
	// left out then.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used,omitzero"`
}

// keyLine returns the line of the audit about a key or a session. Only the operator makes keys; a
// session is of its person, or of its key.
func keyLine(k APIKey, ofKey, ofSession string) schemas.AuditLine {
	line := schemas.AuditLine{Event: ofKey, Detail: fmt.Sprintf("%s %q", k.ID, k.Name)}
	if k.Session { // without its name, which may be that of a person
		line.Event, line.Person, line.Detail = ofSession, cmp.Or(k.Owner, k.Parent), k.ID
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
		groups, err := listText(k.Groups)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO api_keys (id, name, hash, scopes, session, created_at, expires_at, input, system, ask, owner, member_of, parent, made_with)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			k.ID, s.db.SQL.Text(k.Name), k.Hash, strings.Join(k.Scopes, ","), session, database.Millis(s.db.Now()), expires, k.Input, k.System, k.Ask,
			s.db.SQL.Text(k.Owner), s.db.SQL.Text(groups), k.Parent, k.MadeWith)
		if err != nil {
			return err
		}
		line := keyLine(k, schemas.EventKeyCreated, schemas.EventLogin)
		line.Scope = strings.Join(k.Scopes, ",")
		line.Detail = strings.Join(append([]string{line.Detail}, k.Lines()...), ", ")
		return s.auditIn(ctx, tx, line)
	})
}

// Keys returns all keys and sessions, the oldest first, expired ones included.
func (s *State) Keys(ctx context.Context) ([]APIKey, error) {
	keys, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (k APIKey, err error) {
		var scopes, groups string
		var session, created, expires, used, previousUntil int64
		var person, email, personGroups sql.NullString
		err = row.Scan(&k.ID, &k.Name, &k.Hash, &scopes, &session, &created, &expires, &used, &k.Input, &k.System, &k.Ask,
			&k.Owner, &groups, &k.Parent, &k.MadeWith, &k.Previous, &previousUntil, &person, &email, &personGroups)
		if err != nil {
			return k, err
		}
		k.Scopes, k.Session = strings.Split(scopes, ","), session != 0
		k.PreviousUntil = database.TimeAt(previousUntil)
		k.CreatedAt, k.ExpiresAt, k.LastUsed = database.TimeAt(created), database.TimeAt(expires), database.TimeAt(used)
		if k.Groups, err = listOf(groups); err == nil && person.Valid {
			k.Of = &Person{Owner: k.Owner, Name: person.String, Email: email.String}
			k.Of.Groups, err = listOf(personGroups.String)
		}
		return k, err
	}, `SELECT k.id, k.name, k.hash, k.scopes, k.session, k.created_at, k.expires_at, k.last_used, k.input, k.system, k.ask,
			k.owner, k.member_of, k.parent, k.made_with, k.previous, k.previous_until, p.name, p.email, p.member_of
		FROM api_keys k LEFT JOIN people p ON p.owner = k.owner ORDER BY k.created_at, k.id`)
	return keys, s.db.Fault("list API keys", err)
}

// RevokeKey deletes the key or session with that name or id, and the sessions and links that were made
// with it, and records it in the audit; if there is none it returns ErrNoKey.
func (s *State) RevokeKey(ctx context.Context, nameOrID string) error {
	return s.db.Write(ctx, "revoke API key", func(tx *sql.Tx) error {
		gone, err := deleteKeys(ctx, tx, `id = $1 OR (name = $1 AND session = 0)`, nameOrID)
		if err == nil && len(gone) == 0 {
			err = fmt.Errorf("%w: %q", ErrNoKey, nameOrID)
		}
		for _, k := range slices.Clone(gone) {
			if err != nil || k.Session {
				continue
			}
			var made []APIKey
			if made, err = deleteKeys(ctx, tx, `parent = $1`, k.ID); err == nil {
				_, err = tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE key_id = $1`, k.ID)
			}
			gone = append(gone, made...)
		}
		for _, k := range gone {
			if err == nil {
				err = s.auditIn(ctx, tx, keyLine(k, schemas.EventKeyRevoked, schemas.EventLogout))
			}
		}
		return err
	})
}

// deleteKeys deletes the keys and sessions for which the condition holds, and returns them.
func deleteKeys(ctx context.Context, tx *sql.Tx, condition string, args ...any) ([]APIKey, error) {
	return database.List(ctx, tx, func(row *sql.Rows) (k APIKey, err error) {
		var session int
		err = row.Scan(&k.ID, &k.Name, &session, &k.Owner, &k.Parent)
		k.Session = session != 0
		return k, err
	}, `DELETE FROM api_keys WHERE `+condition+` RETURNING id, name, session, owner, parent`, args...)
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

// DropSessions deletes the sessions that were not used since a time, and those that are over.
func (s *State) DropSessions(ctx context.Context, unusedSince time.Time) error {
	return s.db.WriteRelaxed(ctx, "drop sessions", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM api_keys WHERE session = 1
			AND (last_used < $1 AND created_at < $1 OR expires_at > 0 AND expires_at <= $2)`, database.Millis(unusedSince), database.Millis(s.db.Now()))
		return err
	})
}
