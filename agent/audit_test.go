package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/schemas"
)

// fakeGrants are an owner's standing approvals, whatever the conversation.
type fakeGrants map[string][]schemas.Grant

func (f fakeGrants) PutGrant(_ context.Context, owner string, g schemas.Grant) error {
	f[owner] = append(f[owner], g)
	return nil
}

func (f fakeGrants) GrantsOf(_ context.Context, owner, _ string) ([]schemas.Grant, error) {
	return f[owner], nil
}

// fixedApproval is an approver with fixed answers.
type fixedApproval struct {
	agent.Decision
	err error
}

func (a fixedApproval) Approve(context.Context, agent.Ask) (agent.Decision, error) {
	return a.Decision, a.err
}

// auditLines returns the log lines about decisions.
func auditLines(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(l["msg"].(string), " decided about a call") {
			for _, key := range []string{"time", "level", "call_id", "turn_id"} {
				if s, _ := l[key].(string); s == "" {
					t.Errorf("%s is missing in %s", key, line)
				}
				delete(l, key)
			}
			all = append(all, l)
		}
	}
	return all
}

// Every decision about a call is logged with the person, the way of the decision, the tool, and
// the hash of the arguments. So is a call that nobody could approve.
func TestAudit(t *testing.T) {
	const sends, edited = `{"to":"a@b.example","url":"https://b.example/?q=1"}`, `{"to":"c@d.example"}`
	line := func(person bool, how string, allowed bool, scope, arguments string) map[string]any {
		return map[string]any{
			"msg": map[bool]string{true: "a person", false: "nobody"}[person] + " decided about a call", "by": "ann", "how": how, "allowed": allowed,
			"scope": scope, "edited": arguments == edited, "server": "mail", "tool": "mail__send_mail", "rule": map[bool]string{true: "", false: "flow"}[how == "message"],
			"arguments_sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(arguments))),
		}
	}
	nobody := line(false, "nobody there", false, "", sends)
	// granted are the approvals that a person gives who allows the call always: of the call, and of the
	// mail's text.
	granted := func(arguments string) fakeGrants {
		grant := schemas.Grant{Tool: "mail__send_mail", Arguments: json.RawMessage(arguments)}
		withText := grant
		withText.From = "mail"
		return fakeGrants{"ann": {grant, withText}}
	}
	for name, tt := range map[string]struct {
		next   string // the person's next message, if any
		asked  agent.Approver
		grants fakeGrants
		want   []map[string]any
	}{
		"nobody is there":           {want: []map[string]any{nobody}},
		"a yes":                     {next: "yes", want: []map[string]any{nobody, line(true, "message", true, "once", sends)}},
		"a no":                      {next: "no", want: []map[string]any{nobody, line(true, "message", false, "", sends)}},
		"another message":           {next: "what is it?", want: []map[string]any{nobody, line(true, "message", false, "", sends)}},
		"asked, and once":           {asked: fixedApproval{Decision: agent.Decision{Allowed: true}}, want: []map[string]any{line(true, "asked", true, "once", sends)}},
		"asked, and always":         {asked: fixedApproval{Decision: agent.Decision{Allowed: true, Scope: agent.Always}}, want: []map[string]any{line(true, "asked", true, "always", sends)}},
		"asked, and edited":         {asked: fixedApproval{Decision: agent.Decision{Allowed: true, Arguments: edited}}, want: []map[string]any{line(true, "asked", true, "once", edited)}},
		"asked, and no":             {asked: fixedApproval{}, want: []map[string]any{line(true, "asked", false, "", sends)}},
		"asked, and no answer":      {asked: fixedApproval{err: errors.New("gone")}, want: []map[string]any{line(false, "no answer", false, "", sends)}},
		"granted before":            {grants: granted(sends), want: []map[string]any{line(true, "grant", true, "once", sends)}},
		"granted, and asked anyway": {asked: fixedApproval{}, grants: granted(`{"to":"a@b.example","url":"https://evil.example"}`), want: []map[string]any{line(true, "asked", false, "", sends)}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			b := newBench(calls("", "mail__get_mail", `{}`), calls("", "mail__send_mail", sends), says("I read it."), says("It is sent."))
			b.tools.add("mail", "get_mail", `"a letter"`)
			b.tools.add("mail", "send_mail", `"sent"`)
			b.pauses, b.log = fakePauses{}, slog.New(slog.NewJSONHandler(&log, nil))
			if b.grants = tt.grants; tt.grants == nil {
				b.grants = fakeGrants{}
			}
			b.with(t, schemas.Assistant{Tools: []string{"*"}})
			turn := ask("read my mail")
			turn.Owner, turn.Approver = "ann", tt.asked
			first := b.play(t, turn)
			if tt.next != "" {
				turn = history("read my mail", first.text, tt.next)
				turn.Owner = "ann"
				b.play(t, turn)
			}
			if diff := cmp.Diff(tt.want, auditLines(t, &log)); diff != "" {
				t.Errorf("%s\n%s", diff, log.String())
			}
		})
	}
}
