package toolhandler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"

	"molar/schemas"
)

// How says by which way a call was decided.
type How string

// The ways of a decision. Without the last two a person decided.
const (
	// InTurn: the call waited, and a person was asked.
	InTurn How = "asked"
	// InMessage: the person's next message was a yes, or was none.
	InMessage How = "message"
	// ByGrant: a yes that stands covers the call.
	ByGrant How = "grant"
	// NobodyThere: there was nobody to ask. NoAnswer: who was asked did not decide.
	NobodyThere How = "nobody there"
	NoAnswer    How = "no answer"
)

// A Ruling is what was decided about a call.
type Ruling struct {
	// Owner is whose turn it is, and the person who decided.
	Owner, TurnID string
	Call          schemas.ToolCall
	Tool          schemas.Tool
	How           How
	Decision
}

// Audit logs who decided what about a call. The arguments may hold what nobody wants in a log, so there
// stands their hash: of those that a person put in place of the call's own, where they did.
func Audit(log *slog.Logger, r Ruling) {
	message := "a person decided about a call"
	if r.How == NobodyThere || r.How == NoAnswer {
		message = "nobody decided about a call"
	}
	var scope Scope
	if r.Allowed {
		scope = cmp.Or(r.Scope, Once)
	}
	log.Info(message, "by", r.Owner, "how", r.How, "allowed", r.Allowed, "scope", scope, "edited", r.Arguments != "",
		"server", r.Tool.Server, "tool", cmp.Or(r.Tool.Name, r.Call.Function.Name), "turn_id", r.TurnID, "call_id", r.Call.ID,
		"arguments_sha256", Hash(cmp.Or(r.Arguments, r.Call.Function.Arguments)))
}

// Hash is the SHA-256 of a call's arguments, as their model or a person wrote them.
func Hash(arguments string) string {
	sum := sha256.Sum256([]byte(cmp.Or(arguments, "{}")))
	return hex.EncodeToString(sum[:])
}
