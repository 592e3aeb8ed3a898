package agent

import (
	"errors"
	"fmt"

	"molar/agent/offer"
	"molar/schemas"
)

// checkAssistant reports every fault of an assistant.
func checkAssistant(a schemas.Assistant) error {
	var faults []error
	if a.Name == "" {
		faults = append(faults, errors.New("assistant without a name"))
	}
	if a.Flow != "" && a.Flow != schemas.FlowAgentic && a.Flow != schemas.FlowTwoPass {
		faults = append(faults, fmt.Errorf("assistant %q: flow %q is neither %s nor %s", a.Name, a.Flow, schemas.FlowAgentic, schemas.FlowTwoPass))
	}
	if a.ClientSystem != "" && a.ClientSystem != schemas.ClientSystemBelow {
		faults = append(faults, fmt.Errorf("assistant %q: client_system %q is not %s", a.Name, a.ClientSystem, schemas.ClientSystemBelow))
	}
	if err := offer.Globs(a.Tools).Check(); err != nil {
		faults = append(faults, fmt.Errorf("assistant %q: %w", a.Name, err))
	}
	return errors.Join(faults...)
}
