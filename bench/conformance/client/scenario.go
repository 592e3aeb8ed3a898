package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/mcpclients"
	"molar/mcpclients/oauth"
	"molar/schemas"
)

// A scenario is what the suite wants to see from this run.
type scenario struct {
	name    string
	manager *mcpclients.Manager
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
	// person logs in where that is wanted.
	person person
}

type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// settings are what an operator puts into the config for the scenario.
func (s *scenario) settings() oauth.Settings {
	if s.name == "auth/basic-cimd" { // a client whose id is where its description is
		return oauth.Settings{ClientID: "https://conformance-test.local/client-metadata.json"}
	}
	settings := oauth.Settings{
		ClientID: s.ClientID, ClientSecret: s.ClientSecret, PrivateKey: s.PrivateKey,
		Identity: oauth.Identity{Issuer: s.Issuer, ClientID: s.IdentityID, Token: s.IdentityToken},
	}
	if strings.HasPrefix(s.name, "auth/client-credentials") {
		settings.Grant = oauth.GrantClient
	}
	return settings
}

// play makes the prescribed calls, or one call to each tool that the manager
// offers, and what else the scenario is about. It goes on after a call that went
// wrong, as a user would.
func (s *scenario) play(ctx context.Context) error {
	calls := s.ToolCalls
	if len(calls) == 0 {
		calls = callEach(s.manager.Catalogue().Tools())
	}
	var errs []error
	for _, c := range calls {
		result, err := s.manager.Call(ctx, serverName, c.Name, c.Arguments)
		if err != nil && strings.Contains(err.Error(), wantsLogin) && s.person.logIn(ctx) == nil {
			result, err = s.manager.Call(ctx, serverName, c.Name, c.Arguments)
		}
		if err == nil && result.IsError {
			err = fmt.Errorf("tool %q reports an error: %s", c.Name, result.Output)
		}
		errs = append(errs, err)
	}
	for _, r := range requests(s.name) {
		errs = append(errs, s.manager.Request(ctx, serverName, r.method, r.params, nil))
	}
	return errors.Join(errs...)
}

// A request is one that no tool call leads to.
type request struct {
	method string
	params any
}

// requests lists what a scenario wants beside tool calls.
func requests(scenario string) []request {
	if scenario != "http-standard-headers" {
		return nil
	}
	return []request{
		{"resources/list", struct{}{}},
		{"resources/read", map[string]string{"uri": "file:///path/to/file%20name.txt"}},
		{"prompts/list", struct{}{}},
		{"prompts/get", map[string]string{"name": "test_prompt"}},
	}
}

// callEach returns a call with made-up arguments for each tool.
func callEach(tools []schemas.Tool) []toolCall {
	calls := make([]toolCall, len(tools))
	for i, t := range tools {
		calls[i] = toolCall{Name: t.ToolName, Arguments: arguments(t.InputSchema, tools)}
	}
	return calls
}

// arguments makes up a value for each required property of a schema. A property
// called schema gets the input schema of the first other tool, as it was received:
// the suite compares it with the one that it sent.
func arguments(schema json.RawMessage, tools []schemas.Tool) json.RawMessage {
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
			other := slices.IndexFunc(tools, func(t schemas.Tool) bool { return string(t.InputSchema) != string(schema) })
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
