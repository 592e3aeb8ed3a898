package toolhandler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"time"

	"molar/schemas"
)

// How is how a call was decided.
type How string

// The ways of a decision. A person decided, except for the last four.
const (
	// InTurn: the call waited, and a person was asked.
	InTurn How = "asked"
	// InMessage: the person's next message approved the pending call, or did not.
	InMessage How = "message"
	// ByGrant: a standing approval covers the call.
	ByGrant How = "grant"
	// NobodyThere: there was no person to ask. NoAnswer: the person did not decide in time.
	NobodyThere How = "nobody there"
	NoAnswer    How = "no answer"
	// ByApprover: an approver decided while nobody waited for it.
	ByApprover How = "approver"
	// NotTheirs: the person who asks said yes to a call that only others may approve.
	NotTheirs How = "not theirs"
	// ByConfig: a rule of the config forbids the call.
	ByConfig How = "config"
)

// A Ruling is the decision about a call.
type Ruling struct {
	// Owner is the owner of the turn, and the person who decided unless the decision names another.
	Owner, TurnID string
	// Started is when the turn began; zero for a decision that is made after it.
	Started time.Time
	Call    schemas.ToolCall
	Tool    schemas.Tool
	Reason  Reason
	How     How
	Decision
}

// Audit logs who decided what about a call. Arguments may be private, so it logs their hash: of
// the person's arguments if they replaced the call's.
func Audit(log *slog.Logger, r Ruling) {
	message := "a person decided about a call"
	switch r.How {
	case NotTheirs:
		message = "a person may not decide about a call"
	case NobodyThere, NoAnswer:
		message = "nobody decided about a call"
	case ByConfig:
		message = "the config forbids a call"
	}
	var scope Scope
	if r.Allowed {
		scope = cmp.Or(r.Scope, Once)
	}
	log.Info(message, "by", cmp.Or(r.By, r.Owner), "how", r.How, "allowed", r.Allowed, "scope", scope, "edited", r.Arguments != "",
		"rule", r.Reason.Rule, "server", r.Tool.Server, "tool", cmp.Or(r.Tool.Name, r.Call.Function.Name), "turn_id", r.TurnID, "call_id", r.Call.ID,
		"arguments_sha256", Hash(cmp.Or(r.Arguments, r.Call.Function.Arguments)))
}

// Line returns the line of the audit about the decision. Arguments may be private, so it has their
// hash.
func (r Ruling) Line() schemas.AuditLine {
	l := schemas.AuditLine{
		Person: r.Owner, Event: schemas.EventDecision, Server: r.Tool.Server, Tool: cmp.Or(r.Tool.Name, r.Call.Function.Name),
		How: string(r.How), Allowed: new(r.Allowed), SHA256: Hash(cmp.Or(r.Arguments, r.Call.Function.Arguments)),
		TurnID: r.TurnID, CallID: r.Call.ID, Detail: string(r.Reason.Rule), Started: r.Started,
	}
	if r.By != "" && r.By != r.Owner {
		l.Person, l.About = r.By, r.Owner
	}
	var from []string
	for _, o := range slices.Concat(r.Reason.Flows, r.Reason.Orders) {
		if name := string(o.Group()); !slices.Contains(from, name) {
			from = append(from, name)
		}
	}
	l.Origin = strings.Join(from, ", ")
	if r.Allowed {
		l.Scope = string(cmp.Or(r.Scope, Once))
	}
	return l
}

// Hash returns the SHA-256 of a call's arguments, as the model or a person wrote them.
func Hash(arguments string) string {
	sum := sha256.Sum256([]byte(cmp.Or(arguments, "{}")))
	return hex.EncodeToString(sum[:])
}
