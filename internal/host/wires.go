package host

import (
	"cmp"
	"net/url"
	"slices"

	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/store"
	"molar/schemas"
)

// keepWires stores the wire traffic of turns, if the settings enable it and no recorder or player
// is set.
func (h *Host) keepWires() error {
	cfg := h.Config
	wanted := func(name string) bool {
		a, _ := cfg.Assistants.Get(name)
		return keepsWire(a)
	}
	if h.opts.Edges != nil || h.Traces == nil || cfg.Telemetry.Wire == 0 ||
		!slices.ContainsFunc(cfg.Assistants, func(e config.Entry[schemas.Assistant]) bool { return keepsWire(e.Value) }) {
		return nil
	}
	keeper, err := tape.NewKeeper(tape.KeeperConfig{
		To: func(k tape.TurnTape) {
			h.Traces.RecordWire(store.Wire{
				TurnID: k.TurnID, ConversationID: k.ConversationID, Owner: k.Owner, Started: k.Started,
				Expires: k.Started.Add(cfg.Telemetry.Wire), Tape: k.Tape,
			})
		},
		ShouldKeep: wanted, Host: cli.Version(), Redactor: Redactor(cfg), Skip: []string{schemas.MemoryServer},
		Route: func(provider string) tape.Route {
			return TapeRoute(cfg, tape.Route{Provider: provider})
		},
	})
	if err != nil {
		return err
	}
	h.opts.Edges = keeper
	return nil
}

// TapeRoute returns the route with the service, the address and, if it has none, the small model of its
// provider in the config.
func TapeRoute(cfg *config.Config, r tape.Route) tape.Route {
	e, _ := cfg.LLM.Endpoint(r.Provider)
	if r.Small, r.BaseURL = cmp.Or(r.Small, e.SmallModel), withoutUser(e.BaseURL); !e.IsBuiltIn() {
		r.Service = e.Service.Name
	}
	return r
}

// withoutUser removes user, password, query and fragment from a URL.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// keepsWire reports whether an assistant's turns may be stored: one with a topic talks with
// people about themselves, and must permit it explicitly.
func keepsWire(a schemas.Assistant) bool {
	if a.Wire != nil {
		return *a.Wire
	}
	return a.Topic == ""
}
