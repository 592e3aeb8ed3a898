package schemas

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// The events of an [AuditLine].
const (
	// EventDecision: a call was allowed or refused.
	EventDecision = "decision"
	// EventGrant and EventRevoke: a standing approval was given, or taken back.
	EventGrant  = "grant"
	EventRevoke = "revoke"
	// EventLogin and EventLogout: somebody logged in at a server or on the page, or out.
	EventLogin  = "login"
	EventLogout = "logout"
	// EventKeyCreated, EventKeyRotated and EventKeyRevoked are about API keys.
	EventKeyCreated = "key_created"
	EventKeyRotated = "key_rotated"
	EventKeyRevoked = "key_revoked"
	// EventExport and EventErase are about stored conversations.
	EventExport = "export"
	EventErase  = "erase"
	// EventApproveServer: the changed tools of a pinned server were approved.
	EventApproveServer = "approve_server"
	// EventConfirmServer: somebody confirmed what a server is and what its tools do.
	EventConfirmServer = "confirm_server"
	// EventSwitch: a tool was switched off, or on again.
	EventSwitch = "switch"
	// EventReview: somebody read, marked or corrected turns of other people.
	EventReview = "review"
)

// AuditOperator is the person of a line whose person is not known by name: whoever runs the host,
// or uses it on the same machine without a key.
const AuditOperator = "operator"

// AuditErased is the person of the line about the erasure that a person made of all that was theirs.
const AuditErased = "erased"

// An AuditLine is a line of the record of who decided or changed what. It has no text of a person,
// a model or a server: what was decided about is named by a hash.
type AuditLine struct {
	// ID numbers the lines in the order in which they were appended, without gaps.
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Person is the owner of the data that the person uses, or [AuditOperator].
	Person string `json:"person"`
	// Alias is the random name that was hashed and stored in place of Person, which nothing connects with
	// them once they are erased; empty where Person itself was.
	Alias string `json:"alias,omitempty"`
	// Event is one of the Event constants.
	Event string `json:"event"`
	// Origin is where the text came from because of which a person was asked.
	Origin string `json:"origin,omitempty"`
	Server string `json:"server,omitempty"`
	// Tool is the offered name of a tool.
	Tool string `json:"tool,omitempty"`
	// How is the way of the decision, Scope how far it reaches.
	How   string `json:"how,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Allowed is nil where nothing was allowed or refused.
	Allowed *bool `json:"allowed,omitempty"`
	// SHA256 is of the arguments that were decided about.
	SHA256 string `json:"sha256,omitempty"`
	TurnID string `json:"turn_id,omitempty"`
	CallID string `json:"call_id,omitempty"`
	// Detail is a few words, such as the id of a key or conversation; never a secret, and never the
	// text of an argument.
	Detail string `json:"detail,omitempty"`
	// About is whose call a Person decided about, if it is another's: the stored Detail ends with their
	// random name. Started is when the turn began: who was erased since has no name any more.
	About   string    `json:"-"`
	Started time.Time `json:"-"`
	// Before is the hash of the line before, "" in the first one ever; Hash is the line's own.
	Before string `json:"before"`
	Hash   string `json:"hash"`
}

// An AuditQuery selects lines of the audit. Zero fields select all.
type AuditQuery struct {
	// Since is the earliest time, Until the first one that is too late.
	Since, Until time.Time
	Person       string
	// After is the id after which lines begin.
	After int64
	// Limit is the most lines; zero means all.
	Limit int
}

// Sum returns the hash of the line, which covers all fields but Hash itself: the SHA-256 of its JSON
// as it is exported, without that last field.
func (l AuditLine) Sum() (string, error) {
	l.Hash = ""
	if l.Alias != "" {
		l.Person, l.Alias = l.Alias, ""
	}
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	if err := to.Encode(l); err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(bytes.TrimSuffix(line.Bytes(), []byte(`,"hash":""}`+"\n")), '}'))
	return hex.EncodeToString(sum[:]), nil
}
