package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// OwnerHash returns the hash by which a line of the audit says whose things were exported or erased.
func OwnerHash(owner string) string { return sumOf(owner) }

// ErasureMark returns the text under which an erasure of an owner is noted: it does not hold the owner.
func ErasureMark(owner string) string {
	sum := sha256.Sum256([]byte("erased owner\x00" + owner))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ErasePerson deletes all conversations of an owner, and all else that is theirs, except for the lines of
// the audit. Their sessions and keys end, a running turn of theirs loses its place and ends, and what it
// would store afterwards is not stored. Each repetition deletes what came meanwhile.
func (d *DB) ErasePerson(ctx context.Context, owner string) (schemas.Erased, error) {
	erased, err := d.State.ErasePerson(ctx, owner)
	if err != nil {
		return erased, err
	}
	n, err := d.deleteConversations(ctx, owner)
	erased["conversations"] += int64(n)
	if err == nil {
		err = d.writeWaiting(ctx) // they would be written afterwards
	}
	if err != nil {
		return erased, err
	}
	again, err := d.State.ErasePerson(ctx, owner) // what a turn stored meanwhile, and the notes about its conversations
	delete(again, notesOfErasures)
	erased.Add(again)
	return erased, err
}

// sessionsEnd is how long another process may still take a session or key for valid after an erasure.
const sessionsEnd = 2 * time.Second

// EraseForGood erases an owner with a pass such as [DB.ErasePerson], and once more when no process takes
// requests of theirs for valid any more: what such a request began meanwhile goes too. It returns how many
// things were deleted, also with an error.
func EraseForGood(ctx context.Context, owner string, pass func(ctx context.Context, owner string) (schemas.Erased, error)) (schemas.Erased, error) {
	erased, err := pass(ctx, owner)
	if err != nil {
		return erased, err
	}
	select {
	case <-time.After(sessionsEnd):
	case <-ctx.Done():
		return erased, ctx.Err()
	}
	again, err := pass(ctx, owner)
	delete(again, notesOfErasures)
	erased.Add(again)
	return erased, err
}

// notesOfErasures is the kind of the rows that the deletion of conversations itself leaves.
const notesOfErasures = "notes of erasures"

// ErasePerson deletes what the host itself has of an owner, in one transaction, except for lines of the
// audit and conversations. The erasure is noted, without the owner's name, as long as a turn may run that
// began before it.
func (s *State) ErasePerson(ctx context.Context, owner string) (schemas.Erased, error) {
	const op = "erase a person"
	if owner == "" {
		return nil, s.db.Fault(op, fmt.Errorf("%w: no owner is named", ErrInvalid))
	}
	var erased schemas.Erased
	err := s.db.Write(ctx, op, func(tx *sql.Tx) (err error) {
		erased, err = s.eraseIn(ctx, tx, []string{owner})
		return err
	})
	if err == nil {
		s.db.ScrubLog(ctx)
	}
	return erased, err
}

// eraseIn is ErasePerson of several owners as a part of a transaction.
func (s *State) eraseIn(ctx context.Context, tx *sql.Tx, owners []string) (schemas.Erased, error) {
	erased := schemas.Erased{}
	now := s.db.Now()
	if err := dropErasures(ctx, tx, now); err != nil {
		return erased, err
	}
	for _, owner := range owners {
		_, err := tx.ExecContext(ctx, `INSERT INTO erasures (conversation_id, owner, at) VALUES ('', $1, $2)
			ON CONFLICT (conversation_id, owner) DO UPDATE SET at = excluded.at`, ErasureMark(owner), database.Millis(now))
		if err != nil {
			return erased, err
		}
	}
	list, err := s.ownerList(owners)
	if err != nil {
		return erased, err
	}
	if err := s.keepSums(ctx, tx, list); err != nil {
		return erased, fmt.Errorf("usage_days: %w", err)
	}
	for _, statement := range []string{
		`DELETE FROM sign_in_links WHERE key_id IN (SELECT id FROM api_keys WHERE owner` + among + `)`,
		`DELETE FROM live_rates WHERE name` + among,
	} {
		if _, err := tx.ExecContext(ctx, s.db.SQL.Say(statement), list); err != nil {
			return erased, err
		}
	}
	for _, t := range personalTables() {
		n, err := database.Changed(tx.ExecContext(ctx, s.db.SQL.Say(`DELETE FROM `+t.name+` WHERE owner`+among), list))
		if err != nil {
			return erased, fmt.Errorf("%s: %w", t.name, err)
		}
		erased[t.kind] += n
	}
	return erased, nil
}

// among is a condition on a column: its value is in the list $1.
const among = ` IN (SELECT value FROM EACH($1) AS listed)`

// ownerList returns owners as an argument of SQL.
func (s *State) ownerList(owners []string) (string, error) {
	texts := make([]string, 0, len(owners))
	for _, owner := range owners {
		texts = append(texts, s.db.SQL.Text(owner))
	}
	list, err := json.Marshal(texts)
	return string(list), err
}

// deleteConversations deletes all conversations of an owner.
func (d *DB) deleteConversations(ctx context.Context, owner string) (deleted int, err error) {
	for {
		ids, err := database.List(ctx, d.db.Read, database.One[string], `SELECT id FROM conversations WHERE owner = $1 LIMIT $2`, owner, retentionBatch)
		if err != nil {
			return deleted, d.db.Fault("delete an owner's conversations", err)
		}
		for _, id := range ids {
			if err := d.Delete(ctx, owner, id); err != nil && !errors.Is(err, ErrNotFound) {
				return deleted, err
			}
			deleted++
		}
		if len(ids) < retentionBatch {
			return deleted, nil
		}
	}
}

// erasedSince is a condition of SQL: the conversation or its owner was erased at or after a time. Its
// arguments are the numbers of those of the conversation, the owner, the owner's [ErasureMark] and the
// time.
func erasedSince(conversation, owner, mark, at int) string {
	return fmt.Sprintf(`EXISTS (SELECT 1 FROM erasures WHERE at >= $%[4]d AND
		(conversation_id = $%[1]d AND owner IN ('', $%[2]d) OR conversation_id = '' AND owner = $%[3]d))`, conversation, owner, mark, at)
}

// erasedIn reports whether a conversation, or its owner, was erased since something began. Nothing is
// erased since zero.
func erasedIn(ctx context.Context, from database.Querier, conversation, owner string, began time.Time) (erased bool, err error) {
	if began.IsZero() {
		return false, nil
	}
	found, err := database.List(ctx, from, database.One[bool], `SELECT `+erasedSince(1, 2, 3, 4), conversation, owner, ErasureMark(owner), database.Millis(began))
	return len(found) == 1 && found[0], err
}

// ListOwners returns all who own something here: who has signed in, and the owners of keys, of conversations
// and of the host's own data; visitors of a public page are left out.
func (s *State) ListOwners(ctx context.Context) ([]schemas.Owner, error) {
	people, err := s.People(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]*schemas.Owner{}
	for _, p := range people {
		known[p.Owner] = &schemas.Owner{ID: p.Owner, Name: p.Name, Email: p.Email, Groups: p.Groups, LastSeen: p.LastSeen}
	}
	at := func(id string) *schemas.Owner {
		if known[id] == nil {
			known[id] = &schemas.Owner{ID: id}
		}
		return known[id]
	}
	type count struct {
		owner string
		n     int64
		last  int64
	}
	counts, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (c count, err error) {
		err = row.Scan(&c.owner, &c.n, &c.last)
		return c, err
	}, `SELECT owner, count(*), max(updated_at) FROM conversations WHERE owner <> '' GROUP BY owner`)
	if err != nil {
		return nil, s.db.Fault("list owners", err)
	}
	for _, c := range counts {
		o := at(c.owner)
		o.Conversations = c.n
		if last := database.TimeAt(c.last); last.After(o.LastSeen) {
			o.LastSeen = last
		}
	}
	var of []string
	for _, t := range personalTables() {
		if t.kind != notesOfErasures {
			of = append(of, `SELECT owner FROM `+t.name)
		}
	}
	others, err := database.List(ctx, s.db.Read, database.One[string], strings.Join(of, ` UNION `))
	if err != nil {
		return nil, s.db.Fault("list owners", err)
	}
	for _, id := range others {
		if id != "" {
			at(id)
		}
	}
	all := make([]schemas.Owner, 0, len(known))
	for id, o := range known {
		if !schemas.IsVisitor(id) && id != schemas.Visitors {
			all = append(all, *o)
		}
	}
	slices.SortFunc(all, func(a, b schemas.Owner) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return all, nil
}

// SessionsOf returns the sessions of an owner, the oldest first.
func (s *State) SessionsOf(ctx context.Context, owner string) ([]schemas.Session, error) {
	keys, err := s.Keys(ctx)
	owners := map[string]string{"": schemas.Operator} // of keys, by id
	for _, k := range keys {
		owners[k.ID] = cmp.Or(k.Owner, k.ID)
	}
	var own []schemas.Session
	for _, k := range keys {
		// That of a key of the config file is the key's.
		if k.Session && owner != "" && owner == cmp.Or(k.Owner, owners[k.Parent], k.Parent) {
			own = append(own, schemas.Session{ID: k.ID, Name: k.Name, CreatedAt: k.CreatedAt, LastUsed: k.LastUsed, ExpiresAt: k.ExpiresAt})
		}
	}
	return own, err
}

// EndSessions ends sessions of an owner: those with the ids, or all if there are none. It returns how
// many that were.
func (s *State) EndSessions(ctx context.Context, owner string, ids ...string) (ended int, err error) {
	sessions, err := s.SessionsOf(ctx, owner)
	for _, k := range sessions {
		if len(ids) > 0 && !slices.Contains(ids, k.ID) {
			continue
		}
		switch gone := s.RevokeKey(ctx, k.ID); {
		case gone == nil:
			ended++
		case !errors.Is(gone, ErrNoKey):
			err = errors.Join(err, gone)
		}
	}
	return ended, err
}

// CountPerson says how many things of each kind an owner has.
func (s *State) CountPerson(ctx context.Context, owner string) (schemas.Erased, error) {
	counts := schemas.Erased{}
	n, err := s.countIn(ctx, s.db.Read, "conversations", owner)
	counts["conversations"] = n
	for _, t := range personalTables() {
		if err == nil {
			n, err = s.countIn(ctx, s.db.Read, t.name, owner)
			counts[t.kind] = n
		}
	}
	return counts, s.db.Fault("count a person's things", err)
}
