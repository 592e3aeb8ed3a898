package schemas

import (
	"fmt"
	"strings"
)

// A Proposal is what attaching a server proposes to its operator, and, with the operator's changes,
// what they confirm about it.
type Proposal struct {
	Server string `json:"server"`
	// Digest identifies the list of tools and the instructions that were proposed for.
	Digest string `json:"digest,omitempty"`
	// Public, Closed and ReadOnly are the marks of the server, as in [ServerMarks].
	Public   bool           `json:"public"`
	Closed   bool           `json:"closed"`
	ReadOnly bool           `json:"readonly"`
	Tools    []ProposedTool `json:"tools"`
}

// Line returns the line of the audit about a proposal that was confirmed: the marks of the server, and
// which tools read or only add.
func (p Proposal) Line() AuditLine {
	var said, adds, mild []string
	for _, mark := range []struct {
		name string
		set  bool
	}{{"public", p.Public}, {"closed", p.Closed}, {"readonly", p.ReadOnly}} {
		if mark.set {
			said = append(said, mark.name)
		}
	}
	reads := 0
	for _, t := range p.Tools {
		switch {
		case t.Reads:
			reads++
		case t.Adds:
			adds = append(adds, t.Tool)
		case t.Mild:
			mild = append(mild, t.Tool)
		}
	}
	said = append(said, fmt.Sprintf("reads: %d of %d", reads, len(p.Tools)))
	if len(adds) > 0 {
		said = append(said, "adds: "+strings.Join(adds, " "))
	}
	if len(mild) > 0 {
		said = append(said, "not destructive: "+strings.Join(mild, " "))
	}
	return AuditLine{Event: EventConfirmServer, Server: p.Server, Allowed: new(true), SHA256: p.Digest, Detail: strings.Join(said, ", ")}
}

// A ProposedTool is a tool in a proposal.
type ProposedTool struct {
	Tool string `json:"tool"`
	// Reads means that the tool changes nothing, Adds that it changes nothing that exists and harms
	// nobody by what it adds.
	Reads bool `json:"reads"`
	Adds  bool `json:"adds"`
	// MayAdd means that the tool looks like one that adds, which code cannot tell: Adds is up to the
	// operator.
	MayAdd bool `json:"may_add,omitempty"`
	// Destroys means that the tool announces itself destructive; Mild that it destroys nothing of value all
	// the same, which only the operator can say.
	Destroys bool `json:"destroys,omitempty"`
	Mild     bool `json:"mild,omitempty"`
	// Content are the arguments that are free text, by path.
	Content []string `json:"content"`
	// Why is the evidence, in English.
	Why string `json:"why,omitempty"`
}

// A Confirmation is what a person has confirmed about a server, as it is stored.
type Confirmation struct {
	Public   bool `json:"public,omitempty"`
	Closed   bool `json:"closed,omitempty"`
	ReadOnly bool `json:"readonly,omitempty"`
	// Instructions identify those that were confirmed, and Tools the tools, by own name.
	Instructions string               `json:"instructions,omitempty"`
	Tools        map[string]ToolMarks `json:"tools"`
}

// ToolMarks are what a person has confirmed about a tool.
type ToolMarks struct {
	// Digest identifies the definition: the marks hold for no other.
	Digest  string   `json:"digest"`
	Reads   bool     `json:"reads,omitempty"`
	Adds    bool     `json:"adds,omitempty"`
	Mild    bool     `json:"mild,omitempty"`
	Content []string `json:"content"`
}
