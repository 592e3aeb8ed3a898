package schemas

import "strings"

// An Origin is where a text in a prompt comes from, as it is stored: the name of a server, or one of
// the origins below, which have a space and so are no server's name. What a person typed and what
// the operator wrote has none.
type Origin string

// The origins that are no servers.
const (
	// FromWeb is the built-in web search.
	FromWeb Origin = "web search"
	// FromClient is a client: its history, its tools, and what others wrote and it passes on.
	FromClient Origin = "the client"
	// FromPaste is a long text that a person pasted.
	FromPaste Origin = "pasted text"
	// FromFile is any uploaded file, where a permission names one; [FileOrigin] names the file.
	FromFile Origin = "a file"
)

// fileMark begins the origin of a file, insideMark ends that of a public server's text which came
// from an address inside.
const (
	fileMark   = "file "
	insideMark = " (inside)"
)

// FileOrigin returns the origin of an uploaded file's text and name: others may have written both.
func FileOrigin(name string) Origin { return Origin(fileMark + name) }

// InsideOrigin returns the origin of what a public server read at an address inside: unlike its other
// texts, it is private.
func InsideOrigin(server string) Origin { return Origin(server + insideMark) }

// IsInside reports whether an origin is one of [InsideOrigin].
func (o Origin) IsInside() bool { return strings.HasSuffix(string(o), insideMark) }

// IsFile reports whether an origin is a file.
func (o Origin) IsFile() bool { return o == FromFile || strings.HasPrefix(string(o), fileMark) }

// FileName returns the name of the file, "" for other origins.
func (o Origin) FileName() string {
	name, _ := strings.CutPrefix(string(o), fileMark)
	if name == string(o) {
		return ""
	}
	return name
}

// Server returns the server of the origin, "" if it is none.
func (o Origin) Server() string {
	name, _ := strings.CutSuffix(string(o), insideMark)
	if strings.Contains(name, " ") {
		return ""
	}
	return name
}

// Group returns the origin as a permission names it: a server, or all files alike.
func (o Origin) Group() Origin {
	switch {
	case o.IsFile():
		return FromFile
	case o.IsInside():
		return Origin(o.Server())
	}
	return o
}

// ServerMarks are what the operator says about a server. Nothing in a server's own texts sets them.
type ServerMarks struct {
	// Trust means that its texts give no orders.
	Trust bool
	// Public means that its readers fetch what the web shows to anybody: its texts are private to
	// nobody, unless they came from an address inside.
	Public bool
	// Closed means that it reaches nobody outside, so that all of it is one destination.
	Closed bool
	// Unseen means that no person has confirmed its list of tools: their descriptions and its
	// instructions may hold orders.
	Unseen bool
	// ReadOnly means that its credentials cannot write, so that it does not matter which statement a
	// reader's argument holds.
	ReadOnly bool
}

// A FlowRule is the operator's rule for texts of one origin that go to another server.
type FlowRule struct {
	// From is a server, "file", "client", "paste", "web" or "*"; To is a server or "*".
	From, To string
	Allow    bool
}
