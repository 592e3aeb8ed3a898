package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"molar/schemas"
)

// Prompts returns the prompts of all servers that are ready, sorted by server and
// name. Lists are kept until their server says that they changed. A server whose list
// cannot be read costs its own prompts only.
func (m *Manager) Prompts(ctx context.Context) []schemas.Prompt {
	servers := m.servers.Load().list
	lists := make([][]schemas.Prompt, len(servers))
	var wait sync.WaitGroup
	for i, s := range servers {
		wait.Go(func() { lists[i] = s.Prompts(ctx) })
	}
	wait.Wait()
	return slices.Concat(lists...)
}

// Prompt asks a server for one of its prompts. The messages are of role user or
// assistant and hold text only: what a server sends as another role is the user's. owner is
// whose conversations may be read, and is told to servers that the host itself needs alone. An
// error that the server answers with, such as a missing argument, is an [*RPCError].
func (m *Manager) Prompt(ctx context.Context, owner, server, name string, args map[string]string) ([]schemas.Message, error) {
	params := map[string]any{"name": name}
	if len(args) > 0 {
		params["arguments"] = args
	}
	if s, err := m.server(server); err == nil && owner != "" && (s.Config().Needed() || s.Config().InProcess != nil) {
		params["owner"] = owner
	}
	var answer json.RawMessage
	if err := m.Request(ctx, server, "prompts/get", params, &answer); err != nil {
		return nil, fmt.Errorf("prompt %q: %w", name, err)
	}
	messages, err := Messages(answer, DefaultMaxResult)
	if err != nil {
		return nil, fmt.Errorf("prompt %q of server %q: %w", name, server, err)
	}
	if len(messages) == 0 {
		return nil, fmt.Errorf("prompt %q: server %q gave no text for it", name, server)
	}
	return messages, nil
}
