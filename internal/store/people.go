package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"molar/internal/store/database"
)

// A Person is somebody who has signed in, as the identity provider said last.
type Person struct {
	// Owner owns what the person has here.
	Owner string `json:"id"`
	// Issuer and Subject identify the person at the identity provider; they are empty for one whom a
	// proxy names.
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Name and Email are for people to read.
	Name      string    `json:"name"`
	Email     string    `json:"email,omitempty"`
	Groups    []string  `json:"groups,omitempty"`
	FirstSeen time.Time `json:"first_seen"`
	// LastSeen is when the provider said it.
	LastSeen time.Time `json:"last_seen"`
}

// SavePerson stores what the identity provider said of a person at LastSeen, or now if that is zero. It
// replaces what was said before, and nothing that was said later.
func (s *State) SavePerson(ctx context.Context, p Person) error {
	seen := p.LastSeen
	if seen.IsZero() {
		seen = s.db.Now()
	}
	return s.db.WriteRelaxed(ctx, "note a person", func(tx *sql.Tx) error { return s.savePerson(ctx, tx, p, seen) })
}

func (s *State) savePerson(ctx context.Context, tx *sql.Tx, p Person, seen time.Time) error {
	if erased, err := erasedIn(ctx, tx, "", p.Owner, seen); erased || err != nil {
		return err // they were seen before they were erased
	}
	groups, err := listText(p.Groups)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO people (owner, issuer, subject, name, email, member_of, first_seen, last_seen)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (owner) DO UPDATE SET
			name = excluded.name, email = excluded.email, member_of = excluded.member_of, last_seen = excluded.last_seen
		WHERE people.last_seen <= excluded.last_seen`,
		s.db.SQL.Text(p.Owner), p.Issuer, s.db.SQL.Text(p.Subject), s.db.SQL.Text(p.Name), s.db.SQL.Text(p.Email), s.db.SQL.Text(groups), database.Millis(seen))
	return err
}

// Person returns the person with that owner; ok is false if nobody is known by it.
func (s *State) Person(ctx context.Context, owner string) (p Person, ok bool, err error) {
	found, err := s.people(ctx, `WHERE owner = $1`, owner)
	if err != nil || len(found) == 0 {
		return p, false, err
	}
	return found[0], true, nil
}

// People returns all who have signed in, by their names.
func (s *State) People(ctx context.Context) ([]Person, error) {
	return s.people(ctx, `ORDER BY name, owner`)
}

func (s *State) people(ctx context.Context, which string, args ...any) ([]Person, error) {
	found, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (p Person, err error) {
		var groups string
		var first, last int64
		if err = row.Scan(&p.Owner, &p.Issuer, &p.Subject, &p.Name, &p.Email, &groups, &first, &last); err != nil {
			return p, err
		}
		p.FirstSeen, p.LastSeen = database.TimeAt(first), database.TimeAt(last)
		p.Groups, err = listOf(groups)
		return p, err
	}, `SELECT owner, issuer, subject, name, email, member_of, first_seen, last_seen FROM people `+which, args...)
	return found, s.db.Fault("read people", err)
}

// AddLink stores the hash of a one-time token that signs a browser in as a key, until it expires.
func (s *State) AddLink(ctx context.Context, hash, keyID string, expires time.Time) error {
	return s.db.Write(ctx, "add a sign-in link", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE expires_at <= $1`, database.Millis(s.db.Now()))
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO sign_in_links (hash, key_id, expires_at) VALUES ($1, $2, $3)`, hash, keyID, database.Millis(expires))
		}
		return err
	})
}

// TakeLink deletes a link and returns its key; ok is false for one that is unknown, used or too old.
func (s *State) TakeLink(ctx context.Context, hash string) (keyID string, ok bool, err error) {
	err = s.db.Write(ctx, "use a sign-in link", func(tx *sql.Tx) error {
		keyID, ok = "", false
		ids, err := database.List(ctx, tx, func(row *sql.Rows) (id string, err error) {
			return id, row.Scan(&id)
		}, `DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > $2 RETURNING key_id`, hash, database.Millis(s.db.Now()))
		if err == nil && len(ids) > 0 {
			keyID, ok = ids[0], true
		}
		return err
	})
	return keyID, ok, err
}

// listText writes a list for a column.
func listText(list []string) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// listOf reads a list from a column; an empty one is nil.
func listOf(text string) (list []string, err error) {
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read a list of groups: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}
