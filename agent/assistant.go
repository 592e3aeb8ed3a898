package agent

import (
	"errors"
	"fmt"

	"molar/agent/offer"
	"molar/providers"
)

// A Flow is the order of tool calls and answer.
type Flow string

// The flows.
const (
	// FlowAgentic offers the tools in every round: a call starts another round, text is the answer.
	FlowAgentic Flow = "agentic"
	// FlowTwoPass is one tool round and then a chat pass without tools.
	FlowTwoPass Flow = "two-pass"
)

// ClientSystemBelow lets a client's system text in under a topic.
const ClientSystemBelow = "below"

// An Assistant is a named configuration that clients choose as the OpenAI model.
type Assistant struct {
	Name        string
	Description string
	// SystemPrompt replaces the built-in role text.
	SystemPrompt string
	// Topic names the guardrail; empty means none.
	Topic string
	// search lists code-driven tools; the first that answers wins.
	Search []string
	// tools are globs over offered names that the model may call; "!glob" excludes. Empty means no
	// tools.
	Tools []string
	Flow  Flow
	// ClientSystem is the treatment of a client's system text under a topic: empty drops it,
	// ClientSystemBelow appends it to the assistant's own.
	ClientSystem string
	// DirectAnswer reports whether, in the two-pass flow, text of the first pass may be the answer
	// when no tool is called.
	DirectAnswer bool
	// Provider and Model override the default route.
	Provider string
	Model    string
	// Settings are the sampling settings of its models; those of a turn take precedence.
	Settings providers.Settings
}

// Validate reports every fault of an assistant.
func (a Assistant) Validate() error {
	var faults []error
	if a.Name == "" {
		faults = append(faults, errors.New("assistant without a name"))
	}
	if a.Flow != "" && a.Flow != FlowAgentic && a.Flow != FlowTwoPass {
		faults = append(faults, fmt.Errorf("assistant %q: flow %q is neither %s nor %s", a.Name, a.Flow, FlowAgentic, FlowTwoPass))
	}
	if a.ClientSystem != "" && a.ClientSystem != ClientSystemBelow {
		faults = append(faults, fmt.Errorf("assistant %q: client_system %q is not %s", a.Name, a.ClientSystem, ClientSystemBelow))
	}
	if err := offer.Globs(a.Tools).Check(); err != nil {
		faults = append(faults, fmt.Errorf("assistant %q: %w", a.Name, err))
	}
	return errors.Join(faults...)
}
