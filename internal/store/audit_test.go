package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/internal/store"
	"molar/internal/store/storetest"
	"molar/schemas"
)

// An audited is a database whose audit is looked at, also by other means than the store.
type audited struct {
	*store.DB
	// tamper runs statements on the database, and returns the first error.
	tamper func(statements ...string) error
	// again opens the database once more, as another replica does.
	again func() *store.DB
	// unguard takes the triggers away, as somebody can who owns the database.
	unguard []string
}

// auditOpener opens a new database with a clock.
type auditOpener func(t *testing.T, now func() time.Time) audited

func TestAudit(t *testing.T) {
	testAudit(t, func(t *testing.T, now func() time.Time) audited {
		path := filepath.Join(t.TempDir(), "m.db")
		open := func() *store.DB { return openConfig(t, store.Config{Path: path, Now: now}) }
		return audited{open(), tamperer(t, "sqlite", path), open, []string{`DROP TRIGGER audit_unchanged`, `DROP TRIGGER audit_kept`}}
	})
}

func TestAudit_Postgres(t *testing.T) {
	pg := storetest.StartPostgres(t)
	testAudit(t, func(t *testing.T, now func() time.Time) audited {
		dsn := pg.Database(t)
		open := func() *store.DB { return openConfig(t, store.Config{Path: dsn, Now: now}) }
		return audited{open(), tamperer(t, "pgx", dsn), open, []string{`DROP TRIGGER audit_kept ON audit`}}
	})
}

