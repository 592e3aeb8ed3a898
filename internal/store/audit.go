package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"molar/internal/store/database"
	"molar/schemas"
)

// ErrAudit means that a line of the audit was changed or taken out.
const ErrAudit = database.RefusalError("the audit is not whole")

// Audit appends a line to the record of who decided or changed what, and returns when it is on the
// disk. The id, the hashes and the time, unless it is set, are given here. A line without a person
// is the operator's.
func (s *State) Audit(ctx context.Context, line schemas.AuditLine) error {
	return s.db.Write(ctx, "write the audit", func(tx *sql.Tx) error { return s.auditIn(ctx, tx, line) })
}

// ends is the row of audit_ends.
type ends struct {
	last, gone         int64
	lastHash, goneHash string
}

// auditEnds reads both ends of the audit, and locks them until the transaction ends.
func (s *State) auditEnds(ctx context.Context, tx *sql.Tx) (e ends, err error) {
	if _, err = tx.ExecContext(ctx, `INSERT INTO audit_ends (one) VALUES (1) ON CONFLICT (one) DO NOTHING`); err != nil {
		return e, err
	}
	err = tx.QueryRowContext(ctx, `SELECT last, last_hash, gone, gone_hash FROM audit_ends WHERE one = 1`+s.db.SQL.ForUpdate).
		Scan(&e.last, &e.lastHash, &e.gone, &e.goneHash)
	return e, err
}

// auditIn appends a line as a part of the change that it is about.
func (s *State) auditIn(ctx context.Context, tx *sql.Tx, line schemas.AuditLine) error {
	e, err := s.auditEnds(ctx, tx)
	if err != nil {
		return err
	}
	if line.At.IsZero() {
		line.At = s.db.Now()
	}
	line.ID, line.Before = e.last+1, e.lastHash
	line.At = database.TimeAt(database.Millis(line.At)) // as it is read back
	if line.Person, err = s.pseudonym(ctx, tx, cmp.Or(line.Person, schemas.AuditOperator), line.Started); err != nil {
		return err
	}
	if line.About != "" {
		about, err := s.pseudonym(ctx, tx, line.About, line.Started)
		if err != nil {
			return err
		}
		line.Detail += " of " + about
	}
	texts := []*string{
		&line.Person, &line.Event, &line.Origin, &line.Server, &line.Tool, &line.How, &line.Scope, &line.SHA256, &line.TurnID, &line.CallID, &line.Detail,
	}
	args := []any{line.ID, database.Millis(line.At), line.Allowed}
	for _, text := range texts {
		*text = clipped(s.db.SQL.Text(*text))
		args = append(args, *text)
	}
	if line.Hash, err = line.Sum(); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO audit (id, at, allowed, person, event, origin, server, tool, how, scope, sha256, turn_id, call_id, detail, hash_before, hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`, append(args, line.Before, line.Hash)...)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE audit_ends SET last = $1, last_hash = $2 WHERE one = 1`, line.ID, line.Hash)
	}
	return err
}

// pseudonym returns the name by which the audit calls a person. It is random, and says nothing once its
// row was deleted with the person. Who was erased since a turn began gets no new one.
func (s *State) pseudonym(ctx context.Context, tx *sql.Tx, person string, began time.Time) (name string, err error) {
	if person == schemas.AuditOperator || person == schemas.AuditErased {
		return person, nil
	}
	person = s.db.SQL.Text(person)
	err = tx.QueryRowContext(ctx, `SELECT pseudonym FROM person_names WHERE owner = $1`, person).Scan(&name)
	if !errors.Is(err, sql.ErrNoRows) {
		return name, err
	}
	if erased, err := erasedIn(ctx, tx, "", person, began); erased || err != nil {
		return schemas.AuditErased, err
	}
	name = "p_" + strings.ToLower(rand.Text()[:16])
	_, err = tx.ExecContext(ctx, `INSERT INTO person_names (owner, pseudonym) VALUES ($1, $2)`, person, name)
	return name, err
}

// clipped returns the beginning of a field of a line: names and ids are shorter.
func clipped(field string) string {
	const most = 512 // bytes
	if len(field) <= most {
		return field
	}
	return strings.ToValidUTF8(field[:most], "")
}

// auditPage is how many lines are read at once.
const auditPage = 1000

// ListAudit returns lines of the audit in their order.
func (s *State) ListAudit(ctx context.Context, q schemas.AuditQuery) ([]schemas.AuditLine, error) {
	until := int64(1) << 62
	if !q.Until.IsZero() {
		until = database.Millis(q.Until)
	}
	since := int64(0)
	if !q.Since.IsZero() {
		since = database.Millis(q.Since)
	}
	lines, err := database.List(ctx, s.db.Read, func(row *sql.Rows) (l schemas.AuditLine, err error) {
		var at int64
		var allowed sql.NullBool
		var owner sql.NullString
		err = row.Scan(&l.ID, &at, &allowed, &l.Person, &owner, &l.Event, &l.Origin, &l.Server, &l.Tool, &l.How, &l.Scope, &l.SHA256, &l.TurnID, &l.CallID, &l.Detail, &l.Before, &l.Hash)
		if l.At = database.TimeAt(at); allowed.Valid {
			l.Allowed = &allowed.Bool
		}
		if owner.Valid {
			l.Person, l.Alias = owner.String, l.Person
		}
		return l, err
	}, `SELECT id, at, allowed, person, (SELECT n.owner FROM person_names n WHERE n.pseudonym = audit.person), event, origin, server, tool, how, scope, sha256, turn_id, call_id, detail, hash_before, hash FROM audit
		WHERE id > $1 AND at >= $2 AND at < $3 AND ($4 = '' OR person = $4 OR person = (SELECT n.pseudonym FROM person_names n WHERE n.owner = $4)) ORDER BY id LIMIT $5`,
		q.After, since, until, s.db.SQL.Text(q.Person), cmp.Or(q.Limit, 1<<31-1))
	return lines, s.db.Fault("read the audit", err)
}

