package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
	"molar/web"
)

// auditOf is an audit in memory.
type auditOf struct {
	mu    sync.Mutex
	lines []schemas.AuditLine
	asked schemas.AuditQuery
	fault error
}

func (a *auditOf) Audit(ctx context.Context, line schemas.AuditLine) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
	return errors.Join(a.fault, ctx.Err())
}

func (a *auditOf) ListAudit(_ context.Context, q schemas.AuditQuery) ([]schemas.AuditLine, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = q
	return append([]schemas.AuditLine{}, a.lines...), a.fault
}

// What an operator or a person changes over HTTP leaves a line with their name; what was refused
// leaves none.
func TestAudit_Records(t *testing.T) {
	cfg := operated(t, play(nil))
	audit := &auditOf{}
	cfg.Audit = audit
	cfg.Owner = func(*http.Request) string { return "ann" }
	cfg.Operations.ConfirmServer = func(_ context.Context, p schemas.Proposal) error {
		if p.Digest != "l" {
			return web.ErrConflict
		}
		return nil
	}
	h := build(t, cfg)
	ctx, gone := context.WithCancel(t.Context())
	gone() // a client that does not wait for the answer is recorded too
	for _, r := range []*http.Request{
		request("PATCH", "/v1/tools/family__search", `{"enabled":false}`),
		request("PATCH", "/v1/tools/none", `{"enabled":false}`),
		request("POST", "/v1/servers/family/approve", `{"digest":"x"}`),
		request("POST", "/v1/servers/family/approve", `{"digest":"old"}`),
		request("POST", "/v1/servers/family/approve", `{"marks":{"digest":"l","closed":true,"tools":[{"tool":"search","reads":true},{"tool":"note","adds":true}]}}`),
		request("POST", "/v1/servers/family/approve", `{"digest":"x","marks":{"digest":"old"}}`),
		request("DELETE", "/v1/conversations/c1", ""),
		request("POST", "/v1/conversations/c1/clear", "").WithContext(ctx),
	} {
		serve(h, r)
	}
	want := []schemas.AuditLine{
		{Person: "ann", Event: schemas.EventSwitch, Server: "family", Tool: "family__search", Allowed: new(false)},
		{Person: "ann", Event: schemas.EventApproveServer, Server: "family", Allowed: new(true), SHA256: "x", Detail: "tools: 1"},
		{Person: "ann", Event: schemas.EventConfirmServer, Server: "family", Allowed: new(true), SHA256: "l", Detail: "closed, reads: 1 of 2, adds: note"},
		{Person: "ann", Event: schemas.EventApproveServer, Server: "family", Allowed: new(true), SHA256: "x", Detail: "tools: 1"},
		{Person: "ann", Event: schemas.EventErase, Detail: "deleted the conversation c1"},
		{Person: "ann", Event: schemas.EventErase, Detail: "cleared the conversation c1"},
	}
	if diff := cmp.Diff(want, audit.lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The audit is read in pages; a query that means nothing is refused.
func TestAudit_Lists(t *testing.T) {
	cfg := operated(t, play(nil))
	audit := &auditOf{lines: []schemas.AuditLine{{ID: 7, At: created, Person: "ann", Event: schemas.EventExport, Before: "a", Hash: "b"}}}
	cfg.Audit = audit
	h := build(t, cfg)
	w := serve(h, request("GET", "/v1/audit?since=2026-01-31T00:00:00Z&until=2026-02-01T00:00:00%2B07:00&person=ann&after=6&limit=2", ""))
	var list struct{ Data []schemas.AuditLine }
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
		t.Fatal(w.Code, w.Body, err)
	}
	if diff := cmp.Diff(audit.lines, list.Data); diff != "" {
		t.Error(diff)
	}
	want := schemas.AuditQuery{
		Since: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 1, 31, 17, 0, 0, 0, time.UTC), Person: "ann", After: 6, Limit: 2,
	}
	if got := audit.asked; !got.Since.Equal(want.Since) || !got.Until.Equal(want.Until) || got.Person != want.Person || got.After != want.After || got.Limit != want.Limit {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
	for _, query := range []string{"since=monday", "until=2026", "after=x", "after=-1", "limit=0", "limit=1001"} {
		if w := serve(h, request("GET", "/v1/audit?"+query, "")); w.Code != 400 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	audit.fault = errors.New("no disk")
	if w := serve(h, request("GET", "/v1/audit", "")); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
