package web_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"molar/schemas"
)

// somePeople remembers whose things were read and erased.
type somePeople struct{ did []string }

func (p *somePeople) note(what, owner string) { p.did = append(p.did, what+" "+owner) }

func (p *somePeople) ListOwners(context.Context) ([]schemas.Owner, error) {
	return []schemas.Owner{{ID: "https://idp#ann", Name: "Ann"}}, nil
}

func (p *somePeople) CountPerson(_ context.Context, owner string) (schemas.Erased, error) {
	p.note("count", owner)
	return schemas.Erased{"conversations": 2}, nil
}

func (p *somePeople) ExportPerson(_ context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	p.note("export", owner)
	return func(yield func(schemas.PersonRecord, error) bool) {
		yield(schemas.PersonRecord{Kind: "conversation", Data: []byte(`{"id":"c"}`)}, nil)
	}
}

func (p *somePeople) ErasePerson(_ context.Context, owner string) (schemas.Erased, error) {
	p.note("erase", owner)
	return schemas.Erased{"conversations": 2}, nil
}

func (p *somePeople) MadeFiles(context.Context, string) ([]schemas.MadeFile, error) {
	return []schemas.MadeFile{{TurnID: "t", Kind: schemas.MadeTest, Path: "tests/t.json"}}, nil
}

func (p *somePeople) SessionsOf(_ context.Context, owner string) ([]schemas.Session, error) {
	p.note("sessions", owner)
	return []schemas.Session{{ID: "ses_1"}}, nil
}

func (p *somePeople) EndSessions(_ context.Context, owner string, ids ...string) (int, error) {
	p.note(strings.Join(append([]string{"end"}, ids...), " "), owner)
	if owner == "bob" {
		return 0, nil
	}
	return 1, nil
}

// Everybody exports, counts and erases their own things alone; without an owner there is no account.
func TestAccount(t *testing.T) {
	for name, tt := range map[string]struct {
		owner, method, path, body string
		status                    int
		want, did                 string
	}{
		"account":             {"ann", "GET", "/v1/account", "", 200, `"counts":{"conversations":2}`, "count ann"},
		"no account":          {"", "GET", "/v1/account", "", 404, "", ""},
		"export":              {"ann", "GET", "/v1/account/export?id=bob", "", 200, `{"kind":"conversation","data":{"id":"c"}}`, "export ann"},
		"erase":               {"ann", "POST", "/v1/account/erase", `{"confirm":"ann"}`, 200, `"kept":[{"turn":"t","kind":"test","path":"tests/t.json"`, "erase ann"},
		"erase without a yes": {"ann", "POST", "/v1/account/erase", `{"confirm":"yes"}`, 400, `"param":"confirm"`, ""},
		"erase with nothing":  {"ann", "POST", "/v1/account/erase", `{"confirm":""}`, 400, `"param":"confirm"`, ""},
		"erase nobody":        {"", "POST", "/v1/account/erase", `{"confirm":""}`, 404, "", ""},
		"sessions":            {"ann", "GET", "/v1/account/sessions", "", 200, `"id":"ses_1"`, "sessions ann"},
		"end a session":       {"ann", "DELETE", "/v1/account/sessions/ses_1", "", 200, `"deleted":true`, "end ses_1 ann"},
		"end another's":       {"bob", "DELETE", "/v1/account/sessions/ses_1", "", 404, "", "end ses_1 bob"},
		"sign somebody out":   {"", "DELETE", "/v1/people/sessions?id=https%3A%2F%2Fidp%23ann", "", 200, `"ended":1`, "end https://idp#ann"},
		"sign out everybody":  {"", "DELETE", "/v1/people/sessions", "", 400, `"param":"id"`, ""},
		"people":              {"", "GET", "/v1/people", "", 200, `"name":"Ann"`, ""},
		"export a person":     {"", "GET", "/v1/people/export?id=https%3A%2F%2Fidp%23ann", "", 200, `{"kind"`, "export https://idp#ann"},
		"erase a person":      {"", "DELETE", "/v1/people?id=https%3A%2F%2Fidp%23ann", "", 200, `"erased":true`, "erase https://idp#ann"},
		"erase everybody":     {"", "DELETE", "/v1/people", "", 400, `"param":"id"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			people, audit := &somePeople{}, &auditOf{}
			cfg := config(t, script(nil))
			cfg.Audit = audit
			cfg.People, cfg.Owner = people, func(*http.Request) string { return tt.owner }
			r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			build(t, cfg).ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if want := strings.Split(tt.did, "\n"); tt.did == "" && len(people.did) > 0 || tt.did != "" && !slices.Equal(people.did, want) {
				t.Errorf("did %q, want %q", people.did, tt.did)
			}
			if name == "sign somebody out" && (len(audit.lines) != 1 || audit.lines[0].Event != schemas.EventLogout || audit.lines[0].SHA256 == "") {
				t.Errorf("the audit has %+v", audit.lines)
			}
		})
	}
}
