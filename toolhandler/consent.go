package toolhandler

import (
	"cmp"
	"slices"

	"molar/schemas"
)

// A Consent is a call that a person has approved.
type Consent struct {
	schemas.ToolCall
	// Approver is set if that person may decide about calls that need approvers. By and ByName are theirs,
	// as in [Decision].
	Approver   bool
	By, ByName string
}

func (c Consent) decider() string { return cmp.Or(c.ByName, c.By) }

// decider returns who decided, if that was not simply the person who asks.
func (d Decision) decider() string { return cmp.Or(d.ByName, d.By) }

// consented returns the approval of exactly this call, nil without one. A call that runs uses it up.
func (t *Turn) consented(tool schemas.Tool, call schemas.ToolCall, runs bool) *Consent {
	t.consenting.Lock()
	defer t.consenting.Unlock()
	call.Function.Name = tool.Name // the model may have written another name
	i := slices.IndexFunc(t.consents, func(c Consent) bool {
		return SameCall(c.ToolCall, call) && (c.Approver || len(tool.Rules.Approvers) == 0)
	})
	if i < 0 {
		return nil
	}
	given := t.consents[i]
	if runs {
		t.consents = slices.Delete(t.consents, i, i+1)
	}
	return &given
}

// isOwn reports whether a decision is that of the person who asks, about a call that only others may
// approve.
func (t *Turn) isOwn(tool schemas.Tool, d Decision) bool {
	return len(tool.Rules.Approvers) > 0 && d.By == "" && (t.cfg.ApprovesOwn == nil || !t.cfg.ApprovesOwn(tool.Rules.Approvers))
}

// SameCall reports whether two calls are of the same tool with equal arguments, regardless of
// formatting.
func SameCall(a, b schemas.ToolCall) bool {
	return a.Function.Name == b.Function.Name && canonical(a.Function.Arguments) == canonical(b.Function.Arguments)
}