// AuditLines yields the lines of a query, read in pages.
func (s *State) AuditLines(ctx context.Context, q schemas.AuditQuery) iter.Seq2[schemas.AuditLine, error] {
	return func(yield func(schemas.AuditLine, error) bool) {
		for q.Limit = auditPage; ; {
			page, err := s.ListAudit(ctx, q)
			if err != nil {
				yield(schemas.AuditLine{}, err)
				return
			}
			for _, line := range page {
				if q.After = line.ID; !yield(line, nil) {
					return
				}
			}
			if len(page) < auditPage {
				return
			}
		}
	}
}

// An AuditExtent is which lines of the audit are kept.
type AuditExtent struct {
	// Gone is the id of the newest line that was removed because of its age, 0 if none was. Last is
	// that of the newest line.
	Gone, Last int64
	// Hash is that of the newest line, also if it was removed.
	Hash string
}

// AuditExtent returns which lines of the audit are kept.
func (s *State) AuditExtent(ctx context.Context) (AuditExtent, error) {
	e, err := s.readEnds(ctx)
	return AuditExtent{Gone: e.gone, Last: e.last, Hash: e.lastHash}, err
}

func (s *State) readEnds(ctx context.Context) (e ends, err error) {
	err = s.db.Read.QueryRowContext(ctx, `SELECT last, last_hash, gone, gone_hash FROM audit_ends WHERE one = 1`).
		Scan(&e.last, &e.lastHash, &e.gone, &e.goneHash)
	_, err = s.db.Found("read the audit", err)
	return e, err
}

// CheckAudit walks all lines. It fails with [ErrAudit] if one was changed, added or taken out by
// other means than this package. Lines that are appended meanwhile may be left out.
func (s *State) CheckAudit(ctx context.Context) (AuditExtent, error) {
	for {
		extent, err := s.walkAudit(ctx)
		if errors.Is(err, ErrAudit) { // old lines may have been removed while it walked
			if now, again := s.AuditExtent(ctx); again == nil && now.Gone != extent.Gone {
				continue
			}
		}
		return extent, err
	}
}

func (s *State) walkAudit(ctx context.Context) (AuditExtent, error) {
	const op = "check the audit"
	e, err := s.readEnds(ctx)
	if err != nil {
		return AuditExtent{}, err
	}
	extent := AuditExtent{Gone: e.gone, Last: e.last, Hash: e.lastHash}
	last, hash := e.gone, e.goneHash
	for line, err := range s.AuditLines(ctx, schemas.AuditQuery{}) {
		if err != nil {
			return extent, err
		}
		sum, err := line.Sum()
		switch {
		case err != nil:
			return extent, s.db.Fault(op, err)
		case line.ID != last+1:
			return extent, s.db.Fault(op, fmt.Errorf("%w: after line %d comes line %d", ErrAudit, last, line.ID))
		case line.Before != hash:
			return extent, s.db.Fault(op, fmt.Errorf("%w: line %d does not follow line %d as it is now", ErrAudit, line.ID, last))
		case line.Hash != sum:
			return extent, s.db.Fault(op, fmt.Errorf("%w: line %d is not what was written", ErrAudit, line.ID))
		}
		if last, hash = line.ID, line.Hash; last == e.last && hash != e.lastHash {
			return extent, s.db.Fault(op, fmt.Errorf("%w: line %d is not what was written", ErrAudit, last))
		}
	}
	if last < e.last {
		return extent, s.db.Fault(op, fmt.Errorf("%w: lines %d to %d are missing", ErrAudit, last+1, e.last))
	}
	return extent, nil
}

// DropAudit removes the lines before a time from the oldest end: none that follows a younger one. It
// returns how many there were.
func (s *State) DropAudit(ctx context.Context, before time.Time) (dropped int, err error) {
	at := database.Millis(before)
	err = s.db.Write(ctx, "remove old lines of the audit", func(tx *sql.Tx) error {
		dropped = 0
		e, err := s.auditEnds(ctx, tx)
		if err != nil {
			return err
		}
		var gone sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT max(id) FROM audit WHERE id < coalesce((SELECT min(id) FROM audit WHERE at >= $1), $2)`,
			at, e.last+1).Scan(&gone); err != nil || !gone.Valid {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE audit_ends SET drop_before = $1, gone = $2, gone_hash = (SELECT hash FROM audit WHERE id = $2) WHERE one = 1`,
			at, gone.Int64); err != nil {
			return err
		}
		n, err := database.Changed(tx.ExecContext(ctx, `DELETE FROM audit WHERE id <= $1`, gone.Int64))
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE audit_ends SET drop_before = 0 WHERE one = 1`)
		}
		dropped = int(n)
		return err
	})
	return dropped, err
}
