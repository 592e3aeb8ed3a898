package agent

import (
	"errors"
	"fmt"

	"molar/agent/offer"
	"molar/providers"
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
	// Search lists code-driven tools, first that answers wins.
	Search []string
	// Tools are globs over offered names that the model may call; "!glob" takes
	// away. None means no tools.
	Tools []string
	Flow  Flow
	// ClientSystem says what becomes of a client's system text under a topic: it is left out,
	// or with ClientSystemBelow goes below the assistant's own.
	ClientSystem string
	// NeedsChatPass makes the two-pass flow answer in a chat pass even when the tool
	// pass brought text and no call.
	NeedsChatPass bool
	// Provider and Model override the default route.
	Provider string
	Model    string
	// Settings are how its models answer, where a turn does not say.
	Settings providers.Settings
}

// Validate names every fault of an assistant.
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
