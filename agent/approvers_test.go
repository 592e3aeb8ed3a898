package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// resetBench is an agent whose model resets a password, which members of it-admins approve.
func resetBench(t *testing.T) (b *bench, resets func() int) {
	t.Helper()
	b = newBench(calls("", "help__reset_password", `{"user":"ceo"}`), says("I asked for it."), says("Done."), says("More."), says("More."))
	b.tools.add("help", "reset_password", `"reset"`)
	for i := range b.tools.tools {
		b.tools.tools[i].Rules.Policy, b.tools.tools[i].Rules.Approvers = schemas.PolicyConfirm, []string{"it-admins"}
	}
	b.pauses, b.grants = fakePauses{}, nil
	b.with(t, schemas.Assistant{Tools: []string{"*"}})
	return b, func() int { return len(b.tools.called) }
}

func of(owner string, turn agent.Turn, rights *schemas.Rights) agent.Turn {
	turn.Owner, turn.Caller.Name, turn.Rights = owner, strings.TrimPrefix(owner, "person:"), rights
	return turn
}

func inGroup(name string, own bool) *schemas.Rights {
	return &schemas.Rights{Groups: []schemas.Group{{Name: name, ApprovesOwn: own}}}
}

// heldOf returns what is stored for approvers, with its key.
func heldOf(t *testing.T, b *bench) (key string, h answer.Held) {
	t.Helper()
	for k, state := range b.pauses.(fakePauses) {
		if strings.Contains(k, answer.HeldPrefix) {
			if err := json.Unmarshal(state, &h); err != nil {
				t.Fatal(err)
			}
			return k, h
		}
	}
	return "", h
}

// decideHeld stores an approver's decision.
func decideHeld(t *testing.T, b *bench, allowed bool) {
	t.Helper()
	key, h := heldOf(t, b)
	h.Decision = &answer.HeldDecision{Allowed: allowed, By: "person:carol", ByName: "carol"}
	state, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	b.pauses.(fakePauses)[key] = state
}

// The yes of the person who asks runs nothing; after an approver's, it runs exactly that call, once, and
// the trace names the approver.
func TestApprovers_TypedYes(t *testing.T) {
	b, resets := resetBench(t)
	staff := inGroup("staff", true)
	first := b.play(t, of("person:bob", history("reset the ceo's password"), staff))
	if first.err != nil || resets() != 0 || !strings.Contains(first.text, "Waiting for the approval of: `it-admins`") {
		t.Fatalf("%q, %d resets, %v", first.text, resets(), first.err)
	}
	if _, h := heldOf(t, b); h.Owner != "person:bob" || h.Person != "bob" || h.Token == "" || h.Tool != "help__reset_password" || !strings.Contains(h.Question.What, "ceo") {
		t.Fatalf("held %+v", h)
	}
	yes := func(before string) outcome {
		return b.play(t, of("person:bob", history("reset the ceo's password", before, "yes"), staff))
	}
	early := yes(first.text)
	if early.err != nil || resets() != 0 || !strings.HasPrefix(early.text, "Nobody in `it-admins` has approved this yet") {
		t.Fatalf("%q, %d resets, %v", early.text, resets(), early.err)
	}
	decideHeld(t, b, true)
	if p := b.play(t, of("person:dan", history("reset the ceo's password", first.text, "yes"), staff)); resets() != 0 {
		t.Fatalf("another person's yes: %q", p.text)
	}
	later := yes(early.text)
	if later.err != nil || resets() != 1 {
		t.Fatalf("%q, %d resets, %v", later.text, resets(), later.err)
	}
	var by string
	for _, tool := range b.recorder.last.Tools {
		for _, c := range tool.Calls {
			by = c.DecidedBy
		}
	}
	if by != "carol" {
		t.Errorf("the trace names %q", by)
	}
	if yes(early.text); resets() != 1 {
		t.Error("it ran twice")
	}
}

// An approver's no, and another message of the person who asks, end the request.
func TestApprovers_Ended(t *testing.T) {
	b, resets := resetBench(t)
	turn := history("reset the ceo's password")
	first := b.play(t, of("person:bob", turn, inGroup("staff", false)))
	decideHeld(t, b, false)
	p := b.play(t, of("person:bob", history("reset the ceo's password", first.text, "yes"), inGroup("staff", false)))
	if key, _ := heldOf(t, b); resets() != 0 || !strings.Contains(p.text, "an approver (`carol`) refused it") || key != "" {
		t.Errorf("%q, %d resets, %q", p.text, resets(), key)
	}
	b, resets = resetBench(t)
	first = b.play(t, of("person:bob", turn, inGroup("staff", false)))
	decideHeld(t, b, true)
	b.play(t, of("person:bob", history("reset the ceo's password", first.text, "never mind"), inGroup("staff", false)))
	if key, _ := heldOf(t, b); resets() != 0 || key != "" {
		t.Errorf("%d resets, %q", resets(), key)
	}
}

