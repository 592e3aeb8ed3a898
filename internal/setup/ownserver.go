package setup

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"molar/internal/host"
	"molar/schemas"
)

// askOwnServer asks for the address of a server with OpenAI's API, for its key if it requires one,
// and for the model that answers.
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
		d.say("  It requires a key.")
	case fault != nil:
		d.say("  Its models cannot be listed now: %v", fault)
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
			d.say("  Its models cannot be listed now: %v", fault)
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

// listAvailable lists the models of the server. If that fails, it tries again with /v1 appended to
// the address.
func (m *Model) listAvailable(ctx context.Context) error {
	names, err := m.List(ctx, *m)
	if err == nil || strings.HasSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1") {
		m.Available = names
		return err
	}
	v1 := *m
	v1.BaseURL = strings.TrimRight(m.BaseURL, "/") + "/v1"
	names, errV1 := m.List(ctx, v1)
	if errV1 != nil && !host.WantsKey(errV1) {
		return err
	}
	m.BaseURL, m.Available = v1.BaseURL, names
	return errV1
}

// askKey asks for the key of a server. It uses OPENAI_API_KEY only if a person agrees.
func (d *Dialogue) askKey(ctx context.Context, m *Model) error {
	m.Key, m.KeyName = "", ""
	if m.EnvKey != "" {
		yes, err := d.Confirm(ctx, "  Send it the "+m.EnvKeyName+" of your environment?", false)
		if err != nil {
			return err
		}
		if yes {
			m.Key, m.KeyName = m.EnvKey, m.EnvKeyName
			return nil
		}
	}
	key, err := d.hidden(ctx, "  Its key, if it requires one (press Enter for none):")
	if key != "" {
		m.Key, m.KeyName = schemas.Secret(key), "MODEL_KEY"
	}
	return err
}

// maxListed is the number of models that are listed to choose from.
const maxListed = 20

// chooseModel asks which of the models of a server answers.
func (d *Dialogue) chooseModel(ctx context.Context, names []string) (string, error) {
	if len(names) == 1 {
		d.say("  %s will answer: it is the only one.", names[0])
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
		d.say("  Enter a number or the name of one of its models.")
	}
}
