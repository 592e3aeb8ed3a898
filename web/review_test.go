package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

// someTurns are the turns that a test reviews.
type someTurns struct {
	turns  []schemas.ListedTurn
	marked int
}

func (s *someTurns) Turns(_ context.Context, want schemas.TurnFilter) ([]schemas.ListedTurn, string, error) {
	return slices.DeleteFunc(slices.Clone(s.turns), func(t schemas.ListedTurn) bool {
		return want.Assistants != nil && !slices.Contains(want.Assistants, t.Assistant) || want.Owner != "" && want.Owner != t.Owner
	}), "", nil
}

func (s *someTurns) PutMadeFile(context.Context, schemas.MadeFile) error { return nil }

func (s *someTurns) MadeOf(_ context.Context, ids []string) (made []schemas.MadeFile, err error) {
	if slices.Contains(ids, "t-a") {
		made = []schemas.MadeFile{{TurnID: "t-a", Kind: schemas.MadeTest}, {TurnID: "t-a", Kind: schemas.MadeCorrection, Path: "office/corrections/a.md"}}
	}
	return made, nil
}

func (s *someTurns) Asked(_ context.Context, id string) (schemas.ListedTurn, bool, error) {
	at := slices.IndexFunc(s.turns, func(t schemas.ListedTurn) bool { return t.ID == id })
	if at < 0 {
		return schemas.ListedTurn{}, false, nil
	}
	return s.turns[at], true, nil
}

func (s *someTurns) PutReview(_ context.Context, f schemas.Feedback) (schemas.Feedback, bool, error) {
	s.marked++
	return f, true, nil
}

func (s *someTurns) Marks(_ context.Context, want schemas.FeedbackFilter) (marks []schemas.Feedback, err error) {
	for _, t := range s.turns {
		if want.Assistants == nil || slices.Contains(want.Assistants, t.Assistant) {
			marks = append(marks, schemas.Feedback{TurnID: t.ID, Owner: t.Owner, ConversationID: t.ConversationID, Mark: "down", Note: "the note of " + t.ID})
		}
	}
	return marks, nil
}

// Trace returns a trace that says who asked in each of its parts.
func (s *someTurns) Trace(_ context.Context, owner, id string) (json.RawMessage, bool, error) {
	t, ok, err := s.Asked(context.Background(), id)
	return []byte(`{"turn_id":"` + id + `","conversation_id":"` + t.ConversationID + `","question":"the secret question of Hà Lan","passes":[{"prompt":"mail ha.lan@example.com, or HÀ LAN; Hà Langsam"}],"tools":[{"calls":[{"decided_by":"Hà Lan"}]}]}`), ok && t.Owner == owner, err
}

func reviewOf(turns *someTurns) web.Review {
	return web.Review{
		Store:  turns,
		Secret: func(context.Context) ([]byte, error) { return []byte("secret"), nil },
		Names: func(context.Context, string) (string, []string, error) {
			return "Hà Lan", []string{"Hà Lan", "ha.lan@example.com"}, nil
		},
		Group: func(all []schemas.ListedTurn, _ time.Time) (gaps []schemas.Gap) {
			for _, t := range all {
				gaps = append(gaps, schemas.Gap{Words: []string{*t.Question}, Count: 1})
			}
			return gaps
		},
		MakeTest: func(context.Context, string) (schemas.TurnTest, error) {
			turns.marked++
			return schemas.TurnTest{Case: "the secret test"}, nil
		},
		RunTest: func(_ context.Context, _ string, as agent.Turn) (schemas.TestRun, error) {
			turns.marked++
			return schemas.TestRun{Answer: "the secret answer to " + as.Owner}, nil
		},
		Correct: func(_ context.Context, c schemas.Correction) (schemas.WrittenCorrection, error) {
			turns.marked++
			return schemas.WrittenCorrection{Text: "the secret answer to " + c.Question}, nil
		},
		Written: func(file string) string { return "the secret answer in " + file },
	}
}

