package setup

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"molar/internal/host"
	"molar/schemas"
)

// own asks where a server with OpenAI's API is, whether it wants a key, and which of the
// models that it lists answers.
func (d *Dialogue) askOwnServer(ctx context.Context, m Model) (Model, error) {
	for {
		var err error
		if m.BaseURL, err = d.line(ctx, m.AddressQuestion, ""); err != nil || m.BaseURL == "" {
			return Model{Provider: "auto"}, err
		}
		if strings.HasPrefix(m.BaseURL, "http://") || strings.HasPrefix(m.BaseURL, "https://") {
			break
		}
		d.say("  An address begins with http:// or https://.")
	}
	fault := m.listAvailable(ctx)
	switch {
	case host.WantsKey(fault):
		d.say("  It wants a key.")
	case fault != nil:
		d.say("  It cannot be asked for its models now: %v", fault)
	}
	for {
		if err := d.askKey(ctx, &m); err != nil {
			return m, err
		}
		if m.KeyName == "" {
			break
		}
		if fault = m.listAvailable(ctx); fault == nil {
			break
		}
		if !host.WantsKey(fault) {
			d.say("  It cannot be asked for its models now: %v", fault)
			break
		}
		d.say("  It refuses that key.")
	}
	if fault != nil || len(m.Available) == 0 {
		d.say("  The first model that it lists will answer, until the file names one.")
		return m, nil
	}
	var err error
	m.Name, err = d.chooseModel(ctx, m.Available)
	return m, err
}

// look asks a server for its models, also one directory below where the address stops short
// of the API.
func (m *Model) listAvailable(ctx context.Context) error {
	names, err := m.List(ctx, *m)
	if err == nil || strings.HasSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1") {
		m.Available = names
		return err
	}
	below := *m
	below.BaseURL = strings.TrimRight(m.BaseURL, "/") + "/v1"
	names, errBelow := m.List(ctx, below)
	if errBelow != nil && !host.WantsKey(errBelow) {
		return err
	}
	m.BaseURL, m.Available = below.BaseURL, names
	return errBelow
}

// key asks for the key of a server. That of OpenAI goes there only when a person says so.
func (d *Dialogue) askKey(ctx context.Context, m *Model) error {
	m.Key, m.KeyName = "", ""
	if m.EnvKey != "" {
		yes, err := d.yesNo(ctx, "  Send it the "+m.EnvKeyName+" of your environment?", false)
		if err != nil {
			return err
		}
		if yes {
			m.Key, m.KeyName = m.EnvKey, m.EnvKeyName
			return nil
		}
	}
	key, err := d.hidden(ctx, "  Its key, if it wants one (nothing for none):")
	if key != "" {
		m.Key, m.KeyName = schemas.Secret(key), "MODEL_KEY"
	}
	return err
}

// mostShown is how many models are listed to choose from.
const maxListed = 20

func (d *Dialogue) chooseModel(ctx context.Context, names []string) (string, error) {
	if len(names) == 1 {
		d.say("  %s will answer: it has no other.", names[0])
		return names[0], nil
	}
	d.say("  Which of its models?")
	for i, name := range names[:min(len(names), maxListed)] {
		d.say("    %d  %s", i+1, name)
	}
	if more := len(names) - maxListed; more > 0 {
		d.say("    and %d more, which you can name", more)
	}
	for {
		answer, err := d.line(ctx, "  [1]", "1")
		if err != nil || slices.Contains(names, answer) {
			return answer, err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) {
			return names[n-1], nil
		}
		d.say("  A number, or the name of one of its models.")
	}
}
