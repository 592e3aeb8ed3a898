package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"molar/internal/store/database"
	"molar/schemas"
)

// A personalTable is a table with rows of one owner.
type personalTable struct {
	name string
	// kind names its rows in an export and in the counts of an erasure.
	kind string
	// hidden are the columns that an export leaves out: secrets, and bytes that say nothing to a person.
	hidden string
	// counted tables are exported as a number of rows.
	counted bool
	// order are the first columns that tell its rows apart, two if it is empty.
	order string
}

// personalTables returns the tables with an owner column, except for the conversations, whose rows carry
// those of their messages, turns, compactions and files along. An erasure deletes from all of them. The
// first ones end the sessions.
func personalTables() []personalTable {
	return []personalTable{
		{name: "api_keys", kind: "sessions and keys", hidden: "hash previous made_with parent"},
		{name: "live_turns", kind: "running turns", hidden: "state replica"},
		{name: "live_approvals", kind: "approvals", hidden: "body decision"},
		{name: "leases", kind: "leases", hidden: "token fence", counted: true},
		{name: "people", kind: "person"},
		{name: "traces", kind: "traces"},
		{name: "wires", kind: "wires"},
		{name: "responses", kind: "responses"},
		{name: "feedback", kind: "feedback"},
		{name: "reviews", kind: "marks of reviewers"},
		{name: "made_files", kind: "notes of reviewers' files"},
		{name: "person_logins", kind: "logins at servers", hidden: "state revision lease_until"},
		{name: "usage_days", kind: "usage"},
		{name: "kept_results", kind: "kept results", order: "1, 2, 3"},
		{name: "kept_turns", kind: "paused turns"},
		{name: "handovers", kind: "requests for a person"},
		{name: "webhook_events", kind: "events for the webhook", counted: true},
		{name: "idempotency", kind: "repeatable answers"},
		{name: "grants", kind: "old grants"},
		{name: "standing_grants", kind: "grants"},
		{name: "answers", kind: "hashes of answers", counted: true},
		{name: "person_names", kind: "names in the audit", hidden: "owner"},
		{name: "erasures", kind: notesOfErasures},
	}
}

// PersonalTables returns the names of all tables from which an erasure of a person deletes: with the
// conversations, and the tables that go with them.
func PersonalTables() []string {
	names := []string{"conversations", "messages", "turns", "compactions", "files", "file_parts", "live_events", "live_rounds", "live_rates", "sign_in_links"}
	for _, t := range personalTables() {
		names = append(names, t.name)
	}
	return names
}

// ExportPerson yields all that is an owner's, without hashes and secrets.
func (d *DB) ExportPerson(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		for c, err := range d.ExportConversations(ctx, owner) {
			if !yield(c, err) || err != nil {
				return
			}
		}
		for r, err := range d.State.ExportPerson(ctx, owner) {
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// ExportConversations yields the conversations of an owner as records.
func (d *DB) ExportConversations(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		if owner == "" {
			yield(schemas.PersonRecord{}, d.db.Fault("export a person", fmt.Errorf("%w: no owner is named", ErrInvalid)))
			return
		}
		for c, err := range d.Export(ctx, owner, "") {
			var r schemas.PersonRecord
			if err == nil {
				r, err = recordOf("conversation", c)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func recordOf(kind string, v any) (schemas.PersonRecord, error) {
	data, err := json.Marshal(v)
	return schemas.PersonRecord{Kind: kind, Data: data}, err
}

// ExportPerson yields what the host itself has of an owner, beside conversations, and their lines of the
// audit.
func (s *State) ExportPerson(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		const op = "export a person"
		if owner == "" {
			yield(schemas.PersonRecord{}, s.db.Fault(op, fmt.Errorf("%w: no owner is named", ErrInvalid)))
			return
		}
		for _, t := range personalTables() {
			for r, err := range s.exportTable(ctx, t, owner) {
				if err != nil {
					yield(r, s.db.Fault(op, err))
					return
				}
				if !yield(r, nil) {
					return
				}
			}
		}
		for line, err := range s.AuditLines(ctx, schemas.AuditQuery{Person: owner}) {
			var r schemas.PersonRecord
			if err == nil {
				r, err = recordOf("audit", line)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// exportTable yields the owner's rows of a table. It reads a few at a time, so that no read stays open
// while a client takes its time.
func (s *State) exportTable(ctx context.Context, t personalTable, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		if t.counted {
			n, err := s.countIn(ctx, s.db.Read, t.name, owner)
			if n == 0 && err == nil {
				return
			}
			var r schemas.PersonRecord
			if err == nil {
				r, err = recordOf(t.kind, map[string]int64{"count": n})
			}
			yield(r, err)
			return
		}
		const page = 50
		for at := 0; ; at += page {
			//nolint:gosec // our own tables
			rows, err := s.db.Read.QueryContext(ctx, `SELECT * FROM `+t.name+` WHERE owner = $1 ORDER BY `+cmp.Or(t.order, "1, 2")+` LIMIT $2 OFFSET $3`, s.db.SQL.Text(owner), page, at)
			var found []schemas.PersonRecord
			if err == nil {
				found, err = readRecords(rows, t)
			}
			if err != nil {
				yield(schemas.PersonRecord{}, err)
				return
			}
			for _, r := range found {
				if !yield(r, nil) {
					return
				}
			}
			if len(found) < page {
				return
			}
		}
	}
}

// countIn counts the owner's rows of a table.
func (s *State) countIn(ctx context.Context, from database.Querier, table, owner string) (n int64, err error) {
	counts, err := database.List(ctx, from, database.One[int64], `SELECT count(*) FROM `+table+` WHERE owner = $1`, s.db.SQL.Text(owner))
	if err == nil {
		n = counts[0]
	}
	return n, err
}

// readRecords reads rows as objects with the names of their columns.
func readRecords(rows *sql.Rows, t personalTable) ([]schemas.PersonRecord, error) {
	columns, err := rows.Columns()
	if err != nil {
		_ = rows.Close()
		return nil, err
	}
	hidden := strings.Fields(t.hidden)
	return database.ReadAll(rows, func(row *sql.Rows) (schemas.PersonRecord, error) {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := row.Scan(to...); err != nil {
			return schemas.PersonRecord{}, err
		}
		object := make(map[string]any, len(columns))
		for i, column := range columns {
			if !slices.Contains(hidden, column) {
				object[column] = shown(column, values[i])
			}
		}
		return recordOf(t.kind, object)
	})
}

// shown returns the value of a column as an export has it: times as texts, and JSON as itself.
func shown(column string, value any) any {
	switch v := value.(type) {
	case int64:
		if v > 0 && (strings.HasSuffix(column, "_at") || strings.HasSuffix(column, "_seen") || slices.Contains([]string{"at", "expires", "last_used"}, column)) {
			return database.TimeAt(v).Format(time.RFC3339Nano)
		}
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		if text, err := unpacked(v); err == nil {
			return string(text)
		}
	case string:
		if (strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[")) && json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
	}
	return value
}
