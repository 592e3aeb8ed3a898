//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// A scenario is what the suite wants to see from this run.
type scenario struct {
	name string
	// ToolCalls are the calls to make, when the suite prescribes them.
	ToolCalls []toolCall `json:"toolCalls"`
	// ClientID and ClientSecret are of a client that was registered by hand, if any.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	// PrivateKey is the client's, where it signs who it is.
	PrivateKey string `json:"private_key_pem"`
	// Those of the identity provider that vouches for a person.
	Issuer        string `json:"idp_issuer"`
	IdentityToken string `json:"idp_id_token"`
	IdentityID    string `json:"idp_client_id"`
}

type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// settings are what an operator puts into the config for the scenario, and into the environment.
func (s *scenario) settings(url string) (settings, map[string]string) {
	if s.name == "auth/basic-cimd" { // a client whose id is where its description is
		return settings{URL: url, OAuth: map[string]any{"client_id": "https://conformance-test.local/client-metadata.json"}}, nil
	}
	oauth, secrets := map[string]any{}, map[string]string{}
	secret := func(in map[string]any, key, name, value string) {
		if value != "" {
			in[key], secrets[name] = "${"+name+"}", value
		}
	}
	secret(oauth, "client_id", "SUITE_CLIENT_ID", s.ClientID)
	secret(oauth, "client_secret", "SUITE_CLIENT_SECRET", s.ClientSecret)
	secret(oauth, "private_key", "SUITE_CLIENT_KEY", s.PrivateKey)
	identity := map[string]any{}
	secret(identity, "issuer", "SUITE_ISSUER", s.Issuer)
	secret(identity, "client_id", "SUITE_IDENTITY", s.IdentityID)
	secret(identity, "token", "SUITE_IDENTITY_TOKEN", s.IdentityToken)
	if len(identity) > 0 {
		oauth["identity"] = identity
	}
	if strings.HasPrefix(s.name, "auth/client-credentials") {
		oauth["grant"] = "client_credentials"
	}
	return settings{URL: url, OAuth: oauth}, secrets
}

// play lists the tools, and makes the prescribed calls or one call to each tool. It goes on after a
// call that went wrong, and logs in where molar says so, as a person would.
func (s *scenario) play(ctx context.Context, m *molar) error {
	tools, said, err := m.tools(ctx)
	const logins = 3 // one, and two for what it lacks
	for range logins {
		if err != nil || !strings.Contains(said, wantsLogin) {
			break
		}
		m.logIn(ctx) // the next list says what came of it
		tools, said, err = m.tools(ctx)
	}
	if err != nil {
		return err
	}
	if strings.Contains(said, "warning: "+serverName+" ") {
		return fmt.Errorf("the server is not attached: %s", said)
	}
	calls := s.ToolCalls
	if len(calls) == 0 {
		calls = callEach(tools)
	}
	var errs []error
	for _, c := range calls {
		shown, err := m.call(ctx, offered(tools, c.Name), c.Arguments)
		if err != nil && strings.Contains(shown, wantsLogin) {
			m.logIn(ctx)
			shown, err = m.call(ctx, offered(tools, c.Name), c.Arguments)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("call %s: %w: %s", c.Name, err, shown))
		}
	}
	return errors.Join(errs...)
}

// offered returns the name under which molar offers a tool of the server.
func offered(tools []schemas.ToolInfo, name string) string {
	for _, t := range tools {
		if t.ToolName == name {
			return t.Name
		}
	}
	return name
}

// callEach returns a call with made-up arguments for each tool.
func callEach(tools []schemas.ToolInfo) []toolCall {
	calls := make([]toolCall, len(tools))
	for i, t := range tools {
		calls[i] = toolCall{Name: t.ToolName, Arguments: arguments(t.InputSchema, tools)}
	}
	return calls
}

// arguments makes up a value for each required property of a schema. A property
// called schema gets the input schema of the first other tool, as it was received:
// the suite compares it with the one that it sent.
func arguments(schema json.RawMessage, tools []schemas.ToolInfo) json.RawMessage {
	var object struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return json.RawMessage(`{}`)
	}
	args := map[string]any{}
	for _, name := range object.Required {
		args[name] = sample(object.Properties[name].Type)
		if name == "schema" {
			other := slices.IndexFunc(tools, func(t schemas.ToolInfo) bool { return string(t.InputSchema) != string(schema) })
			if other >= 0 {
				args[name] = tools[other].InputSchema
			}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

// sample returns a value of a JSON Schema type.
func sample(kind string) any {
	switch kind {
	case "number", "integer":
		return 3
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	case "null":
		return nil
	default:
		return "example"
	}
}
