package answer

// A Held is a call whose turn has ended, and that is stored for its approvers. After their yes, the next
// yes of the person who asked runs it.
type Held struct {
	// Owner is the owner of the turn.
	Owner string `json:"owner"`
	Approval
	// Decision is nil until an approver has decided.
	Decision *HeldDecision `json:"decision,omitempty"`
}

// A HeldDecision is an approver's decision. By is the owner of what the approver has, ByName their name.
type HeldDecision struct {
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`
	ByName  string `json:"by_name,omitempty"`
}

// What happens to calls that need approvers.
const (
	ApprovalRequested = "approval.requested"
	ApprovalDecided   = "approval.decided"
)

// HeldPrefix begins the ids of stored calls.
const HeldPrefix = "approval_held_"

// HeldID returns the id under which a call is stored for its approvers.
func HeldID(call string) string { return HeldPrefix + call }