// reviewers serves the turns of two assistants to reviewers with keys: "lan" may use one of them, and "all"
// both.
func reviewers(t *testing.T, people bool) (h http.Handler, turns *someTurns, audit *auditOf) {
	t.Helper()
	turns, audit = &someTurns{turns: []schemas.ListedTurn{
		{ID: "t-a", Owner: "oidc:ha", ConversationID: "notes of ha.lan@example.com", Assistant: "dental", Question: new("the secret question of HÀ lan, in a room of Hà Langsam")},
		{ID: "t-b", Owner: "oidc:bo", Assistant: "payroll", Question: new("the secret salary")},
	}}, &auditOf{}
	ring := httpguard.NewKeyring(nil)
	groups := map[string][]string{"lan": {"dental"}, "all": nil, "none": {"other"}}
	var keys []httpguard.Key
	for name, assistants := range groups {
		keys = append(keys, httpguard.Key{
			ID: name, Owner: name, Name: name, Hash: httpguard.HashOf(name), Scopes: []string{"chat", "review"},
			Rights: &schemas.Rights{Groups: []schemas.Group{{Name: name, Assistants: assistants}}},
		})
	}
	ring.Set(keys)
	cfg := operated(t, play(nil))
	cfg.Review, cfg.Traces, cfg.Audit = reviewOf(turns), turns, audit
	cfg.Review.People = people
	cfg.Access = web.Access{Keys: ring}
	cfg.Models = func() []schemas.AssistantInfo { return []schemas.AssistantInfo{{Name: "dental"}, {Name: "payroll"}} }
	return build(t, cfg), turns, audit
}

// A reviewRequest is a request of a reviewer about a turn, or about all of them.
type reviewRequest struct{ method, path, body string }

func reviewRequests(turn string) []reviewRequest {
	return []reviewRequest{
		{"GET", "/v1/turns", ""},
		{"GET", "/v1/turns/gaps", ""},
		{"GET", "/v1/feedback", ""},
		{"GET", "/v1/feedback?turn=" + turn, ""},
		{"GET", "/v1/turns/" + turn, ""},
		{"GET", "/v1/turns/chatcmpl-" + turn, ""},
		{"POST", "/v1/turns/" + turn + "/feedback", `{"mark":"down"}`},
		{"POST", "/v1/turns/" + turn + "/test", `{}`},
		{"POST", "/v1/turns/" + turn + "/test/run", `{}`},
		{"POST", "/v1/turns/" + turn + "/correction", `{"answer":"so"}`},
	}
}

func (r reviewRequest) as(h http.Handler, who string) (status int, body string) {
	req := request(r.method, r.path, r.body)
	req.Header.Set("Authorization", "Bearer "+who)
	w := serve(h, req)
	return w.Code, w.Body.String()
}

// What cannot be recorded is not shown, and not done.
func TestReview_NothingUnrecorded(t *testing.T) {
	h, turns, audit := reviewers(t, false)
	audit.fault = errors.New("the disk is full")
	for _, r := range reviewRequests("t-a") {
		if status, body := r.as(h, "all"); status != http.StatusServiceUnavailable || !strings.Contains(body, "audit_unavailable") || strings.Contains(body, "secret") || strings.Contains(body, "disk") {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, body)
		}
	}
	if turns.marked > 0 {
		t.Errorf("%d changes were made unrecorded", turns.marked)
	}
	audit.fault, audit.lines = nil, nil
	for i, r := range reviewRequests("t-a") {
		if status, body := r.as(h, "all"); status != http.StatusOK || len(audit.lines) != i+1 || audit.lines[i].Event != schemas.EventReview || audit.lines[i].Person != "all" {
			t.Errorf("%s %s: %d %s, recorded %+v", r.method, r.path, status, body, audit.lines)
		}
	}
}