// A yes without that of the approvers is kept in the conversation with its answer, after which a later yes is
// still about the same call.
func TestApprovers_Saved(t *testing.T) {
	b, resets := resetBench(t)
	play := func(said string) outcome {
		t.Helper()
		p := b.play(t, of("person:bob", ask(said), inGroup("staff", false)))
		last := len(b.memory.saved) - 1
		if p.err != nil || !p.done.Saved || b.memory.saved[last].User != said || b.memory.saved[last].Answer != p.text {
			t.Fatalf("%q is not saved: %q, %v", said, p.text, p.err)
		}
		seq := int64(2 * last)
		b.memory.opening.Messages = append(b.memory.opening.Messages,
			schemas.StoredMessage{Seq: seq + 1, Role: schemas.RoleUser, Content: said}, schemas.StoredMessage{Seq: seq + 2, Role: schemas.RoleAssistant, Content: p.text})
		return p
	}
	play("reset the ceo's password")
	if p := play("yes"); resets() != 0 || !strings.HasPrefix(p.text, "Nobody in `it-admins` has approved this yet") {
		t.Errorf("early: %q, %d resets", p.text, resets())
	}
	decideHeld(t, b, true)
	if p := play("yes"); resets() != 1 {
		t.Errorf("approved: %q, %d resets", p.text, resets())
	}

	b, resets = resetBench(t)
	play("reset the ceo's password")
	decideHeld(t, b, false)
	if p := play("yes"); resets() != 0 || !strings.Contains(p.text, "an approver (`carol`) refused it") {
		t.Errorf("refused: %q, %d resets", p.text, resets())
	}
}

// Who may approve their own call does so with a yes; everybody else does not, whatever their approver says.
func TestApprovers_Own(t *testing.T) {
	for _, tt := range []struct {
		name, owner string
		rights      *schemas.Rights
		runs        int
	}{
		{"a colleague", "person:bob", inGroup("staff", true), 0},
		{"an approver whose group does not approve its own", "person:bob", inGroup("it-admins", false), 0},
		{"an approver whose group does", "person:bob", inGroup("it-admins", true), 1},
		{"a key without groups", "key_1", nil, 0},
		{"the operator without keys", "", nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, resets := resetBench(t)
			first := b.play(t, of(tt.owner, history("reset the ceo's password"), tt.rights))
			b.play(t, of(tt.owner, history("reset the ceo's password", first.text, "yes"), tt.rights))
			if resets() != tt.runs {
				t.Errorf("the typed yes ran it %d times", resets())
			}
			b, resets = resetBench(t)
			turn := of(tt.owner, history("reset the ceo's password"), tt.rights)
			turn.Approver = saysAlways{}
			first = b.play(t, turn)
			if resets() != tt.runs || tt.runs == 0 != strings.Contains(first.text, "Waiting for the approval of") {
				t.Errorf("their approver ran it %d times: %q", resets(), first.text)
			}
		})
	}
}

// saysAlways approves all calls, for good.
type saysAlways struct{}

func (saysAlways) Approve(context.Context, agent.Ask) (agent.Decision, error) {
	return agent.Decision{Allowed: true, Scope: agent.Always}, nil
}

// A standing approval, the policy allow and a client that is trusted cover no such call.
func TestApprovers_Standing(t *testing.T) {
	for name, prepare := range map[string]func(b *bench){
		"a grant for all of its calls": func(b *bench) {
			b.grants = allGrants{{Tool: "help__reset_password", Width: schemas.WidthServer, Arguments: []byte(`{}`)}}
		},
		"the policy allow": func(b *bench) { b.tools.tools[0].Rules.Policy = schemas.PolicyAllow },
	} {
		t.Run(name, func(t *testing.T) {
			b, resets := resetBench(t)
			prepare(b)
			b.with(t, schemas.Assistant{Tools: []string{"*"}})
			if p := b.play(t, of("person:bob", history("reset the ceo's password"), inGroup("staff", false))); p.err != nil || resets() != 0 {
				t.Errorf("%d resets, %v", resets(), p.err)
			}
		})
	}
}

// allGrants are in force everywhere.
type allGrants []schemas.Grant

func (allGrants) PutGrant(context.Context, string, schemas.Grant) error { return nil }
func (a allGrants) GrantsOf(context.Context, string, string) ([]schemas.Grant, error) {
	return a, nil
}