func tamperer(t *testing.T, driver, path string) func(statements ...string) error {
	return func(statements ...string) error {
		raw, err := sql.Open(driver, path)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		for _, statement := range statements {
			if _, err := raw.ExecContext(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	}
}

func testAudit(t *testing.T, open auditOpener) {
	for name, test := range map[string]func(*testing.T, auditOpener){
		"lines are read as written":       testAuditLines,
		"lines of many replicas":          testAuditAtOnce,
		"lines are never changed":         testAuditKept,
		"a changed line is found":         testAuditTampered,
		"old lines go from the end":       testAuditRetention,
		"grants and keys leave lines":     testAuditChanges,
		"a part of a change that failed":  testAuditFailed,
		"a person is erased, lines stay":  testAuditErased,
		"what no field may hold is bound": testAuditBounds,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

var noHashes = cmpopts.IgnoreFields(schemas.AuditLine{}, "Alias", "Before", "Hash")

func testAuditLines(t *testing.T, open auditOpener) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	db := open(t, func() time.Time { return now })
	first := schemas.AuditLine{
		Person: "ann", Event: schemas.EventDecision, Origin: "server mail", Server: "mail", Tool: "mail__send", How: "asked", Scope: "once",
		Allowed: new(true), SHA256: "abc", TurnID: "t1", CallID: "c1", Detail: "edited",
	}
	second := schemas.AuditLine{Event: schemas.EventSwitch, Tool: "mail__send", Allowed: new(false), At: now.Add(time.Hour)}
	third := schemas.AuditLine{Person: "bob", Event: schemas.EventExport, At: now.Add(2 * time.Hour)}
	for _, line := range []schemas.AuditLine{first, second, third} {
		if err := db.Audit(ctx, line); err != nil {
			t.Fatal(err)
		}
	}
	first.ID, first.At = 1, now.Truncate(time.Millisecond)
	second.ID, second.At, second.Person = 2, second.At.Truncate(time.Millisecond), schemas.AuditOperator
	third.ID, third.At = 3, third.At.Truncate(time.Millisecond)
	for _, tt := range []struct {
		q    schemas.AuditQuery
		want []schemas.AuditLine
	}{
		{schemas.AuditQuery{}, []schemas.AuditLine{first, second, third}},
		{schemas.AuditQuery{Person: "ann"}, []schemas.AuditLine{first}},
		{schemas.AuditQuery{Since: now.Add(time.Minute)}, []schemas.AuditLine{second, third}},
		{schemas.AuditQuery{Until: now.Add(time.Minute)}, []schemas.AuditLine{first}},
		{schemas.AuditQuery{After: 1, Limit: 1}, []schemas.AuditLine{second}},
		{schemas.AuditQuery{Person: "eve"}, []schemas.AuditLine{}},
	} {
		got, err := db.ListAudit(ctx, tt.q)
		if diff := cmp.Diff(tt.want, got, noHashes); err != nil || diff != "" {
			t.Errorf("%+v: %v\n%s", tt.q, err, diff)
		}
	}
	if extent, err := db.CheckAudit(ctx); err != nil || extent.Last != 3 || extent.Gone != 0 {
		t.Errorf("%+v, %v", extent, err)
	}
}

// Lines that several replicas append at once have numbers without gaps, and one chain.
func testAuditAtOnce(t *testing.T, open auditOpener) {
	ctx := t.Context()
	db := open(t, time.Now)
	const writers, each = 4, 10
	var all sync.WaitGroup
	for i := range writers {
		replica := db.again()
		all.Go(func() {
			for range each {
				if err := replica.Audit(ctx, schemas.AuditLine{Person: fmt.Sprint("p", i), Event: schemas.EventDecision}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if extent, err := db.CheckAudit(ctx); err != nil || extent.Last != writers*each {
		t.Errorf("%+v, %v", extent, err)
	}
}

func appendLines(t *testing.T, db audited, lines int) {
	t.Helper()
	for i := range lines {
		if err := db.Audit(t.Context(), schemas.AuditLine{Person: "ann", Event: schemas.EventDecision, CallID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// The database itself refuses to change a line, and to delete one.
func testAuditKept(t *testing.T, open auditOpener) {
	db := open(t, time.Now)
	appendLines(t, db, 3)
	for _, statement := range []string{`UPDATE audit SET person = 'bob' WHERE id = 2`, `DELETE FROM audit WHERE id = 1`, `DELETE FROM audit`} {
		if err := db.tamper(statement); err == nil || !strings.Contains(err.Error(), "lines of the audit are") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if _, err := db.CheckAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whoever takes the guards away and changes something is found.
func testAuditTampered(t *testing.T, open auditOpener) {
	for statement, want := range map[string]string{
		`UPDATE audit SET person = 'bob' WHERE id = 2`:                                    "line 2 is not what was written",
		`UPDATE audit SET at = at + 1 WHERE id = 3`:                                       "line 3 is not what was written",
		`DELETE FROM audit WHERE id = 1`:                                                  "after line 0 comes line 2",
		`DELETE FROM audit WHERE id = 2`:                                                  "after line 1 comes line 3",
		`DELETE FROM audit WHERE id = 3`:                                                  "lines 3 to 3 are missing",
		`DELETE FROM audit`:                                                               "lines 1 to 3 are missing",
		`UPDATE audit SET hash_before = hash WHERE id = 1`:                                "line 1 does not follow line 0",
		`UPDATE audit_ends SET last_hash = 'x'`:                                           "line 3 is not what was written",
		`UPDATE audit SET id = 9 WHERE id = 3`:                                            "after line 2 comes line 9",
		`UPDATE audit SET allowed = NULL, detail = 'x' WHERE id = 1`:                      "line 1 is not what was written",
		`UPDATE audit SET hash = 'x' WHERE id = 2`:                                        "line 2 is not what was written",
		`UPDATE audit_ends SET gone = 1, gone_hash = 'x'; DELETE FROM audit WHERE id = 1`: "line 2 does not follow line 1",
	} {
		db := open(t, time.Now)
		appendLines(t, db, 3)
		if err := db.tamper(append(db.unguard, strings.Split(statement, "; ")...)...); err != nil {
			t.Fatal(err)
		}
		if _, err := db.CheckAudit(t.Context()); !errors.Is(err, store.ErrAudit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", statement, err, want)
		}
	}
}

// Old lines go, but none behind a younger one, and what is left is whole.
func testAuditRetention(t *testing.T, open auditOpener) {
	ctx := t.Context()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(t, func() time.Time { return start })
	for _, hours := range []int{0, 1, 5, 2, 6} { // another replica's clock is behind
		if err := db.Audit(ctx, schemas.AuditLine{Event: schemas.EventDecision, At: start.Add(time.Duration(hours) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		before        int
		dropped, gone int
	}{{0, 0, 0}, {3, 2, 2}, {3, 0, 2}, {6, 2, 4}, {9, 1, 5}, {10, 0, 5}} {
		n, err := db.DropAudit(ctx, start.Add(time.Duration(step.before)*time.Hour))
		if err != nil || n != step.dropped {
			t.Errorf("before %d: %d were dropped, want %d: %v", step.before, n, step.dropped, err)
		}
		if extent, err := db.CheckAudit(ctx); err != nil || extent.Gone != int64(step.gone) || extent.Last != 5 {
			t.Errorf("before %d: %+v, %v", step.before, extent, err)
		}
		if err := db.tamper(`DELETE FROM audit`); step.gone < 5 && err == nil {
			t.Errorf("before %d: what is left can be deleted", step.before)
		}
	}
	appendLines(t, db, 1)
	if extent, err := db.CheckAudit(ctx); err != nil || extent.Last != 6 {
		t.Errorf("after all were dropped: %+v, %v", extent, err)
	}
}

// What the store itself records.
func testAuditChanges(t *testing.T, open auditOpener) {
	ctx := t.Context()
	db := open(t, time.Now)
	grant := schemas.Grant{Tool: "mail__send", From: "server mail", Width: schemas.WidthHost, Arguments: []byte(`{"to":"secret@a.example"}`), ConversationID: "c1"}
	for range 2 { // the second changes nothing
		if err := db.PutGrant(ctx, "ann", grant); err != nil {
			t.Fatal(err)
		}
	}
	all, err := db.ListGrants(ctx, "ann")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	for _, owner := range []string{"bob", "ann", "ann"} {
		if _, err := db.DeleteGrant(ctx, owner, all[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []store.APIKey{{ID: "key_1", Name: "laptop", Hash: "canary", Scopes: []string{"chat", "admin"}, KeyManner: schemas.KeyManner{Input: "data", Ask: "never"}}, {ID: "ses_1", Name: "browser", Session: true}} {
		if err := db.AddKey(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.RevokeKey(ctx, "laptop"); err != nil {
		t.Fatal(err)
	}
	if err := db.RevokeKey(ctx, "ses_1"); err != nil {
		t.Fatal(err)
	}
	got, err := db.ListAudit(ctx, schemas.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	given := schemas.AuditLine{
		Person: "ann", Event: schemas.EventGrant, Origin: "server mail", Tool: "mail__send", How: "host", Scope: "conversation", Detail: "c1",
		SHA256: fmt.Sprintf("%x", sha256.Sum256(grant.Arguments)),
	}
	taken := given
	taken.Event = schemas.EventRevoke
	want := []schemas.AuditLine{
		given, taken,
		{Person: "operator", Event: schemas.EventKeyCreated, Scope: "chat,admin", Detail: `key_1 "laptop", input: data, ask: never`},
		{Person: "operator", Event: schemas.EventLogin, Detail: "ses_1"},
		{Person: "operator", Event: schemas.EventKeyRevoked, Detail: `key_1 "laptop"`},
		{Person: "operator", Event: schemas.EventLogout, Detail: "ses_1"},
	}
	if diff := cmp.Diff(want, got, noHashes, cmpopts.IgnoreFields(schemas.AuditLine{}, "Alias", "ID", "At")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, line := range got {
		if text := fmt.Sprint(line); strings.Contains(text, "canary") || strings.Contains(text, "secret@") {
			t.Errorf("a line says too much: %s", text)
		}
	}
}

// A line about a change is written with it, or not at all.
func testAuditFailed(t *testing.T, open auditOpener) {
	db := open(t, time.Now)
	if err := db.RevokeKey(t.Context(), "none"); !errors.Is(err, store.ErrNoKey) {
		t.Error(err)
	}
	for range 2 {
		_ = db.AddKey(t.Context(), store.APIKey{ID: "key_1", Name: "laptop", Hash: "h"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Audit(ctx, schemas.AuditLine{Event: schemas.EventExport}); err == nil {
		t.Error("written after its context")
	}
	if got, err := db.ListAudit(t.Context(), schemas.AuditQuery{}); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func testAuditErased(t *testing.T, open auditOpener) {
	ctx := t.Context()
	db := open(t, time.Now)
	if err := db.PutGrant(ctx, "ann", schemas.Grant{Tool: "mail__send", ConversationID: "c1"}); err != nil {
		t.Fatal(err)
	}
	if err := db.ForgetConversation(ctx, "ann", "c1"); err != nil {
		t.Fatal(err)
	}
	grants, err := db.GrantsOf(ctx, "ann", "c1")
	lines, fault := db.ListAudit(ctx, schemas.AuditQuery{Person: "ann"})
	if err != nil || fault != nil || len(grants) != 0 || len(lines) != 1 {
		t.Errorf("%v %v, %v %v", grants, err, lines, fault)
	}
}

// A field is short, and its text can be stored in both databases and checked afterwards.
func testAuditBounds(t *testing.T, open auditOpener) {
	ctx := t.Context()
	db := open(t, time.Now)
	if err := db.Audit(ctx, schemas.AuditLine{Event: schemas.EventExport, Person: "<a>&\x00\xff", Detail: strings.Repeat("ữ", 1000)}); err != nil {
		t.Fatal(err)
	}
	got, err := db.ListAudit(ctx, schemas.AuditQuery{})
	if err != nil || len(got) != 1 || len(got[0].Detail) > 512 || !strings.HasPrefix(got[0].Person, "<a>&") {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := db.CheckAudit(ctx); err != nil {
		t.Error(err)
	}
}
