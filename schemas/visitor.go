package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// visitorPrefix begins the owner of what a visitor of a public page has.
const visitorPrefix = "visitor:"

// Visitors owns the usage of all visitors together.
const Visitors = "visitors"

// VisitorOwner returns the owner of what a visitor has whose browser presents a token. It does not
// give the token away.
func VisitorOwner(token string) string {
	sum := sha256.Sum256([]byte(token))
	return visitorPrefix + hex.EncodeToString(sum[:16])
}

// IsVisitor reports whether an owner is a visitor of a public page.
func IsVisitor(owner string) bool { return strings.HasPrefix(owner, visitorPrefix) }

// VisitorConversation returns the id of the one conversation that a visitor has.
func VisitorConversation(owner string) string {
	return "visit_" + strings.TrimPrefix(owner, visitorPrefix)
}

// A CountedLimit is a rate and the name under which its actions are counted.
type CountedLimit struct {
	Name string
	Rate
}

// A LimitRefusal is why an action must wait: the limit of this name is reached until a time.
type LimitRefusal struct {
	Limit CountedLimit
	Until time.Time
}
