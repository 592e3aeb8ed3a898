package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestPeople(t *testing.T) {
	testPeople(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

func testPeople(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	ann := store.Person{Owner: "oidc:https://id#1", Issuer: "https://id", Subject: "1", Name: "Ann", Email: "ann@x", Groups: []string{"staff", "it"}}
	save := func(p store.Person) {
		t.Helper()
		if err := db.SavePerson(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	save(ann)
	save(store.Person{Owner: "person:bob", Name: "bob"})
	later := ann
	later.Name, later.Groups, later.LastSeen = "Ann Ng", []string{"it"}, now.Add(time.Hour)
	save(later)
	older := ann // what was said before does not count any more
	older.LastSeen = now.Add(time.Minute)
	save(older)
	later.FirstSeen = now
	got, ok, err := db.Person(ctx, ann.Owner)
	if diff := cmp.Diff(later, got); err != nil || !ok || diff != "" {
		t.Errorf("%v, known %v (-want +got)\n%s", err, ok, diff)
	}
	if _, ok, err := db.Person(ctx, "person:ann"); ok || err != nil {
		t.Errorf("an unknown person: %v %v", ok, err)
	}
	all, err := db.People(ctx)
	if err != nil || len(all) != 2 || all[0].Owner != later.Owner {
		t.Errorf("people: %v %v", all, err)
	}
}

// A key ends everything that was made with it, and a session of a person says whose it is.
func TestSessions(t *testing.T) {
	testSessions(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

func testSessions(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	ann := store.Person{Owner: "oidc:https://id#1", Name: "Ann", Groups: []string{"staff"}}
	if err := db.SavePerson(ctx, ann); err != nil {
		t.Fatal(err)
	}
	for _, k := range []store.APIKey{
		{ID: "key_1", Name: "ci", Hash: "h1", Scopes: []string{"chat"}, Groups: []string{"it", "staff"}},
		{ID: "ses_1", Name: "ci", Hash: "h2", Session: true, Parent: "key_1"},
		{ID: "ses_2", Name: "Ann", Hash: "h3", Session: true, Owner: ann.Owner, ExpiresAt: now.Add(time.Hour)},
		{ID: "ses_3", Name: "Eve", Hash: "h4", Session: true, Owner: "oidc:https://id#2"},
	} {
		if err := db.AddKey(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := db.Keys(ctx)
	if err != nil || len(keys) != 4 {
		t.Fatalf("keys: %v %v", keys, err)
	}
	if diff := cmp.Diff([]string{"it", "staff"}, keys[0].Groups); diff != "" || keys[0].Of != nil || keys[1].Parent != "key_1" {
		t.Errorf("%+v, %+v", keys[0], keys[1])
	}
	if of := keys[2].Of; of == nil || of.Name != "Ann" || !cmp.Equal(of.Groups, ann.Groups) || keys[3].Of != nil {
		t.Errorf("%+v, %+v", keys[2], keys[3])
	}
	for _, token := range []string{"l1", "l2"} {
		if err := db.AddLink(ctx, token, "key_1", now.Add(10*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	take := func(token string) string {
		t.Helper()
		id, ok, err := db.TakeLink(ctx, token)
		if err != nil || ok != (id != "") {
			t.Fatal(id, ok, err)
		}
		return id
	}
	if first, again := take("l1"), take("l1"); first != "key_1" || again != "" {
		t.Errorf("a link gave %q, and once more %q", first, again)
	}
	if err := db.RevokeKey(ctx, "ci"); err != nil {
		t.Fatal(err)
	}
	if id := take("l2"); id != "" {
		t.Errorf("the link of a revoked key gives %q", id)
	}
	if err := db.RevokeKey(ctx, "ses_1"); !errors.Is(err, store.ErrNoKey) {
		t.Errorf("the session of a revoked key: %v", err)
	}
	var persons []string
	for line, err := range db.AuditLines(ctx, schemas.AuditQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		persons = append(persons, line.Event+" "+line.Person)
	}
	want := []string{
		"key_created operator", "login key_1", "login " + ann.Owner, "login oidc:https://id#2", "key_revoked operator", "logout key_1",
	}
	if diff := cmp.Diff(want, persons); diff != "" {
		t.Errorf("audit (-want +got)\n%s", diff)
	}
	if err := db.AddLink(ctx, "l3", "key_1", now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if id := take("l3"); id != "" {
		t.Errorf("a link that is over gives %q", id)
	}
	if err := db.DropSessions(ctx, now.Add(-12*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if keys, err := db.Keys(ctx); err != nil || len(keys) != 1 || keys[0].ID != "ses_3" {
		t.Errorf("left: %v %v", keys, err)
	}
}
