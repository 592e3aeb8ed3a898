package agent

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"molar/agent/memory"
	"molar/schemas"
)

// A Flow is how an assistant with tools gets from calls to an answer.
type Flow string

// The flows.
const (
	// FlowAgentic streams every round after the first with the schemas beside it: a
	// call starts another round, text is the answer.
	FlowAgentic Flow = "agentic"
	// FlowTwoPass is one tool round and then a chat pass without tools.
	FlowTwoPass Flow = "two-pass"
)

// An Assistant is a named configuration that clients choose as the OpenAI model.
type Assistant struct {
	Name        string
	Description string
	// SystemPrompt replaces the built-in role text.
	SystemPrompt string
	// Topic names the guardrail; empty means none.
	Topic string
	// Search lists code-driven tools, first that answers wins.
	Search []string
	// Tools are globs over offered names that the model may call; "!glob" takes
	// away. None means no tools.
	Tools []string
	Flow  Flow
	// NeedsChatPass makes the two-pass flow answer in a chat pass even when the tool
	// pass brought text and no call.
	NeedsChatPass bool
	// Provider and Model override the default route.
	Provider string
	Model    string
}

func (a Assistant) validate() error {
	var faults []error
	if a.Name == "" {
		faults = append(faults, errors.New("assistant without a name"))
	}
	if a.Flow != "" && a.Flow != FlowAgentic && a.Flow != FlowTwoPass {
		faults = append(faults, fmt.Errorf("assistant %q: flow %q is neither %s nor %s", a.Name, a.Flow, FlowAgentic, FlowTwoPass))
	}
	for _, glob := range a.Tools {
		if _, err := path.Match(strings.TrimPrefix(glob, "!"), ""); err != nil {
			faults = append(faults, fmt.Errorf("assistant %q: tools glob %q: %w", a.Name, glob, err))
		}
	}
	return errors.Join(faults...)
}

// mayCall says whether the assistant's globs let the model call the tool, by its
// offered name or by its own.
func (a Assistant) mayCall(tool schemas.ToolInfo) bool {
	allowed := false
	for _, glob := range a.Tools {
		negative := strings.HasPrefix(glob, "!")
		glob = strings.TrimPrefix(glob, "!")
		if !matches(glob, tool.Name) && !matches(glob, tool.ToolName) {
			continue
		}
		if negative {
			return false
		}
		allowed = true
	}
	return allowed
}

// mayNeed says whether a tool of the server could be one that the assistant calls.
// A glob that does not begin with another server's name may match any. The memory
// server lists no tools; that it is away is told where the memory is read.
func (a Assistant) mayNeed(server string) bool {
	if server == memory.ServerName {
		return false
	}
	needed := false
	for _, glob := range a.Tools {
		negative := strings.HasPrefix(glob, "!")
		prefix, _, cut := strings.Cut(strings.TrimPrefix(glob, "!"), "__")
		hit := !cut || matches(prefix, server)
		if negative && cut && hit {
			return false
		}
		needed = needed || hit && !negative
	}
	return needed
}

func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}