// Reviewers see and change the turns of the assistants that their groups allow, and of no others.
func TestReview_AssistantsOfTheGroup(t *testing.T) {
	h, turns, audit := reviewers(t, false)
	for _, tt := range []struct {
		who, turn string
		allowed   bool
	}{{"lan", "t-a", true}, {"lan", "t-b", false}, {"all", "t-a", true}, {"all", "t-b", true}, {"none", "t-a", false}, {"none", "t-b", false}} {
		for i, r := range reviewRequests(tt.turn) {
			changed, recorded := turns.marked, len(audit.lines)
			status, body := r.as(h, tt.who)
			if i < 4 {
				if hit := strings.Contains(body, `"t-`+tt.turn[2:]) || strings.Contains(body, map[string]string{"t-a": "of person-", "t-b": "secret salary"}[tt.turn]); status != http.StatusOK || hit != tt.allowed {
					t.Errorf("%s: %s %s: %d %s", tt.who, r.method, r.path, status, body)
				}
				continue
			}
			want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[tt.allowed]
			if status != want || !tt.allowed && (strings.Contains(body, "secret") || turns.marked != changed || len(audit.lines) != recorded) {
				t.Errorf("%s: %s %s: %d %s, want %d", tt.who, r.method, r.path, status, body, want)
			}
		}
	}
}

// A reviewer who comes back sees in the list and in the turn what was made of it; whoever asked does not.
func TestReview_WhatWasMade(t *testing.T) {
	h, _, _ := reviewers(t, false)
	for _, tt := range []struct{ path, want string }{
		{"/v1/turns", `"made":[{"turn":"t-a","kind":"test","made_at":"0001-01-01T00:00:00Z"},{"turn":"t-a","kind":"correction","path":"office/corrections/a.md",`},
		{"/v1/turns/t-a", `"path":"office/corrections/a.md","made_at":"0001-01-01T00:00:00Z","answer":"the secret answer in office/corrections/a.md"}]`},
	} {
		if _, body := (reviewRequest{"GET", tt.path, ""}).as(h, "all"); !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s", tt.path, body)
		}
	}
	turns := &someTurns{turns: []schemas.ListedTurn{{ID: "t-a", Question: new("Where?")}}}
	cfg := operated(t, play(nil)) // without keys
	cfg.Review, cfg.Traces, cfg.Audit = reviewOf(turns), turns, &auditOf{}
	for _, path := range []string{"/v1/turns", "/v1/turns/t-a"} {
		if _, body := (reviewRequest{"GET", path, ""}).as(build(t, cfg), ""); !strings.Contains(body, `"made":[`) {
			t.Errorf("without keys: %s: %s", path, body)
		}
	}
	if _, body := (reviewRequest{"GET", "/v1/turns/t-b", ""}).as(h, "all"); strings.Contains(body, `"made"`) {
		t.Errorf("nothing was made of it: %s", body)
	}
}

// Unless reviewers may see people, nothing that they get gives one away: no name, address or id, not even
// in what the person wrote, and no conversation whose id a client has chosen.
func TestReview_HidesPeople(t *testing.T) {
	for _, people := range []bool{false, true} {
		h, _, _ := reviewers(t, people)
		for i, r := range reviewRequests("t-a") {
			status, body := r.as(h, "all")
			folded := strings.ToLower(body)
			for _, name := range []string{`hà lan"`, "hà lan,", "hà lan;", "ha.lan", "oidc:ha"} {
				if !people && strings.Contains(folded, name) {
					t.Errorf("%s %s shows %q: %s", r.method, r.path, name, body)
				}
			}
			if status != http.StatusOK || i == 4 && !strings.Contains(body, "Hà Langsam") {
				t.Errorf("%s %s: %d %s", r.method, r.path, status, body)
			}
			named := strings.Contains(body, `"name":"Hà Lan"`) && strings.Contains(body, `"person":"oidc:ha"`)
			if (i == 0 || i == 4) && named != people {
				t.Errorf("people: %v: %s %s: %s", people, r.method, r.path, body)
			}
		}
	}
}
