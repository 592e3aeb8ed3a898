package schemas

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
	Content []string `json:"content"`
}
