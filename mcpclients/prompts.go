package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"molar/schemas"
)

// Prompts returns the prompts of all servers that are ready for who asks, sorted by server and name. Those
// of a server that each person calls as themselves are the person's own. Lists are
// cached until their server reports a change. A server whose list cannot be read costs its own
// prompts only.
func (m *Manager) Prompts(ctx context.Context, who schemas.Caller) []schemas.Prompt {
	servers := m.servers.Load().list
	lists := make([][]schemas.Prompt, len(servers))
	var wait sync.WaitGroup
	for i, s := range servers {
		wait.Go(func() { lists[i] = s.Prompts(ctx, who) })
	}
	wait.Wait()
	return slices.Concat(lists...)
}

// Prompt gets a prompt from a server, for who asks. The messages are of role user or assistant and hold text
// only; any other role becomes user. owner is the owner of the conversations that may be read;
// only servers that the host itself needs or runs in process receive it. An error answer of the
// server, such as for a missing argument, is an [*RPCError].
func (m *Manager) Prompt(ctx context.Context, who schemas.Caller, owner, server, name string, args map[string]string) ([]schemas.Message, error) {
	params := map[string]any{"name": name}
	if len(args) > 0 {
		params["arguments"] = args
	}
	if s, err := m.server(server); err == nil && owner != "" && (s.Config().Needed() || s.Config().InProcess != nil) {
		params["owner"] = owner
	}
	var answer json.RawMessage
	if err := m.requestFor(ctx, who, server, "prompts/get", params, &answer); err != nil {
		return nil, fmt.Errorf("prompt %q: %w", name, err)
	}
	messages, err := messages(answer, maxPrompt)
	if err != nil {
		return nil, fmt.Errorf("prompt %q of server %q: %w", name, server, err)
	}
	if len(messages) == 0 {
		return nil, fmt.Errorf("prompt %q: server %q gave no text for it", name, server)
	}
	return messages, nil
}
